"""Each figure that the Runs page and My reviews draw of a run, once more from SQL that shares no code with them."""

import re
import sqlite3

import pytest

from console import runs
from console.database import now_ms, reading, review_queue
from console.detection import oversight
from console.review import decisions, feedback_counts
from console.review.overview import TrialFlow, build_overview
from console.review.simulated.simulate import SimulationPlan, simulate
from console.runs.status import run_status, status_rows
from console.trials import engine, start
from console.web.runs.overview import loop_html
from storage.queue import Claim
from tests.at_home import at_home

GIVEN = ({"feedback_text": "the colour"}, {"reason_codes": ("wrong-item",)}, {})
OWN = "SELECT {what} FROM trajectory t WHERE t.trial = :trial AND NOT t.carried_over"
ITEM = "SELECT count(DISTINCT i.trajectory_id) FROM item i WHERE i.trial = :trial AND i.kind {kind} 'halted'"
DECIDED = """SELECT count({what}) FROM decision d JOIN item i ON i.id = d.item_id
WHERE i.trial = :trial AND NOT d.superseded AND d.withdrawn_ms IS NULL"""
SOLVED = "t.outcome = 'succeeded' AND t.released_by IS NULL"
OUTCOMES = "SELECT count(*) FROM trajectory t WHERE t.trial = :trial AND t.outcome = '{}'"
USED = "SELECT coalesce(sum(l.units), 0) FROM ledger l JOIN budget b ON b.id = l.budget_id WHERE b.trial = :trial"
CAP = "SELECT cap FROM budget WHERE trial = :trial AND scope = ''"
OPEN = "SELECT count(*) FROM item WHERE trial = :trial AND open_slots > 0 AND status IN ('pending', 'claimed')"
BARS = {
    "attempts": OWN.format(what="count(*)"),
    "judged": OWN.format(what="count(*)") + " AND t.id IN (SELECT trajectory_id FROM verdict WHERE detector = 'rules')",
    "flagged": ITEM.format(kind="<>") + " AND i.verdict_id IS NOT NULL",
    "halted": ITEM.format(kind="="),
    "attempts reviewed": DECIDED.format(what="DISTINCT i.trajectory_id"),
    "decisions": DECIDED.format(what="*"),
    "rejected": DECIDED.format(what="*") + " AND d.decision = 'reject'",
    "approved": DECIDED.format(what="*") + " AND d.decision = 'approve'",
    "edited": DECIDED.format(what="*") + " AND d.decision = 'edit'",
    "feedback only": DECIDED.format(what="*") + " AND d.decision = 'respond'",
    "escalated": DECIDED.format(what="*") + " AND d.decision = 'escalate'",
    "pending": f"SELECT min(({OPEN}), ({CAP}) - ({USED}))",
    "beyond budget": f"SELECT max(0, ({OPEN}) - ({CAP}) + ({USED}))",
    "solved": OWN.format(what="count(*)") + f" AND {SOLVED}",
    "retried": "SELECT count(*) FROM trajectory t WHERE t.trial = :trial + 1 AND NOT t.carried_over",
}
STATUS = {
    "trajectories": "SELECT count(*) FROM trajectory t WHERE t.trial = :trial",
    **{word: OUTCOMES.format(word) for word in ("succeeded", "failed", "halted", "paused", "rejected")},
    "flagged": ITEM.format(kind="<>"),
    "inspections": USED,
    "budget": CAP,
    "left": f"SELECT ({CAP}) - ({USED})",
    "solved, held back": f"SELECT count(*) FROM trajectory t WHERE t.trial = :trial AND {SOLVED}",
    # Unknown while an action of the trial is held.
    "solved, as in the paper": f"""SELECT CASE WHEN (SELECT count(*) FROM trajectory t WHERE t.trial = :trial
    AND t.outcome IN ('paused', 'running')) = 0 THEN ({OUTCOMES.format("succeeded")}) END""",
}
KINDS = {
    "message": "d.feedback_text <> ''",
    "reason only": "d.feedback_text = '' AND d.reason_codes <> ''",
    "plain rejection": "d.feedback_text = '' AND d.reason_codes = ''",
}
AFTER = """SELECT count(DISTINCT n.id) FROM memory m JOIN decision d ON d.id = m.decision_id
JOIN item i ON i.id = d.item_id JOIN trajectory t ON t.id = i.trajectory_id
JOIN trajectory n ON n.task_id = t.task_id AND n.trial = t.trial + 1
WHERE d.reviewer = 'Ada' AND NOT d.superseded AND NOT n.carried_over AND {kind} AND {outcome}"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A live run of 56 tasks; Ada gives each kind of feedback, and a simulated reviewer the rest."""
    with at_home(tmp_path_factory.mktemp("figures")) as home:
        start.start_run("loop", {"webshop": 48, "hotpotqa": 8}, trials=5, budget_percent=60.0, undo_ms=0, blind=False)
        engine.resume("loop")
        for given in GIVEN:
            with reading() as session:
                run = runs.get(session, "loop")
                claim = decisions.claim_next_item(review_queue(), session, run, "Ada", now_ms())
            assert isinstance(claim, Claim)
            answer = decisions.ReviewDecision("reject", **given)
            decisions.submit(review_queue(), run, claim, "Ada", answer, now_ms())
        for _ in range(4):
            simulate("loop", SimulationPlan())
            engine.advance("loop")
        return home


