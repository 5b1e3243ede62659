"""The counts of a run, most of which are stored by block, against the same counts of plain rows, on random runs."""

import random
import shutil
from collections import Counter
from contextlib import suppress

import orjson
import pytest
from sqlalchemy import delete, event, text
from sqlmodel import select

from console.database import reading, writing
from console.review.capacity import measure_capacity
from console.review.line_corrections import count_lines
from console.review.overview import build_overview
from console.review.waiting import measure_progress
from console.runs import archive, get, status
from console.trajectory import Outcome
from storage import run_counts, tables
from storage.check import check
from storage.engine import close, engine
from tests import postgres
from tests.postgres import BOTH
from tests.sweeps import sweep

DAY_MS = 86_400_000
COUNTED = [*map(str, Outcome)]
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.at_length) for seed in range(1, 12))]


@pytest.fixture
def url(request, tmp_path, empty_database):
    if request.param == "postgresql":
        with postgres.database() as made:
            yield made
        return
    made = f"sqlite:///{shutil.copy(empty_database, tmp_path / 'console.db')}"
    yield made
    close(made)


def fill(session, name, chance):
    """A run of random trajectories, items, draws, known items and decisions, of which some were undone."""
    run = archive(session, name, 1)
    run.halted_free, run.detector = chance.random() < 0.5, "rules"
    session.flush()
    of_run = {"run_id": run.id}
    for trial in (2, 0, 5):
        session.add(tables.Budget(**of_run, trial=trial, cap=chance.choice([None, 3, 9]), used=chance.randrange(3)))
    audited, known = chance.random() < 0.5, chance.random() < 0.5
    for number in range(30):
        task = tables.Task(**of_run, task_key=f"t{number}", environment="e", instruction="i", instruction_digest="d")
        session.add(task)
        session.flush()
        made = tables.Trajectory(
            **of_run,
            # Runs share blocks of ids, and a run has many blocks.
            id=400 * number + len(name),
            task_id=task.id,
            trial=chance.choice((0, 0, 2, 5)),
            environment="e",
            outcome=chance.choice(COUNTED),
            recorded_outcome="failed",
            carried_over=chance.random() < 0.3,
            released_by=chance.choice((None, None, "released", "")),
            n_steps=3,
            n_critical=1,
            digest=f"{name}{number}",
            created_ms=1,
        )
        session.add(made)
        session.flush()
        for step in range(chance.randrange(4)):
            add_item(session, made, step, chance, audited=audited, known=known)
    return run


def add_item(session, made, step, chance, *, audited, known):
    place = {"run_id": made.run_id, "trajectory_id": made.id, "step": step}
    place |= {"kind": chance.choice(("action", "end", "halted"))}
    needed = chance.choice((0, 1, 2))
    decided = chance.randint(0, needed) if needed else 1
    times = {"claimed_ms": 1, "decided_ms": chance.randrange(2, 20 * DAY_MS), "deliverable_ms": 1}
    # A run's other detector has verdicts too, with and without a table of requirements.
    table = fill_table(chance.randrange(4))
    judged = {"threshold": 0.5, "flagged": True, "created_ms": 1}
    verdicts = [
        tables.Verdict(**place | judged, detector=name, requirements=chance.choice((None, table)))
        for name in chance.sample(("rules", "other", "third"), chance.randrange(4))
    ]
    session.add_all(verdicts)
    session.flush()
    item = tables.Item(
        **place,
        verdict_id=chance.choice([None, *(one.id for one in verdicts)]),
        trial=made.trial,
        priority=1.0,
        reviews_required=needed,
        open_slots=max(needed - decided, 0),
        created_ms=1,
    )
    session.add(item)
    if audited and chance.random() < 0.4:
        numbers = {"score": 0.1, "probability": 0.5, "number": chance.random(), "at_ms": 1}
        session.add(tables.AuditDraw(**place, **numbers))
    session.flush()
    if known and step == 0 and chance.random() < 0.2:
        source = {"source_id": made.id, "expected": "aligned", "reviewers": "[]", "created_ms": 1}
        session.add(tables.SeededItem(item_id=item.id, trajectory_id=made.id, **source))
    if chance.random() < 0.1:
        session.add(make_correction(item.id))
    for number in range(decided + chance.randrange(2)):
        fields = {"reviewer": chance.choice("ab"), "decision": chance.choice(("approve", "reject", "escalate"))}
        fields |= {"feedback_type": "nl", "action_digest": "d", "budget_used": 0, **times}
        # One decision more than is needed was undone.
        fields |= {"superseded": number >= decided, "submit_key": f"{item.id}-{number}"}
        session.add(tables.Decision(item_id=item.id, **fields))


