import json
import re
import subprocess
import sys
from hashlib import sha256
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree
from string import Formatter

import pytest

from console.environments.hotpotqa import tasks
from console.environments.hotpotqa.almanac import almanac, embedded_tables, read_number, read_tables, write_pages
from console.environments.hotpotqa.tasks import list_bridges, list_comparisons
from console.errors import UnreadableFile
from tests.sweeps import sweep

PUBLISHED = "08cb421eae61b4d43d056bb9c8971ca22068fffef130479b10ad786b1fcad374"
PUBLISHED_TASKS = "6cb282afed63f52d6d40e9582d3624596dceaf336452044f9d261e4c1841aab9"
DIGEST = (
    "import hashlib; from console.environments.hotpotqa.almanac import write_pages; "
    "print(hashlib.sha256(repr([w.page for w in write_pages().values()]).encode()).hexdigest())"
)


def test_the_world_is_a_few_hundred_pages_of_every_kind():
    world = almanac()
    assert 300 <= len(world.entities) <= 600
    counts = {kind.name: kind.count for kind in embedded_tables().kinds.values()}
    assert {name: len(entities) for name, entities in world.by_kind.items()} == counts


@pytest.mark.at_length
def test_the_world_is_the_same_in_every_process():
    def digest(hash_seed):
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)}
        return subprocess.run([sys.executable, "-c", DIGEST], env=environment, capture_output=True, check=True).stdout

    assert digest("1") == digest("2")


def test_the_world_is_the_one_that_was_published():
    """A study's tasks and a stored trial's replay depend on each sentence; a digest of all of them may not change."""
    pages = [[entry.page.title, entry.page.sentences, entry.telling] for entry in write_pages().values()]
    questions = [[q.text, q.answer, q.type, q.facts] for q in (*list_bridges(), *list_comparisons())]
    assert sha256(json.dumps([pages, questions]).encode()).hexdigest() == PUBLISHED
    chosen = [[task.task_id, task.instruction, task.gold] for seed in (0, 1, 2, 42) for task in tasks(seed, 200)]
    assert sha256(json.dumps(chosen).encode()).hexdigest() == PUBLISHED_TASKS


def test_each_page_shows_five_sentences_and_keeps_the_deep_facts_below():
    for title, entity in almanac().entities.items():
        page, telling = write_pages()[title].page, write_pages()[title].telling
        assert len(page.sentences) >= 7
        assert len(set(page.sentences)) == len(page.sentences)
        above = page.sentences[:5]
        assert {name for name, text in telling.items() if text not in above} == entity.deep


def test_each_sentence_tells_its_value_and_no_slot_is_left_open():
    world = almanac()
    for title, entity in world.entities.items():
        for relation in entity.kind.relations:
            sentence = write_pages()[title].telling[relation.name]
            assert world.value(entity, relation) in sentence
            assert relation.keyword in sentence.lower()
    assert not any(re.search(r"[{}]|  ", text) for entry in write_pages().values() for text in entry.page.sentences)


def test_some_names_belong_to_two_things_and_each_has_its_own_title():
    names = [entity.name for entity in almanac().entities.values()]
    shared = {name for name in names if names.count(name) > 1}
    assert len(shared) >= 10
    assert all(names.count(name) == 2 for name in shared)
    assert not shared & set(almanac().entities)


def test_a_film_named_like_a_novel_is_based_on_it():
    films = [film for film in almanac().by_kind["film"] if f"{film.name} (novel)" in almanac().entities]
    assert films
    assert all(film.facts["novel"] == f"{film.name} (novel)" for film in films)


def test_a_later_thing_is_never_older_than_what_it_comes_from():
    world = almanac()
    for film in world.by_kind["film"]:
        born = read_number(world.entities[film.facts["director"]].facts["born"])
        assert read_number(film.facts["released"]) >= born + 18
        assert read_number(world.entities[film.facts["novel"]].facts["published"]) < read_number(film.facts["released"])
    for album in world.by_kind["album"]:
        assert read_number(world.entities[album.facts["band"]].facts["formed"]) < read_number(album.facts["released"])


def test_each_question_is_asked_once_and_has_one_answer():
    questions = [*list_bridges(), *list_comparisons()]
    assert len({question.text for question in questions}) == len(questions) > 3000
    assert all(question.text.endswith("?") and "{" not in question.text for question in questions)


def test_a_bridge_question_does_not_name_its_answer():
    assert not [question for question in list_bridges() if f" {question.answer} " in question.text]


