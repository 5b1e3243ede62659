"""A shopping session, as an agent lives it."""

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments.webshop import WEBSHOP
from console.environments.webshop.catalogue import catalogue
from console.environments.webshop.pages import start_text
from console.environments.webshop.tasks import tasks
from console.environments.webshop.world import (
    MOST_RESULTS,
    item_page,
    query_words,
    results_page,
    search,
    searchable_text,
    sub_page,
)
from console.errors import BadInput
from console.trajectory.checkpoints import is_critical, is_thought
from tests.oracles import shopping
from tests.sweeps import sweep

TASKS = tasks(6, 60)
TASK = next(task for task in TASKS if len(task.gold["options"]) == 2)
QUERY = f"search[{TASK.instruction}]"


def asins(page):
    """The products on a page of results."""
    return re.findall(r"^\[(B0\w{8})\]", page, re.MULTILINE)


def observations(task, actions, **reset):
    """What an agent sees, from the start page on."""
    world = WEBSHOP.start(task)
    first, _ = world.reset(**reset)
    return [first, *(world.step(action)[0] for action in actions)]


def buttons(page):
    """Everything in brackets on a page."""
    return re.findall(r"\[+([^\[\]]+)\]+", page)


@pytest.fixture
def world():
    """The task's session, at the start page."""
    shop = WEBSHOP.start(TASK)
    shop.reset()
    return shop


@pytest.fixture
def item(world):
    """A session that stands on the target's page, reached from the results."""
    for action in shopping(TASK)[:2]:
        world.step(action)
    return world


@st.composite
def sessions(draw):
    """A task and actions such as an agent takes: mostly buttons that it sees, sometimes nonsense."""
    task = draw(st.sampled_from(TASKS))
    world = WEBSHOP.start(task)
    page, _ = world.reset()
    taken = []
    for _ in range(draw(st.integers(1, 12))):
        seen = [f"click[{button}]" for button in buttons(page)]
        action = draw(st.sampled_from([f"search[{task.instruction}]", "think[hm]", *seen]) | st.text(max_size=20))
        taken.append(action)
        page = world.step(action)[0]
    return task, taken


def test_the_start_page_has_the_instruction():
    first, info = WEBSHOP.start(TASK).reset()
    assert first.split("\n")[1:4:2] == ["Webshop ", f"{TASK.instruction} "]
    assert info == {"success": False, "score": 0.0}


def test_a_search_shows_ten_of_at_most_fifty(world):
    page, earned, terminated, truncated, _ = world.step(QUERY)
    assert "Page 1 (Total results: 50)" in page
    assert len(asins(page)) == 10
    assert (earned, terminated, truncated) == (0.0, False, False)


def test_next_and_prev_turn_the_pages(world):
    first = world.step(QUERY)[0]
    second = world.step("click[Next >]")[0]
    assert "Page 2" in second
    assert not set(asins(first)) & set(asins(second))
    assert world.step("click[< Prev]")[0] == first


def test_a_page_past_the_end_is_empty_and_leads_back(world):
    world.step(QUERY)
    pages = [world.step("click[Next >]")[0] for _ in range(5)]
    assert [len(asins(page)) for page in pages] == [10, 10, 10, 10, 0]
    assert world.step("click[< Prev]")[0] == pages[-2]


def test_an_item_leads_back_to_the_page_of_results_it_was_on(world):
    world.step(QUERY)
    second = world.step("click[Next >]")[0]
    world.step(f"click[{asins(second)[3]}]")
    assert world.step("click[< Prev]")[0] == second


def test_a_chosen_option_is_confirmed_marked_and_replaced_by_another(item):
    name, value = next(iter(TASK.gold["options"].items()))
    other = next(v for v in catalogue()[TASK.gold["asin"]].options[name] if v != value)
    assert item.step(f"click[{other}]")[0] == f"You have clicked {other}."
    assert item.step(f"click[{value.upper()}]")[0] == f"You have clicked {value}."
    item.step("click[Features]")
    page = item.step("click[< Prev]")[0]
    assert f"[[{value}]]" in page
    assert f"[[{other}]]" not in page


