"""The overview of a real run: each of its numbers once more from what the exports and the table of trials say."""

import csv
import io
from collections import Counter
from dataclasses import replace

import pytest
from sqlmodel import func, select

from console import runs
from console.database import database_url, now_ms, reading, review_queue, writing
from console.detection import oversight
from console.review import decisions, inbox
from console.review.overview import build_overview
from console.review.pending_items import list_pending_items
from console.review.simulated.simulate import SimulationPlan, simulate
from console.review.waiting import measure_offered
from console.runs import ingest
from console.runs.export import export
from console.runs.status import run_status
from console.trials import engine, start
from console.web.runs.overview import _now_html
from storage import tables
from storage.queue import Claim
from tests.at_home import at_home
from tests.console.runs.importers.samples import SAMPLES
from tests.logs import purchase, write_log


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A live run of sixteen tasks in its second trial; Ada has answered one item and holds another."""
    with at_home(tmp_path_factory.mktemp("loop")) as home:
        start.start_run("loop", {"webshop": 12, "hotpotqa": 4}, trials=3, budget_percent=60.0, undo_ms=0, blind=False)
        engine.resume("loop")
        run, claim = _claim()
        decisions.submit(review_queue(), run, claim, "Ada", decisions.ReviewDecision("reject", "the colour"), now_ms())
        _, undone = _claim()
        decisions.submit(review_queue(), run, undone, "Ada", decisions.ReviewDecision("escalate"), now_ms())
        review_queue().undo(item_id=undone.item_id, reviewer="Ada", now_ms=now_ms(), lease_ms=run.lease_ms)
        simulate("loop", SimulationPlan())
        engine.advance("loop")
        return home


@pytest.fixture
def loop(played):
    """The settings of that run's data directory."""
    with at_home(played):
        yield


def _claim():
    with reading() as session:
        run = runs.get(session, "loop")
        claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
    assert isinstance(claim, Claim)
    return run, claim


@pytest.fixture
def found(loop):
    with reading() as session:
        return build_overview(session, runs.get(session, "loop"), now_ms())


@pytest.fixture
def rows(loop, tmp_path):
    """A function from a kind of export to its rows."""

    def read(kind):
        export(database_url(), kind, "loop", tmp_path / f"{kind}.csv")
        return list(csv.DictReader(io.StringIO((tmp_path / f"{kind}.csv").read_text("utf-8-sig"))))

    return read


def of_trial(rows, trial):
    return [row for row in rows if row["trial"] == str(trial)]


@pytest.mark.at_length
def test_every_number_of_the_picture_is_that_of_the_exports(found, rows):
    trajectories, items, verdicts = rows("trajectories"), rows("items"), rows("verdicts")
    standing = [row for row in rows("decisions") if row["superseded"] == "false"]
    assert len(found.flows) == 2
    assert sum(flow.waiting for flow in found.flows) == found.waiting
    for flow in found.flows:
        made = of_trial(trajectories, flow.trial)
        attempts = {row["trajectory_id"] for row in made if row["carried_over"] == "false"}
        assert flow.attempts == len(attempts)
        assert flow.carried_over + flow.copies == len(made) - len(attempts)
        assert flow.judged == len({row["trajectory_id"] for row in verdicts} & attempts)
        queued = of_trial(items, flow.trial)
        assert flow.flagged == len({row["trajectory_id"] for row in queued if row["checkpoint"] != "halted"})
        assert flow.stuck == len({row["trajectory_id"] for row in queued if row["checkpoint"] == "halted"})
        assert flow.waiting == sum(int(row["open_slots"]) for row in queued)
        answered = of_trial(standing, flow.trial)
        assert dict(flow.answers) == Counter(row["decision"] for row in answered)
        of_item = {row["item_id"]: row["trajectory_id"] for row in items}
        assert flow.inspected == len({of_item[row["item_id"]] for row in answered})
        assert flow.solved == sum(row["outcome"] == "succeeded" and row["trajectory_id"] in attempts for row in made)
        following = of_trial(trajectories, flow.trial + 1)
        assert flow.again == sum(row["carried_over"] == "false" for row in following)


def test_it_agrees_with_the_table_of_trials(found, loop):
    with reading() as session:
        run = runs.get(session, "loop")
        trials, burnt = run_status(session, run)["trials"], oversight.tabulate_burn_down(session, run)
        assert inbox.get_queue_state(session, [run.id]).waiting == found.waiting
    for flow, solved, row in zip(found.flows, found.solved, trials, strict=True):
        assert (flow.attempts + flow.carried_over + flow.copies, flow.flagged) == (row["tasks"], row["flagged"])
        assert solved.tasks == row["success_held"]
        assert found.tasks == row["run_tasks"]
        assert (
            burnt[burnt["trial"] == flow.trial]["used"].tolist()[-1:]
            == [row["budget"]["used"]][: row["budget"]["used"]]
        )