def test_a_comparison_is_right_about_its_two_things():
    world = almanac()
    kinds = embedded_tables().kinds.values()
    relations = {(kind.name, relation.name): relation for kind in kinds for relation in kind.relations}
    for question in list_comparisons():
        (a, fact), (b, _) = question.facts
        values = [world.entities[a].facts[fact], world.entities[b].facts[fact]]
        if question.answer in ("yes", "no"):
            assert (values[0] == values[1]) == (question.answer == "yes")
        else:
            larger = relations[world.entities[a].kind.name, fact].larger
            ahead = a if (read_number(values[0]) > read_number(values[1])) == larger else b
            assert question.answer == world.entities[ahead].name


def test_yes_and_no_are_equally_frequent():
    answers = [question.answer for question in list_comparisons()]
    assert answers.count("yes") == answers.count("no") > 50


SLOTS = {"asks": "x", "tells": "xv", "noun": "x", "trap": "xo", "first": "ab", "same": "ab"}


@pytest.fixture
def folder(tmp_path):
    with as_file(files("console.environments.hotpotqa") / "tables") as tables:
        return Path(copytree(tables, tmp_path / "tables"))


def edit(folder, name, old, new):
    text = (folder / name).read_text("utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1), "utf-8")


def test_the_same_tables_elsewhere_are_the_same_world(folder):
    assert read_tables(folder) == embedded_tables()


@sweep(
    ("name", "old", "new", "sentence"),
    [
        ("works.yaml", "  mark: novel", "  sign: novel", "[1].mark: is missing. Add this field. (1 more after that.)"),
        (
            "places.yaml",
            "      larger: true",
            "      greater: true",
            "places.yaml: the table, line 62, column 7: [2].relations[1].greater: unknown field",
        ),
        ("music.yaml", "  count: 24\n", "", "[1].count: is missing. Add this field."),
        ("music.yaml", "count: 24", "count: many", "[1].count: must be a whole number, not 'many'."),
        ("music.yaml", "deep: true", "deep: 1", "[1].relations[4].deep: must be true or false, not '1'."),
        ("music.yaml", "numbers: [1976, 1996]", "numbers: 1976", "must be [first, below] or [first, below, step]."),
        ("music.yaml", "keyword: formed", "keyword: [formed]", "must be text, not a list."),
        ("places.yaml", "words: [marsh iris,", "words: [1,", "[1].relations[1].words[1]: must be text, not '1'."),
        ("music.yaml", "target: town", "target: village", "'town' of 'band' leads to 'village', which is not a kind"),
        ("music.yaml", "names: bands", "names: groups", "takes its names from 'groups', which is not a list"),
        ("music.yaml", "- name: album", "- name: band", "the kind 'band' occurs twice. Keep one"),
        ("music.yaml", "      target: town\n", "", "needs one of target, numbers and words, and only one"),
        (
            "names.yaml",
            "second: [River]",
            "second: River",
            "rivers.second: must be a list",
        ),
        ("names.yaml", "rivers:", "rivers: x\nstreams:", "rivers: must be fields, one per line, not 'x'."),
        ("names.yaml", "rivers:", "rivers: [", "names.yaml: the table, line "),
    ],
    kept=4,
)
def test_a_table_that_says_something_else_is_refused_with_a_sentence(folder, name, old, new, sentence):
    edit(folder, name, old, new)
    with pytest.raises(UnreadableFile) as refused:
        read_tables(folder)
    assert sentence in str(refused.value)


def test_a_table_of_the_wrong_form_is_refused(folder):
    (folder / "music.yaml").write_text("band: 1")
    with pytest.raises(UnreadableFile, match=r"music\.yaml: the table: must be a list"):
        read_tables(folder)
    (folder / "names.yaml").write_text("[1]")
    with pytest.raises(UnreadableFile, match=r"names\.yaml: the table: must be fields, one per line, not a list"):
        read_tables(folder)


def test_each_text_has_only_the_slots_that_are_filled():
    for kind in embedded_tables().kinds.values():
        texts = [("x", text) for text in (kind.called, *kind.opens)]
        for relation in kind.relations:
            for field, slots in SLOTS.items():
                value = getattr(relation, field)
                texts += [(slots, text) for text in ((value,) if isinstance(value, str) else value)]
        assert [
            text for slots, text in texts for _, slot, _, _ in Formatter().parse(text) if slot and slot not in slots
        ] == []