def test_leaving_an_item_forgets_its_options(item):
    value = next(iter(TASK.gold["options"].values()))
    item.step(f"click[{value}]")
    item.step("click[< Prev]")
    assert f"[[{value}]]" not in item.step(f"click[{TASK.gold['asin']}]")[0]


def test_sub_pages_tell_more_and_sell_nothing(item):
    assert "Item model number" in item.step("click[Description]")[0]
    assert item.step("click[Buy Now]")[:3] == ("Invalid action!", 0.0, False)
    assert item.step("click[Features]")[0] == "Invalid action!"


def test_back_to_search_leads_to_the_start_from_everywhere(item):
    start = item.step("click[Back to Search]")[0]
    assert start == WEBSHOP.start(TASK).reset()[0]
    assert "Page 1" in item.step("search[rug]")[0]


@pytest.mark.parametrize(
    "action",
    ["", "search", "search[x", "click[]", "click[Buy Now]", "click[Next >]", "buy[x]", "click[Back to Search]", "exit"],
)
def test_what_the_start_page_does_not_offer_is_an_invalid_action(world, action):
    assert world.step(action)[0] == "Invalid action!"
    assert "Page 1" in world.step(QUERY)[0]


@pytest.mark.parametrize(
    "action", ["search[rug]", "click[B000000000]", "click[< Prev]", "click[Buy Now]", "click[teal]"]
)
def test_what_a_page_of_results_does_not_offer_is_an_invalid_action(world, action):
    world.step(QUERY)
    assert world.step(action)[0] == "Invalid action!"


def test_an_item_of_another_page_of_results_cannot_be_clicked(world):
    hidden = asins(world.step(QUERY)[0])[0]
    world.step("click[Next >]")
    assert world.step(f"click[{hidden}]")[0] == "Invalid action!"


@pytest.mark.parametrize("thought", ["think[the first one will do]", "think[unfinished", "think: hm"])
def test_thoughts_are_answered_ok_and_change_nothing(item, thought):
    assert item.step(thought)[0] == "OK."
    assert item.step("click[Buy Now]")[2]


def test_buying_ends_the_session_and_tells_the_agent_no_score(item):
    page, earned, terminated, _, info = item.step("click[Buy Now]")
    assert page.strip() == "Thank you for shopping with us!"
    assert terminated
    assert 0 < earned < 1
    assert info == {"success": False, "score": earned}
    assert item.step(QUERY) == (page, 0.0, True, False, info)


def test_a_reset_starts_over(item):
    item.step("click[Buy Now]")
    assert item.reset(seed=5) == WEBSHOP.start(TASK).reset()
    assert [item.step(action)[1] for action in shopping(TASK)][-1] == 1.0


def test_as_react_saw_the_shop_there_are_three_products_and_no_next_page():
    shop = WEBSHOP.start(TASK)
    full = asins(shop.step(QUERY)[0])
    shop.reset(options={"observation": "react"})
    page = shop.step(QUERY)[0]
    assert asins(page) == full[:3]
    assert "[Next >]" in page
    assert shop.step("click[Next >]")[0] == "Invalid action!"
    assert shop.step(f"click[{full[3]}]")[0] == "Invalid action!"


def test_a_task_may_ask_for_reacts_view_itself():
    assert len(asins(observations(replace(TASK, options={"observation": "react"}), [QUERY])[1])) == 3


def test_an_unknown_view_is_refused(world):
    with pytest.raises(BadInput, match='"full" or "react"'):
        world.reset(options={"observation": "html"})


@settings(deadline=None)
@given(sessions())
def test_replaying_the_actions_brings_the_same_observations(session):
    task, actions = session
    assert observations(task, actions) == observations(task, actions, seed=99)


@settings(deadline=None)
@given(sessions())
def test_what_an_agent_sees_does_not_depend_on_the_gold(session):
    task, actions = session
    other = TASKS[0] if task != TASKS[0] else TASKS[1]
    assert observations(task, actions) == observations(replace(task, gold=other.gold), actions)


