from concurrent.futures import ThreadPoolExecutor

import pytest

from console.environments.hotpotqa.corpus import Corpus, WikiPage

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
