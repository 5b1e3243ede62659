"""A study written row by row: two people and an oracle, two conditions, two tasks each, three trials."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

import pytest
from sqlmodel import Session, select

from console.studies.analysis import result_tables
from console.studies.design import Design
from console.studies.results import frames
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import digest
from storage import tables
from storage.engine import close, reading, writing
from storage.migrations import migrate
from tests.at_home import at_home

NOON = 1_767_268_800_000
MINUTE = 60_000
BUY = "click[Buy Now]"
DESIGN = Design(
    name="pilot", source={"environment": "webshop"}, tasks=2, trials=3,
    conditions=[
        {"name": "rules-shown", "levels": {"score": "shown"}},
        {"name": "rules-hidden", "levels": {"score": "hidden"}},
    ],
)  # fmt: skip
LEVELS = {
    "rules-shown": {"detector": "rules", "score": "shown"},
    "rules-hidden": {"detector": "rules", "score": "hidden"},
}


@dataclass
class Writer:
    """Writes a study through one session, counting ids and the minutes of each participant."""

    session: Session
    ids: int = 100
    clock: dict[str, int] = field(default_factory=dict)

    def next_id(self) -> int:
        """A number nobody has."""
        self.ids += 1
        return self.ids

    def add(self, row):
        """The row, flushed."""
        self.session.add(row)
        self.session.flush()
        return row

    def found(self, table, **cells):
        """The first row with these cells, or None."""
        return self.session.exec(select(table).filter_by(**cells)).first()

    def run(self, name, study_id, kind="replay", trials=3):
        """A run of the study with a budget of 3 for trial 0."""
        found = self.add(
            tables.Run(
                name=name, kind=kind, environment="webshop", study_id=study_id, trials=trials, created_ms=NOON,
                detector="rules",
            )
        )  # fmt: skip
        self.add(tables.Budget(run_id=found.id, trial=0, cap=3, used=0))
        return found

    def trial(self, run, key, trial, outcome, label=None, **fields):
        """A trajectory of two steps, its task made when it comes first."""
        task = self.found(tables.Task, run_id=run.id, task_key=key) or self.add(
            tables.Task(run_id=run.id, task_key=key, environment="webshop", instruction=key, instruction_digest=key)
        )
        steps = (Step("", f"search[{key}]", "10 results"), Step("", BUY, "done"))
        record = Trajectory(key, "webshop", key, steps, trial=trial, critical_action=BUY, outcome=Outcome(outcome))
        row = self.add(
            tables.Trajectory(
                run_id=run.id, task_id=task.id, trial=trial, environment="webshop", outcome=outcome, label=label,
                recorded_outcome=fields.pop("recorded", outcome), critical_action=BUY, n_steps=2, n_critical=1,
                digest=f"{run.id}-{key}-{trial}", created_ms=NOON, **fields,
            )
        )  # fmt: skip
        self.add(tables.TrajectoryBody(trajectory_id=row.id, body=record.to_json()))
        return row

    def item(self, record, score=None):
        """An item at the trajectory's purchase, flagged above 0.5 where there is a score."""
        verdict = score is not None and self.add(
            tables.Verdict(
                run_id=record.run_id, trajectory_id=record.id, step=1, kind="action", detector="rules", score=score,
                threshold=0.5, flagged=score > 0.5, created_ms=NOON,
            )
        )  # fmt: skip
        return self.add(
            tables.Item(
                run_id=record.run_id, trial=record.trial, trajectory_id=record.id, step=1, kind="action",
                priority=score or 0.0, verdict_id=verdict.id if verdict else None, created_ms=NOON,
            )
        )  # fmt: skip

    def decide(self, item, reviewer, label, words="", seconds=30, kind="human", **fields):
        """The reviewer's answer, one minute after their last one; spent, settled and decided."""
        at = self.clock[reviewer] = self.clock.get(reviewer, NOON) + MINUTE
        budget = self.found(tables.Budget, run_id=item.run_id, trial=0)
        budget.used += 1
        slot = self.add(
            tables.Slot(
                item_id=item.id, budget_id=budget.id, reviewer=reviewer, status="decided", token="t",
                claimed_ms=at - 1_000 * seconds, lease_until_ms=at,
            )
        )  # fmt: skip
        for entry, units, when in (("spend", 1, at - 1_000 * seconds), ("settle", 0, at)):
            self.add(
                tables.LedgerEntry(
                    budget_id=budget.id, item_id=item.id, slot_id=slot.id, reviewer=reviewer, entry=entry,
                    reason="claim" if units else "decide", units=units, at_ms=when,
                )
            )  # fmt: skip
        return self.add(
            tables.Decision(
                item_id=item.id, slot_id=slot.id, reviewer=reviewer, annotator_kind=kind,
                decision="approve" if label == "aligned" else "reject", label=label,
                feedback_type="nl" if words else "binary", feedback_text=words, action_digest=digest(BUY),
                submit_key=f"key-{self.next_id()}", budget_used=budget.used, claimed_ms=at - 1_000 * seconds,
                decided_ms=at, deliverable_ms=at, **fields,
            )
        )  # fmt: skip


def person(writer, study, number, kind="human", stage="finished"):
    """A participant who has joined."""
    return writer.add(
        tables.Participant(
            study_id=study.id, number=number, code=f"P{number:02d}", kind=kind, stage=stage, secret=f"secret-{number}",
            answers=json.dumps({"years": number}), joined_ms=NOON, finished_ms=NOON + 9 * MINUTE,
            completion_code=f"code-{number}",
        )
    )  # fmt: skip