def test_unaided_is_what_owes_nothing_to_an_answer(found, rows):
    trajectories, items = rows("trajectories"), rows("items")
    task_of = {row["trajectory_id"]: row["task_id"] for row in trajectories}
    of_item = {row["item_id"]: task_of[row["trajectory_id"]] for row in items}
    answered = {of_item[row["item_id"]] for row in rows("decisions") if row["superseded"] == "false"}
    for solved in found.solved:
        good = {
            row["task_id"]
            for row in trajectories
            if int(row["trial"]) <= solved.trial and row["outcome"] == "succeeded"
        }
        assert (solved.tasks, solved.unaided) == (len(good), len(good - answered))
    assert found.solved[-1].tasks > found.solved[-1].unaided > 0


def test_who_is_at_work(found, rows):
    given = Counter(row["reviewer"] for row in rows("decisions") if row["superseded"] == "false")
    assert {one.name: one.decisions for one in found.reviewers} == given
    ada = next(one for one in found.reviewers if one.name == "Ada")
    assert (ada.holds, ada.is_simulated) == (1, False)
    assert [one.is_simulated for one in found.reviewers if one.name != "Ada"] == [True]
    assert ada.is_at_work(now_ms() + 3_600_000)
    assert found.oldest is None or found.oldest.open_slots > 0


def test_pending_counts_what_the_queue_can_still_offer(found, loop):
    with reading() as session:
        run = runs.get(session, "loop")
        listed = list_pending_items(session, [run], "Zoe")
        assert (found.waiting, found.waiting - found.offered) == (listed.matching, listed.beyond)
        assert measure_offered(session, [run.id], "Zoe")[0] == found.offered


def test_what_a_spent_budget_holds_back_is_counted_apart(data_dir):
    start.start_run("short", {"webshop": 8}, trials=1, budget_cap=2, undo_ms=0, blind=False)
    engine.resume("short")
    with writing() as session:
        run = runs.get(session, "short")
        queued = session.exec(select(tables.Item).where(tables.Item.run_id == run.id)).all()
        for place, item in enumerate(sorted(queued, key=lambda item: (-item.priority, item.id))):
            item.created_ms = 1_000 - place
    with reading() as session:
        run = runs.get(session, "short")
        overview = build_overview(session, run, now_ms())
        before, oldest_ms = measure_offered(session, [run.id], "Ada")
        pending = session.exec(select(func.count()).where(tables.Item.run_id == run.id)).one()
    given = 0
    while isinstance(_claim_for(run, f"reviewer {given}"), Claim):
        given += 1
    assert (overview.offered, before, overview.waiting) == (given, given, pending)
    assert pending > given
    assert oldest_ms == 1_000 - given + 1
    assert overview.oldest.created_ms == 1_000 - pending + 1
    html = _now_html(run, overview, overview.oldest, 1_000)
    assert "<b>2 items pending</b></li>" in html
    assert f"<b>Beyond budget:</b> {pending - given} items, oldest of all " in html
    with reading() as session:
        assert measure_offered(session, [run.id], "Ada") == (0, None)


def _claim_for(run, reviewer):
    with reading() as session:
        return decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())


def test_copies_that_a_log_repeats_are_not_solved_earlier(data_dir, tmp_path):
    first = [purchase(0, wrong=False), purchase(1, wrong=True), purchase(2, wrong=True)]
    again = [replace(record, trial=1).as_carried_over() for record in first[:2]]
    log = write_log(tmp_path / "log.jsonl", *first, *again, purchase(2, wrong=False, trial=1))
    ingest.import_file(log, "log", "auto", lambda _: None)
    with reading() as session:
        flow = build_overview(session, runs.get(session, "log"), now_ms()).flows[1]
    assert (flow.attempts, flow.carried_over, flow.copies, flow.solved) == (1, 1, 1, 1)


def test_the_decider_of_an_imported_log_is_not_at_work(tmp_path, data_dir):
    log = tmp_path / "session.jsonl"
    log.write_bytes(SAMPLES["claude-code"].content)
    report = ingest.import_file(log, "session", "auto", lambda _: None)
    assert report.decisions == 1
    with reading() as session:
        run = runs.get(session, "session")
        overview, (status,) = build_overview(session, run, now_ms()), run_status(session, run)["trials"]
    (one,), (flow,) = overview.reviewers, overview.flows
    assert (flow.flagged, flow.logged, flow.inspected, status["flagged"]) == (0, 1, 1, 0)
    assert (one.name, one.decisions, one.last_ms) == ("the user of the session", 1, None)
    assert not one.is_at_work(now_ms())
