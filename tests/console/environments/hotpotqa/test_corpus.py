"""The corpus, and pages of a MediaWiki site: found by search and lookup, asked for once, also of a dead site."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from console.environments.environment import WorldUnavailable
from console.environments.hotpotqa import HOTPOTQA
from console.environments.hotpotqa.corpus import WIKI, Corpus, WikiPage, split_sentences, wiki_of
from console.environments.sources import with_source
from console.settings import settings
from console.trajectory import Step, Trajectory
from console.trials.world_thread import rebuild_world
from tests.benchmarks.wikipedia import is_reached
from tests.console.environments.hotpotqa.test_tasks import QUESTION
from tests.fakes.mediawiki import serving_wiki

PAGES = [
    WikiPage("Otter & Sons", ("Otter & Sons is a bakery.", "It bakes rye bread.")),
    WikiPage("Milk (band)", ("Milk are a band.", "They play in dairies.")),
    WikiPage("Milk (film)", ("Milk is a film.",)),
    WikiPage("UP", ("UP is an acronym.",)),
    WikiPage("Up", ("Up is a direction.",)),
    WikiPage("Up!", ("Up! is a shout.",)),
    WikiPage("Brücke Süd", ("It is a bridge.", "one.", "two.", "three.", "four.", "The sixth sentence names rye.")),
    WikiPage("Dr. Moss, M.D.", ("A physician.",)),
]


@pytest.fixture(scope="module")
def corpus():
    return Corpus(PAGES)


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("Otter & Sons", "Otter & Sons"),
        ("Otter &amp; Sons", "Otter & Sons"),
        ("otter & sons", "Otter & Sons"),
        (" Otter  Sons ", "Otter & Sons"),
        ("Milk_(band)", "Milk (band)"),
        ("milk band", "Milk (band)"),
        ("UP", "UP"),
        ("Up", "Up"),
        ("up", "UP"),
        ("up!", "Up!"),
        ("brucke sud", "Brücke Süd"),
        ("BRÜCKE SÜD", "Brücke Süd"),
        ("dr moss md", None),
        ("Dr Moss, M D", "Dr. Moss, M.D."),
        ("Milk", None),
        ("", None),
        ("!?", None),
    ],
)
def test_a_title_is_found_by_case_blanks_and_letters(corpus, asked, title):
    found = corpus.find(asked)
    assert (found.title if found else None) == title


def test_titles_rank_before_texts_and_ties_keep_their_order(corpus):
    assert corpus.similar("Milk")[:2] in {("Milk (band)", "Milk (film)"), ("Milk (film)", "Milk (band)")}
    assert corpus.similar("Milk") == Corpus(PAGES).similar("Milk")
    assert set(corpus.similar("rye")) == {"Otter & Sons", "Brücke Süd"}


@pytest.mark.parametrize("text", ["", "!!!", '" OR NEAR(', "a" * 5000, "title:*", "\0", "x " * 2000, "ﬁ İ ß 東京"])
def test_any_text_can_be_asked(corpus, text):
    assert len(corpus.similar(text)) <= 5


def test_a_search_shows_five_sentences_and_a_lookup_the_rest(corpus):
    page = corpus.find("Brücke Süd")
    assert page.opening.endswith("four.")
    assert page.lookup("RYE") == ["The sixth sentence names rye."]
    assert page.lookup("tram") == []


def test_one_corpus_serves_many_threads():
    corpus = Corpus(PAGES)
    questions = [f"rye {place} milk" for place in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(corpus.similar, questions)) == [Corpus(PAGES).similar("rye milk")] * 200


def test_words_that_most_pages_hold_do_not_hide_the_telling_one():
    pages = [WikiPage(f"Lane {number}", ("A lane of the town.",)) for number in range(60)]
    corpus = Corpus([*pages, WikiPage("Lane Crossing", ("The only crossing of the town.",))])
    assert corpus.similar("the crossing of the town")[0] == "Lane Crossing"
    assert len(corpus.similar("the town")) == 5


@pytest.fixture
def site(data_dir, monkeypatch):
    """A running wiki, asked as fast as it answers."""
    monkeypatch.setenv("INFERACT_WIKI_PER_SECOND", "100000")
    settings.cache_clear()
    wiki_of.cache_clear()
    with serving_wiki() as (url, kind):
        yield url, kind
    wiki_of.cache_clear()


def on_site(task, url):
    return replace(task, options={WIKI: url})


def test_the_supporting_sentences_are_reached_by_search_and_lookup(site):
    url, _ = site
    for task in HOTPOTQA.tasks(3, 20):
        facts = task.gold["supporting_facts"]
        assert [is_reached(HOTPOTQA.start(on_site(task, url)), fact) for fact in facts] == [True] * len(facts)


def test_a_source_names_the_questions_and_the_site(site, tmp_path):
    url, kind = site
    path = tmp_path / "q.json"
    path.write_text(json.dumps([QUESTION]))
    (task,) = with_source(HOTPOTQA, f"{path}@{url}").tasks(0, 1)
    assert (task.instruction, task.options) == ("Where is the mill?", {WIKI: url})
    path.unlink()
    kind.extra = {"Mill & Sons": "It grinds.\n\n== Place ==\nIt is in Vellwick."}
    assert HOTPOTQA.start(task).step("Search[Mill & Sons]")[0] == "It grinds. It is in Vellwick."


def test_missing_ambiguous_and_impossible_titles_lead_to_similar_ones(site):
    url, kind = site
    (task,) = HOTPOTQA.tasks(0, 1)
    kind.extra = {"Planet": "A planet goes round the sun. Mercury is one."}
    world = HOTPOTQA.start(on_site(task, url))
    assert world.step("Search[mercury]")[0] == "Could not find mercury. Similar: ['Mercury', 'Planet']."
    assert world.step("Search[xyzzy]")[0] == "Could not find xyzzy. Similar: []."
    assert world.step("Search[a [b] c]")[0] == "Could not find a [b] c. Similar: []."
    assert world.step("Search[planet|mercury]")[0].startswith("Could not find planet|mercury.")
    assert [one["titles"] for one in kind.asked if "titles" in one][-1] == "planet mercury"
    assert world.step("Search[Old Mill]")[0].startswith(world.step("Search[Old_Mill]")[0])


def test_a_restored_trial_reads_the_kept_replies_without_its_site(site):
    url, kind = site
    task = on_site(HOTPOTQA.tasks(5, 1)[0], url)
    world, steps = HOTPOTQA.start(task), []
    title = HOTPOTQA.tasks(5, 1)[0].gold["supporting_facts"][0]["title"]
    opening = world.reset()[0]
    for action in (f"Search[{title}]", "Lookup[the]", "Search[nobody knows it]", "Lookup[a]"):
        steps.append(Step("", action, world.step(action)[0]))
    asked = len(kind.asked)
    assert asked == 3
    kind.failures = [(500, "", {})] * 20
    wiki_of.cache_clear()
    again, _ = rebuild_world(HOTPOTQA, task, Trajectory("q", "hotpotqa", "?", tuple(steps), opening=opening), 0)
    assert len(kind.asked) == asked
    assert again.step("Finish[x]")[2]


def test_a_busy_site_is_asked_again_and_a_dead_one_is_named(site, monkeypatch):
    url, kind = site
    monkeypatch.setenv("INFERACT_WIKI_USER_AGENT", "lab/1 (ann@example.org)")
    settings.cache_clear()
    wiki_of.cache_clear()
    wiki, at_once = wiki_of(url), {"retry-after": "0"}
    kind.failures = [(429, "", at_once), (503, "", at_once)]
    assert wiki.find("Old Mill")
    assert kind.agents == ["lab/1 (ann@example.org)"] * 3
    kind.failures = [(429, "", at_once)] * 4
    with pytest.raises(WorldUnavailable, match="status 429"):
        wiki.similar("a river")
    assert wiki.similar("a river") == wiki.similar("a river")
    kind.failures = [(403, "", {})]
    with pytest.raises(WorldUnavailable, match="status 403"):
        wiki.find("Mill")
    # A refusal is final, and never kept.
    assert wiki.find("Mill") is None
    with pytest.raises(WorldUnavailable, match="status 404"):
        wiki_of(url.removesuffix("/w")).find("Mill")


@pytest.mark.parametrize(
    ("text", "words"),
    [("<html>", "Action API"), ("[1]", "Action API"), ('{"error": {"code": "maxlag"}}', "error maxlag")],
)
def test_a_reply_that_is_no_result_is_not_kept(site, text, words):
    url, kind = site
    kind.failures = [(200, text, {})]
    with pytest.raises(WorldUnavailable, match=words):
        wiki_of(url).similar("x")
    assert wiki_of(url).similar("x")


def test_requests_keep_their_distance(site, monkeypatch):
    url, _ = site
    monkeypatch.setenv("INFERACT_WIKI_PER_SECOND", "20")
    settings.cache_clear()
    wiki_of.cache_clear()
    began = time.monotonic()
    for number in range(4):
        wiki_of(url).similar(f"word{number}")
    assert time.monotonic() - began >= 3 / 20


def test_a_page_is_split_at_the_ends_of_its_sentences():
    text = 'He said "No." Then he left! 3 years on, e.g. in May, it rained. It was wet.\n\n\n== Later ==\nThe end.'
    assert split_sentences(text) == [
        'He said "No."', "Then he left!", "3 years on, e.g. in May, it rained.", "It was wet.", "The end.",
    ]  # fmt: skip
