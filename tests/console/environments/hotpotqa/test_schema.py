"""The tables are read strictly: what would make another world, or none, is refused with a sentence."""

from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree
from string import Formatter

import pytest

from console.environments.hotpotqa.almanac import embedded_tables, read_tables
from console.errors import UnreadableFile

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


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        ("works.yaml", "  mark: novel", "  sign: novel", "[1].mark: is missing; add it. (1 more after that.)"),
        (
            "places.yaml",
            "      larger: true",
            "      greater: true",
            "places.yaml: the table, line 62, column 7: [2].relations[1].greater: unknown field",
        ),
        ("music.yaml", "  count: 24\n", "", "[1].count: is missing; add it."),
        ("music.yaml", "count: 24", "count: many", "[1].count: must be a whole number, not 'many'."),
        ("music.yaml", "deep: true", "deep: 1", "[1].relations[4].deep: must be true or false, not '1'."),
        ("music.yaml", "numbers: [1976, 1996]", "numbers: 1976", "must be [first, below] or [first, below, step]."),
        ("music.yaml", "keyword: formed", "keyword: [formed]", "must be text, not a list."),
        ("places.yaml", "words: [marsh iris,", "words: [1,", "[1].relations[1].words[1]: must be text, not '1'."),
        ("music.yaml", "target: town", "target: village", "'town' of 'band' leads to 'village', which is not a kind"),
        ("music.yaml", "names: bands", "names: groups", "takes its names from 'groups', which is not a list"),
        ("music.yaml", "- name: album", "- name: band", "the kind 'band' stands twice; keep one"),
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