@pytest.fixture
def sql(played):
    """A function from a statement and the number of a trial to its one number."""
    with at_home(played), sqlite3.connect(played / "console.db") as database:
        yield lambda statement, trial=0: database.execute(statement, {"trial": trial}).fetchone()[0]
    database.close()


def test_every_figure_is_that_of_an_own_statement(sql):
    """The figures are read off the HTML and the tables that the pages draw; no figure is left without a statement."""
    with reading() as session:
        run = runs.get(session, "loop")
        overview = build_overview(session, run, now_ms())
        status = status_rows(run_status(session, run), run.kind)
        burnt = oversight.tabulate_burn_down(session, run)
        tally = feedback_counts.tally_feedback(session, run, "Ada", unblinded=True)
    compared = [*_bars(overview.flows, sql), *_status(status, sql), *_solved(overview, sql)]
    compared += [*_burn_down(burnt, sql), *_feedback(tally, sql)]
    wrong = [(name, shown, counted) for name, shown, counted in compared if shown != counted]
    assert not wrong
    assert len(compared) >= 150, len(compared)


def _bars(flows, sql):
    html = loop_html(flows)
    for trial, part in enumerate(html.split("<h3>")[1:]):
        assert part.startswith(f"Trial {trial}</h3>")
        found = dict(re.findall(r"<dt>([^<]+)</dt><dd>(?:<i[^>]*></i>)?<b>([\d,]+)</b>", part))
        # A count of zero has no bar, not even a thin one.
        assert "></i><b>0</b>" not in part
        yield from ((f"{trial} {name}", int(count), sql(BARS[name], trial)) for name, count in found.items())
        missing = BARS.keys() - found.keys()
        yield from ((f"{trial} no bar of {name}", 0, sql(BARS[name], trial)) for name in missing)
        earlier = re.search(r"plus (\d+) solved earlier", part)
        carried = f"SELECT count(*) FROM trajectory t WHERE t.trial = :trial AND t.carried_over AND {SOLVED}"
        yield f"{trial} carried over", int(earlier[1]) if earlier else 0, sql(carried, trial)


def _status(rows, sql):
    for row in rows:
        for name, shown in row.items():
            if name != "trial":
                yield f"status {row['trial']} {name}", shown, sql(STATUS[name], row["trial"])


def _solved(overview, sql):
    solving = f"SELECT min(t.trial) FROM trajectory t WHERE t.task_id = k.id AND {SOLVED}"
    decided = """SELECT min(i.trial) FROM decision d JOIN item i ON i.id = d.item_id
    JOIN trajectory t ON t.id = i.trajectory_id WHERE t.task_id = k.id AND NOT d.superseded"""
    yield "tasks", overview.tasks, sql("SELECT count(*) FROM task")
    for one in overview.solved:
        tasks = f"SELECT count(*) FROM task k WHERE ({solving}) <= :trial"
        yield f"solved by {one.trial}", one.tasks, sql(tasks, one.trial)
        unaided = f"{tasks} AND (({decided}) IS NULL OR ({decided}) > ({solving}))"
        yield f"solved before any review by {one.trial}", one.unaided, sql(unaided, one.trial)


def _burn_down(burnt, sql):
    for trial, line in burnt.groupby("trial"):
        yield f"used in {trial}", int(line["used"].iloc[-1]), sql(USED, int(trial))
        began = USED.replace("coalesce(sum(l.units), 0)", "min(l.at_ms)")
        for minute, used in zip(line["minute"], line["used"], strict=True):
            until = f"{USED} AND l.at_ms <= ({began}) + {round(minute * 60_000)}"
            yield f"{trial} after {minute} min", int(used), sql(until, int(trial))
        wrong = DECIDED.format(what="DISTINCT i.trajectory_id") + " AND d.label = 'misaligned'"
        if line["caught"].notna().any():
            caught = f"{wrong} AND i.trajectory_id IN (SELECT id FROM trajectory WHERE label = 'misaligned')"
            yield f"caught in {trial}", int(line["caught"].iloc[-1]), sql(caught, int(trial))


def _feedback(tally, sql):
    rows = {count.row["kind"]: count.row for count in tally.counts}
    for name, kind in KINDS.items():
        row = rows.get(name, {"attempts": "0", "solved": "0"})
        every = AFTER.format(kind=kind, outcome="1 = 1")
        solved = AFTER.format(kind=kind, outcome="n.outcome = 'succeeded' AND n.released_by IS NULL")
        yield f"attempts after {name}", int(row["attempts"]), sql(every)
        yield f"solved after {name}", int(row["solved"]), sql(solved)


def test_with_two_reviewers_the_bar_of_the_decisions_is_longer_than_that_of_the_attempts():
    none = dict.fromkeys(
        ("carried_over", "copies", "flagged", "stuck", "audits", "logged", "again", "waiting", "beyond"), 0
    )
    answers = (("approve", 7), ("reject", 3))
    flow = TrialFlow(trial=0, attempts=5, judged=None, inspected=5, answers=answers, solved=0, **none)
    bars = {
        label: float(share)
        for label, share in re.findall(r'<dt>([^<]+)</dt><dd><i style="--share:([\d.]+)">', loop_html([flow]))
    }
    assert (bars["attempts"], bars["decisions"], bars["approved"]) == (0.5, 1.0, 0.7)
