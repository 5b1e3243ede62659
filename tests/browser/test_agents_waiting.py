"""An agent that waits is announced on every page, whichever run is open, and one key leads to it."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import pytest
from sqlmodel import select

from console.database import reading
from console.detection import batch
from console.gate import Gate
from console.runs import ingest
from console.web.widgets.status import age
from storage import tables
from tests.browser.walking import ready, shown_item, until
from tests.logs import purchase, write_log
from tests.signing_in import let_in

PAGES = ["inbox", "review?run=kettles", "answers?run=kettles", "help", "people", "inbox?run=kettles"]
RUNS = ["support", "billing", "shipping"]


def ask(run, order):
    gate = Gate(run, "full-validation", undo_s=0, timeout_s=600)
    gate.ask(f"Refund order {order}.", [], {"name": "refund", "arguments": {"order": order}}, task_id=f"t{order}")


def answered(page, order):
    """Goes to the item of the agent by one key and approves it; returns how many seconds that took."""
    began = time.monotonic()
    page.locator(".ia-agents", has_text="waiting").wait_for(timeout=8_000)
    page.keyboard.press("g")
    page.locator(".ia-task", has_text=f"Refund order {order}.").wait_for()
    ready(page, shown_item(page))
    page.keyboard.press("a")
    page.locator(".ia-task", has_text=f"Refund order {order}.").wait_for(state="detached")
    return time.monotonic() - began


@pytest.mark.parametrize("count", [1, pytest.param(60, marks=(pytest.mark.at_length, pytest.mark.timeout(1_200)))])
def test_on_any_page_an_agent_of_another_run_is_answered_within_five_seconds(filled, serve, open_page, settled, count):
    filled(budget="9")
    chance, address, page, took = random.Random(7), serve(), open_page(), []
    let_in(page, address, role="reviewer")
    with ThreadPoolExecutor(1) as aside:
        for order in range(count):
            page.goto(f"{address}/{PAGES[order % len(PAGES)]}")
            page.get_by_role("button", name="sign out").wait_for()
            settled(page)
            aside.submit(ask, chance.choice(RUNS), order).result()
            took.append(answered(page, order))
    print(f"{count} agents answered, the slowest in {max(took):.1f} s")
    # Beside the other workers of a whole run, one has twice the time; the sixty at length have the stated one.
    assert max(took) < (5 if count > 1 else 10)


@pytest.mark.at_length
def test_the_title_counts_all_runs_and_typing_is_left_alone(filled, serve, open_page, settled):
    filled(budget="9")
    address, page = serve(), open_page()
    let_in(page, address, role="reviewer")
    page.goto(f"{address}/review?run=kettles")
    first = shown_item(page)
    settled(page)
    until(page, "() => document.title === '(6) Review · InferAct Console'")
    with ThreadPoolExecutor(1) as aside:
        aside.submit(ask, "support", 1).result()
    page.locator(".ia-agents", has_text="1 action is waiting (support)").wait_for(timeout=5_000)
    until(page, "() => document.title === '(7) Review · InferAct Console'")
    ready(page, first)
    page.keyboard.press("w")
    page.keyboard.type("going")
    assert page.locator("textarea").first.input_value() == "going"
    assert shown_item(page) == first


def keep_asking(run, delays, chance):
    """An agent that asks, waits for its answer, and asks again after each delay."""
    gate, number = Gate(run, "full-validation", undo_s=0, timeout_s=600), chance.randrange(10**6)
    for order, delay in enumerate(delays, number):
        time.sleep(delay)
        call = {"name": "refund", "arguments": {"order": order}}
        assert gate.check(f"Refund order {order}.", [], call, task_id=f"t{order}").approved


def approve_agents(page):
    """Opens the first waiting agent by one key and approves every agent's item that then follows."""
    page.locator(".ia-agents", has_text="waiting").wait_for(timeout=20_000)
    page.keyboard.press("g")
    page.locator(".ia-task", has_text="Refund order").wait_for()
    while page.locator(".ia-task", has_text="Refund order").count():
        item = shown_item(page)
        ready(page, item)
        page.keyboard.press("a")
        page.wait_for_selector(f".st-key-skip-{item}", state="detached")
        page.locator(".ia-task").wait_for()


@pytest.mark.at_length
@pytest.mark.timeout(1_200)
def test_beside_ten_thousand_items_agents_that_ask_at_random_get_their_answers_within_five_seconds(
    tmp_path, data_dir, serve, open_page, settled
):
    for run in ("archive-a", "archive-b"):
        log = write_log(tmp_path / f"{run}.jsonl", *(purchase(n, wrong=n % 2 == 0) for n in range(5_000)))
        ingest.import_file(log, run, "auto", lambda _: None)
        batch.detect(run, ["full-validation"])
    pages = [
        "inbox",
        "review",
        "review?run=archive-a",
        "inbox?run=archive-b",
        "answers?run=archive-a",
        "help",
        "people",
    ]
    chance, address, page = random.Random(11), serve(), open_page()
    let_in(page, address, role="reviewer")
    with ThreadPoolExecutor(len(RUNS)) as agents:
        delays = [[chance.uniform(1, 9) for _order in range(20)] for _run in RUNS]
        asking = [
            agents.submit(keep_asking, run, own, random.Random(run)) for run, own in zip(RUNS, delays, strict=True)
        ]
        while not all(agent.done() for agent in asking):
            page.goto(f"{address}/{chance.choice(pages)}")
            page.get_by_role("button", name="sign out").wait_for()
            settled(page)
            approve_agents(page)
        for agent in asking:
            agent.result()
    with reading() as session:
        item, decision = tables.Item, tables.Decision
        rows = session.exec(select(item, decision, tables.Run.name).join(decision).join(tables.Run)).all()
    took = [decided.decided_ms - asked.created_ms for asked, decided, _run in rows]
    print(f"{len(took)} agents answered beside 10,000 items, the slowest in {max(took) / 1e3:.1f} s")
    assert sorted(run for _asked, _decided, run in rows) == sorted(RUNS * 20)
    assert {decided.decision for _asked, decided, _run in rows} == {"approve"}
    assert max(took) < 5_000


def test_browser_and_server_write_a_duration_alike(open_page):
    script = (files("console.web.widgets") / "scripts" / "durations.js").read_text("utf-8")
    times = [0, 59_999, 60_000, 3_599_000, 3_600_000, 6_840_000, 35_999_000, 36_900_000, 172_799_000, 172_800_000]
    write = f'{script}; return times.map(ms => duration(ms, {{days: "{{count}} days"}}))'
    written = open_page().evaluate(f"times => {{ {write} }}", times)
    assert [one.replace("\u00a0", " ") for one in written] == [age(ms) for ms in times]