def fill_table(lines):
    """A table of so many requirement lines, whose text has the word that counts a line."""
    line = {"standing": "met", "value": '"standing":'}
    return orjson.dumps({"lines": [line] * lines, "dropped": 0, "harmless": False}).decode()


def make_correction(item_id):
    words = {"detector": "rules", "reviewer": "a", "line_key": "k", "created_ms": 1}
    words |= {"line": '{"standing": "met"}'}
    return tables.LineCorrection(item_id=item_id, **words)


class Plain:
    """The rows of a run, and what a person would count in them."""

    def __init__(self, session, run):
        record, item = tables.Trajectory, tables.Item
        self.run = run
        self.records = session.exec(select(record).where(record.run_id == run.id)).all()
        self.items = session.exec(select(item).where(item.run_id == run.id)).all()
        draws = session.exec(select(tables.AuditDraw)).all()
        self.audits = {(d.trajectory_id, d.step, d.kind) for d in draws if d.number < d.probability}
        self.known = set(session.exec(select(tables.SeededItem.item_id)))
        self.decisions = [d for d in session.exec(select(tables.Decision)).all() if not d.superseded]
        self.verdicts = {one.id: one for one in session.exec(select(tables.Verdict))}
        self.corrected = set(session.exec(select(tables.LineCorrection.item_id)))
        self.left = {
            one.trial: None if one.cap is None else one.cap - one.used
            for one in session.exec(select(tables.Budget).where(tables.Budget.run_id == run.id))
        }

    def outcomes(self, trial):
        of_trial = [one.outcome for one in self.records if one.trial == trial]
        return {name: of_trial.count(name) for name in COUNTED}

    def queued(self, trial):
        found = [set() for _ in range(4)]
        for one in self.items:
            if one.trial == trial and one.id not in self.known:
                is_audit = (one.trajectory_id, one.step, one.kind) in self.audits
                logged, halted = one.reviews_required == 0, one.kind == "halted"
                whether = (not (halted or is_audit or logged), halted, is_audit and not halted, logged and not halted)
                for into, counts in zip(found, whether, strict=True):
                    into |= {one.trajectory_id} if counts else set()
        return tuple(map(len, found))

    def pending(self, trial):
        waiting = [one for one in self.items if one.trial == trial and one.open_slots > 0]
        paid = [one for one in waiting if not (self.run.halted_free and one.kind == "halted")]
        left = self.left[trial]
        return len(waiting), 0 if left is None else max(0, len(paid) - left)

    def judged(self, trial):
        by_rules = {one.trajectory_id for one in self.verdicts.values() if one.detector == "rules"}
        return sum(one.trial == trial and not one.carried_over and one.id in by_rules for one in self.records)

    def reviewed_lines(self):
        found = Counter()
        final = {one.item_id for one in self.decisions if one.decision != "escalate"} | self.corrected
        for item in self.items:
            verdict = self.verdicts.get(item.verdict_id)
            if item.id in final and verdict and verdict.requirements:
                found[verdict.detector] += len(orjson.loads(verdict.requirements)["lines"])
        return +found

    def progress(self, reviewer):
        own = {one.id for one in self.items}
        given = [one for one in self.decisions if one.item_id in own and one.reviewer == reviewer]
        final = [one for one in given if one.decision != "escalate"]
        by_day = Counter(one.decided_ms // DAY_MS for one in final)
        agreed = sum(one.decision == "approve" for one in final)
        return (len(final), agreed, len(given) - len(final)), [by_day[day] for day in range(6, 20)]

    def decided(self, trial):
        items = {one.id: one for one in self.items if one.trial == trial}
        given = [one for one in self.decisions if one.item_id in items]
        inspected = {items[one.item_id].trajectory_id for one in given if one.item_id not in self.known}
        return len([one for one in given if one.item_id not in self.known]), len(inspected)


@BOTH
@sweep("seed", SEEDS, kept=2)
def test_every_count_of_a_run_is_that_of_its_rows(url, seed):
    chance = random.Random(seed)
    with writing(url) as session:
        for name in ("before", "run", "after"):
            fill(session, name, chance)
    compare(url)


def compare(url):
    """Compare every count of the run with that of its rows."""
    with reading(url) as session:
        run = get(session, "run")
        plain, summary = Plain(session, run), status.run_summary(session, run)
        overview, trials = build_overview(session, run, 1), status.run_status(session, run)["trials"]
        names = [one.reviewer for one in measure_capacity(session, run, 1)]
        lines = {one.detector: one.reviewed for one in count_lines(session, run) if one.reviewed}
        for name in "abc":
            made = measure_progress(session, [run], name, 20 * DAY_MS - 1)
            counts = [(one.decisions, one.agreed, one.escalated) for one in made.runs] or [(0, 0, 0)]
            assert (*counts, [*made.days.values()]) == plain.progress(name)
        for name in "abc":
            assert [one.reviewer for one in measure_capacity(session, run, 1, [name])] == [name] * (name in names)
    present = sorted({one.trial for one in plain.records})
    assert [row["trial"] for row in trials] == [flow.trial for flow in overview.flows] == present
    assert lines == plain.reviewed_lines()
    assert names == sorted({d.reviewer for d in plain.decisions if d.item_id in {one.id for one in plain.items}})
    for row, flow in zip(trials, overview.flows, strict=True):
        trial = flow.trial
        assert {name: row[name] for name in COUNTED} == plain.outcomes(trial)
        assert (flow.flagged, flow.stuck, flow.audits, flow.logged) == plain.queued(trial)
        assert (row["flagged"], row.get("audits", 0)) == (flow.flagged, flow.audits)
        assert (flow.waiting, flow.beyond) == plain.pending(trial)
        assert flow.judged == plain.judged(trial)
        assert (sum(count for _, count in flow.answers), flow.inspected) == plain.decided(trial)
        own = [one for one in plain.records if one.trial == trial]
        solved = [one for one in own if one.outcome == "succeeded" and one.released_by is None]
        assert flow.solved == sum(not one.carried_over for one in solved)
        assert (flow.attempts, flow.carried_over, flow.copies) == (
            sum(not one.carried_over for one in own),
            sum(one.carried_over for one in solved),
            sum(one.carried_over and one not in solved for one in own),
        )
    waiting, beyond = (sum(plain.pending(trial)[at] for trial in present) for at in (0, 1))
    assert (summary["trials"], summary["trajectories"]) == (len(present), len(plain.records))
    assert (summary["waiting"], summary["pending"], summary["beyond_budget"]) == (waiting, waiting - beyond, beyond)


def change(session, chance):
    """Change rows of any run in one of many ways, as an import, a review, a deletion or another program does."""
    records = session.exec(select(tables.Trajectory)).all()
    items = session.exec(select(tables.Item)).all()
    record, item = chance.choice(records), chance.choice(items)
    seeds = {one.item_id: one for one in session.exec(select(tables.SeededItem))}
    decisions = session.exec(select(tables.Decision).where(tables.Decision.item_id == item.id)).all()
    kind = chance.randrange(12)
    if kind == 0:
        record.outcome, record.released_by = chance.choice(COUNTED), chance.choice((None, "released"))
        record.carried_over = chance.random() < 0.5
    elif kind == 1:
        item.kind = chance.choice(("action", "end", "halted", "other"))
    elif kind == 2 and item.reviews_required:
        # Another review is required, or one is withdrawn.
        item.reviews_required, item.open_slots = item.reviews_required + 1, item.open_slots + 1
    elif kind == 3:
        for one in decisions[:1]:
            one.superseded = not one.superseded
    elif kind == 4 and item.id not in seeds and item.trajectory_id not in {one.trajectory_id for one in seeds.values()}:
        source = {"source_id": item.trajectory_id, "expected": "aligned", "reviewers": "[]", "created_ms": 1}
        session.add(tables.SeededItem(item_id=item.id, trajectory_id=item.trajectory_id, **source))
    elif kind == 5:
        session.execute(delete(tables.SeededItem).where(tables.SeededItem.item_id == item.id))
    elif kind == 6:
        draws = session.exec(select(tables.AuditDraw).where(tables.AuditDraw.trajectory_id == item.trajectory_id)).all()
        for one in draws:
            one.number = chance.random()
    elif kind == 7:
        for table in (tables.Decision, tables.SeededItem, tables.LineCorrection, tables.Item):
            session.execute(delete(table).where((table.id if table is tables.Item else table.item_id) == item.id))
    elif kind == 8:
        for one in session.exec(select(tables.Verdict).where(tables.Verdict.trajectory_id == record.id)):
            one.detector = {"rules": "fourth"}.get(one.detector, one.detector)
            one.requirements = chance.choice((None, fill_table(1)))
    elif kind == 9:
        session.add(make_correction(item.id))
    elif kind == 10:
        item.open_slots, item.verdict_id = min(chance.randrange(3), item.reviews_required), None
    else:
        copied = {name: getattr(record, name) for name in tables.Trajectory.model_fields if name != "id"}
        made = tables.Trajectory(**copied | {"id": chance.randrange(2**30), "digest": f"{chance.random()}"})
        session.add(made)
        session.flush()
        add_item(session, made, 0, chance, audited=chance.random() < 0.5, known=False)


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_the_counts_stay_those_of_the_rows_through_any_history(url, seed):
    chance = random.Random(seed)
    with writing(url) as session:
        for name in ("before", "run", "after"):
            fill(session, name, chance)
    for _ in range(10):
        with suppress(Undone), writing(url) as session:
            for _ in range(chance.randrange(1, 6)):
                change(session, chance)
            if chance.random() < 0.2:
                raise Undone
        if chance.random() < 0.4:
            run_counts.fold(url, least=1)
        compare(url)
    run_counts.fold(url, least=1)
    with reading(url) as session:
        assert session.execute(text("SELECT count(*) FROM run_count_changed")).scalar_one() == 0
    assert [one for one in check(url) if "counts" in one] == []
    compare(url)


class Undone(Exception):
    """Rolls a transaction back."""


@BOTH
def test_a_stored_count_that_differs_from_its_rows_is_a_problem_until_it_is_stored_again(url):
    with writing(url) as session:
        fill(session, "run", random.Random(1))
    run_counts.fold(url, least=1)
    with writing(url) as session:
        session.execute(text("UPDATE run_count SET n = n + 1 WHERE name = 'tasks'"))
    assert [one for one in check(url) if "counts" in one] == [
        "The stored counts of run run differ from its rows (task, from 0). Run `inferact db upgrade --recount`."
    ]
    with writing(url) as session:
        run_counts.start_again(session.connection())
    assert [one for one in check(url) if "counts" in one] == []
    compare(url)


@postgres.NEEDED
def test_a_server_starts_no_workers_to_read_the_counts():
    statements = []
    with postgres.database() as url, engine(url).connect() as connection:
        with writing(url) as session:
            fill(session, "run", random.Random(3))
            columns = ", ".join(name for name in tables.Trajectory.model_fields if name not in ("id", "digest"))
            session.execute(
                text(
                    f"INSERT INTO trajectory (id, {columns}, digest) SELECT 50000 + n, {columns}, 'more' || n "
                    "FROM (SELECT * FROM trajectory LIMIT 1) AS one CROSS JOIN generate_series(1, 20000) AS n"
                )
            )
        run_counts.fold(url, least=1)
        connection.exec_driver_sql("ANALYZE")
        # At the usual cost, workers would not read so few rows.
        for cost in ("parallel_setup_cost", "parallel_tuple_cost"):
            connection.exec_driver_sql(f"SET {cost} = 0")
        event.listen(connection, "before_cursor_execute", lambda *told: statements.append(told[2:4]))
        run_counts.read(connection, 1, "trajectory")
        ((statement, values),) = statements
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
    assert "trajectory_pkey" in plan
    assert "Gather" not in plan


@BOTH
def test_counts_are_read_while_another_process_writes(url):
    with writing(url) as session:
        fill(session, "run", random.Random(2))
        session.flush()
    with writing(url) as writer:
        # Not yet committed, so it neither counts nor keeps anyone waiting.
        writer.execute(text("UPDATE trajectory SET outcome = 'error'"))
        writer.flush()
        run_counts.fold(url, least=1)
        compare(url)
    compare(url)
    with reading(url) as session:
        (row, *_) = status.run_status(session, get(session, "run"))["trials"]
        assert row["error"] == row["tasks"] > 0
    run_counts.fold(url, least=1)
    compare(url)