@settings(deadline=None)
@given(
    st.text() | st.sampled_from(["click[Buy Now]", "CLICK[Buy Now]", "think[a] click[Buy Now]"]),
    st.text("[] \n>", max_size=3),
)
def test_nothing_ends_a_session_but_an_action_that_counts_as_critical(action, around):
    shop = WEBSHOP.start(TASK)
    for before in shopping(TASK)[:2]:
        shop.step(before)
    for tried in (action, around + action, action + around, f"click[{action}]", action.replace("Buy", around + "buy")):
        ended = shop.step(tried)[2]
        if ended:
            assert is_critical(tried, WEBSHOP.critical)
            assert not is_thought(tried)
            return


def test_sessions_in_many_threads_do_not_disturb_each_other():
    def play(task):
        return observations(
            task, [f"search[{task.instruction}]", "click[Next >]", "click[Back to Search]", *shopping(task)]
        )

    with ThreadPoolExecutor(8) as pool:
        together = [*pool.map(play, TASKS)]
    assert together == [play(task) for task in TASKS]


def test_what_the_console_knows_about_the_shop():
    assert WEBSHOP.terminal == WEBSHOP.critical == ("click[Buy Now]",)
    assert WEBSHOP.replayable
    assert WEBSHOP.step_cap == 15


@pytest.fixture
def mug():
    """An item with two options."""
    some = next(iter(catalogue().values()))
    options = {"color": ("teal", "black"), "size": ("12 oz", "20 oz")}
    return replace(
        some, title="Solplo Mug", price=7.5, options=options, features=("Round", "Blue"), description="A mug."
    )


def lines(page):
    """The lines without the blanks at their ends."""
    return [line.strip() for line in page.strip().splitlines()]


def shape(line):
    """A line with everything put aside that differs from product to product."""
    if line.startswith("[B0"):
        return "[ASIN]"
    line = re.sub(r"\d+(\.\d+)?", "0", line)
    return line if line[:1] in "[$" or re.match(r"Page|Price|Rating", line) else "TEXT"


def test_an_item_page_has_options_title_price_and_buttons_in_this_order(mug):
    assert lines(item_page(mug, {"size": "20 oz"})) == [
        "[Back to Search]",
        "[< Prev]",
        "color [teal][black]",
        "size [12 oz][[20 oz]]",
        "Solplo Mug",
        "Price: $7.50",
        "Rating: N.A.",
        "[Description]",
        "[Features]",
        "[Reviews]",
        "[Buy Now]",
    ]


def test_sub_pages_have_their_text_and_the_ways_back(mug):
    assert lines(sub_page(mug, "Features")) == ["[Back to Search]", "[< Prev]", "Round", "Blue"]
    assert lines(sub_page(mug, "Description"))[2:] == ["A mug."]
    assert lines(sub_page(mug, "Reviews"))[2:] == ["No reviews yet."]


def test_only_later_result_pages_lead_back():
    assert lines(results_page([], 1, 0)) == ["[Back to Search]", "Page 1 (Total results: 0)", "[Next >]"]
    assert lines(results_page([], 2, 14))[1:3] == ["Page 2 (Total results: 14)", "[< Prev]"]


def test_the_start_page_has_the_instruction_and_the_search_button():
    assert lines(start_text("i need a mug")) == ["Webshop", "Instruction:", "i need a mug", "[Search]"]


def test_pages_have_the_shape_of_those_in_a_real_log(shared_data):
    log = shared_data("webshop/react_webshop_run_000-249.txt").read_text("utf-8")
    results = re.search(r"Observation: \n(\[Back to Search\] \nPage 1 .*?)\n\nAction", log, re.DOTALL)[1]
    item = re.search(r"Observation: \n(\[Back to Search\] \n\[< Prev\] .*?)\n\nAction", log, re.DOTALL)[1]
    product = next(iter(catalogue().values()))
    ours = results_page(search(product.title)[:3], 1, 50)
    assert [shape(line) for line in lines(ours)] == [shape(line) for line in lines(results)]
    one_option = replace(product, options={"color": ("black",)})
    assert [shape(line) for line in lines(item_page(one_option, {}))] == [shape(line) for line in lines(item)]


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


@sweep("task", tasks(21, 40), ids=lambda task: task.task_id, kept=10)
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