def arm(writer, study, who, position, condition, tasks, status="done", kind="replay"):
    """An assignment with its run."""
    run = writer.run(f"{study.name}-{who.code}-{condition}", study.id, kind)
    return run, writer.add(
        tables.Assignment(
            study_id=study.id, participant_id=who.id, position=position, condition=condition,
            levels=json.dumps(LEVELS[condition]), tasks=json.dumps(tasks), run_id=run.id, status=status,
        )
    )  # fmt: skip


def fill(session) -> int:
    """The whole study; returns its id."""
    writer = Writer(session)
    study = writer.add(tables.Study(name="pilot", design=DESIGN.model_dump_json(), join_code="join", created_ms=NOON))
    blocks = {"rules-shown": ["kettle", "lamp"], "rules-hidden": ["sofa", "desk"]}
    for number, kind in ((1, "human"), (2, "human"), (3, "oracle")):
        who = person(writer, study, number, kind)
        for position, (condition, keys) in enumerate(blocks.items(), 1):
            run, place = arm(writer, study, who, position, condition, keys)
            _trials(writer, run, who, keys)
            _checks(writer, study, who, place, condition)
        _practice(writer, study, who)
    free = tables.Participant(study_id=study.id, number=4, code="P04")
    writer.add(free)
    return study.id


def third_condition(session):
    """Gives study 1 a design, and P02 a third condition in the place of the hidden one: nobody did both of these."""
    named = [{"name": name} for name in ("rules-shown", "rules-hidden", "rules-third")]
    source = {"actor": "scripted", "environment": "webshop"}
    design = Design(name="pilot", source=source, tasks=2, budget="3", conditions=named)
    session.get_one(tables.Study, 1).design = design.model_dump_json()
    for place in session.exec(select(tables.Assignment)):
        if session.get_one(tables.Participant, place.participant_id).code == "P02" and place.position == 2:
            place.condition = "rules-third"
            session.add(place)


def _trials(writer, run, who, keys):
    """First task: wrong, rejected with words (P02 approves), right in trial 1. Second: right in trial 0, flagged."""
    simulated = "human" if who.kind == "human" else "rule"
    wrong = writer.trial(run, keys[0], 0, "failed" if who.code == "P02" else "rejected", "misaligned")
    label = "aligned" if who.code == "P02" else "misaligned"
    words = "" if who.code == "P02" else "=take the red one"
    writer.decide(writer.item(wrong, 0.9), who.code, label, words, kind=simulated, delivered_ms=NOON)
    if who.code != "P02":
        writer.trial(run, keys[0], 1, "succeeded", "aligned")
        writer.trial(run, keys[0], 2, "succeeded", "aligned", carried_over=True)
    right = writer.trial(run, keys[1], 0, "paused", "aligned", recorded="succeeded")
    writer.item(right, 0.6)


def _checks(writer, study, who, place, condition):
    run = writer.run(f"checks-{who.code}-{condition}", study.id, "archive")
    place.checks_run_id = run.id
    item = writer.item(writer.trial(run, f"known-{condition}", 0, "failed", "misaligned"), 0.2)
    writer.add(
        tables.Probe(
            study_id=study.id, participant_id=who.id, assignment_id=place.id, item_id=item.id, purpose="known-bad",
            expected="misaligned", after=1,
        )
    )  # fmt: skip
    label = "aligned" if condition == "rules-shown" and who.code == "P01" else "misaligned"
    writer.decide(item, who.code, label, seconds=5, kind="human" if who.kind == "human" else "rule")


def _practice(writer, study, who):
    run = writer.run(f"practice-{who.code}", study.id, "archive")
    who.practice_run_id = run.id
    item = writer.item(writer.trial(run, "practice", 0, "succeeded", "aligned"))
    writer.add(
        tables.Probe(
            study_id=study.id, participant_id=who.id, item_id=item.id, purpose="practice", expected="aligned",
            explanation="It is what was asked for.",
        )
    )  # fmt: skip
    writer.decide(item, who.code, "aligned", kind="human" if who.kind == "human" else "rule")


@pytest.fixture(scope="session")
def study_file(tmp_path_factory):
    """The file of a database with the study in it, number 1, for copying."""
    folder = tmp_path_factory.mktemp("study")
    made = f"sqlite:///{folder / 'console.db'}"
    with at_home(folder):
        migrate(made)
        with writing(made) as session:
            assert fill(session) == 1
        close(made)
    return folder / "console.db"


@pytest.fixture
def url(study_file, tmp_path):
    """The URL of a database with the study in it, number 1."""
    # Copied by SQLite, not as a file: rows that another connection keeps in the log come along.
    with closing(sqlite3.connect(study_file)) as made, closing(sqlite3.connect(tmp_path / "console.db")) as copy:
        made.backup(copy)
    return f"sqlite:///{tmp_path / 'console.db'}"


@pytest.fixture
def read(url):
    """Calls a function with a session that reads the study, and the further arguments."""

    def call(function, *arguments, **named):
        with reading(url) as session:
            return function(session, *arguments, **named)

    return call


@pytest.fixture(scope="session")
def read_tables(study_file):
    """Every tidy table of the study, read once."""
    with at_home(study_file.parent), reading(f"sqlite:///{study_file}") as session:
        return frames(session, 1)


@pytest.fixture(name="tables")
def every_table(read_tables):
    """Every tidy table of the study, to do with as one likes."""
    return {name: frame.copy() for name, frame in read_tables.items()}


@pytest.fixture(scope="session")
def found(read_tables):
    """Every table that the analyses make of them, to be read only."""
    return result_tables({name: frame.copy() for name, frame in read_tables.items()})
