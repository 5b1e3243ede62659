"""Search: FTS5's own ranking, at most 50, whatever is typed."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.tasks import tasks
from console.environments.webshop.world import MOST_RESULTS, query_words, search, searchable_text


@pytest.fixture(scope="module")
def fts5():
    """A full-text table of the test's own: a function from words to (score, ASIN), best first."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE product USING fts5(asin UNINDEXED, contents, tokenize = 'porter unicode61')")
        db.executemany(
            "INSERT INTO product VALUES (?, ?)", [(p.asin, searchable_text(p)) for p in catalogue().values()]
        )

        def ask(asked):
            match = " OR ".join(f'"{word}"' for word in asked)
            return db.execute(
                "SELECT -rank, asin FROM product WHERE product MATCH ? ORDER BY rank", (match,)
            ).fetchall()

        yield ask


@pytest.mark.parametrize("task", tasks(21, 40), ids=lambda task: task.task_id)
def test_the_ranking_is_that_of_one_fts5_query_over_all_words(fts5, task):
    whole = fts5(query_words(task.instruction))
    score = {asin: value for value, asin in whole}
    found = [score[asin] for asin in search(task.instruction)]
    assert found == pytest.approx([value for value, _ in whole[:MOST_RESULTS]])


@given(st.text(max_size=60))
def test_any_text_is_a_query(query):
    found = search(query)
    assert len(found) == len(set(found)) <= MOST_RESULTS
    assert set(found) <= set(catalogue())


@pytest.mark.parametrize("query", ["", "   ", '"', "* OR NEAR(", "the of and", "zzzzqq", "\x00"])
def test_a_query_without_a_word_of_the_shop_finds_nothing(query):
    assert search(query) == ()


def test_word_forms_and_case_do_not_matter():
    assert search("RUGS") == search("rug") != ()


def test_a_long_query_is_cut_at_forty_words():
    assert len(query_words(" ".join(f"word{n}" for n in range(500)))) == 40


def test_features_after_the_first_are_not_searched():
    hidden = [p for p in catalogue().values() if "Caffeine free" in p.features[1:] and "Caffeine Free" not in p.title]
    assert hidden
    assert not {p.asin for p in hidden} & set(search("caffeine"))
    assert set(search("caffeine")) <= {p.asin for p in catalogue().values() if "Caffeine free" in p.features}


def test_threads_find_what_one_thread_finds():
    queries = [task.instruction for task in tasks(33, 80)]
    with ThreadPoolExecutor(8) as pool:
        together = [*pool.map(search, queries)]
    assert together == [search(query) for query in queries]
