"""Reviewed trajectories: what the layouts of others are filled with, each with the answers that it got.

What is blind or private is left out here, before any layout sees it: gold labels and outcomes, the names of reviewers,
the answers of simulated ones. Each is asked for by its name in ASKED_FOR.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmodel import Session, col, func, select

from console.runs import run_checkpoints
from console.runs.export.query import Open
from console.trajectory import Outcome, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from storage import tables
from storage.tables import DecisionKind

ASKED_FOR = {
    "gold": "gold labels and outcomes",
    "names": "the names of reviewers",
    "answers": "what reviewers answered, in files for annotation tools",
    "simulated": "answers of simulated reviewers",
    "ids": "ids, trials and outcomes beside fine-tuning messages, which makes them read back",
}
"""What stays out of the layouts of others unless somebody asks for it."""

_AT_ONCE = 50
_BACKSTAGE: Mapping[str, Any] = {"gold": {}, "source": {}, "extra": {}, "memory": ()}


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A reviewer's current answer to one checkpoint; times in ms since 1970."""

    step: int
    kind: CheckpointKind
    reviewer: str
    decision: str
    label: str | None
    words: str
    edited_action: str | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One trajectory and the current answers to its checkpoints."""

    id: int
    record: Trajectory
    created_ms: int
    answers: tuple[GivenAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecords:
    """The records of one run, a page at a time, with what was asked for beside them."""

    opened: Open
    run: tables.Run
    asked_for: frozenset[str] = frozenset()
    licence: str = "unknown"

    def reviewed(self) -> Iterator[Reviewed]:
        """The run's trajectories in order of their ids."""
        record = tables.Trajectory
        with self.opened() as session:
            names = self._names(session)
            ids = session.exec(select(record.id).where(record.run_id == self.run.id).order_by(col(record.id))).all()
        for start in range(0, len(ids), _AT_ONCE):
            with self.opened() as session:
                page = list(self._page(session, ids[start : start + _AT_ONCE], names))
            yield from page

    def stops(self, one: Reviewed) -> Iterator[tuple[Checkpoint, list[GivenAnswer]]]:
        """Each checkpoint of the trajectory, with the answers to it."""
        for stop in run_checkpoints(self.run, one.record):
            yield stop, [given for given in one.answers if (given.step, given.kind) == (stop.index, stop.kind)]

    def place(self, one: Reviewed, stop: Checkpoint) -> dict[str, Any]:
        """Where the checkpoint stands, as tools for annotation show it beside a task."""
        trial = {"task_id": one.record.task_id, "trial": one.record.trial}
        return trial | {"step": stop.index + 1, "run": self.run.name}

    def next_trial(self, trajectory_id: int) -> Trajectory | None:
        """The same task's next trial, unless its critical action was rejected, edited or answered with words too."""
        row, other, item, answer = tables.Trajectory, tables.Trajectory, tables.Item, tables.Decision
        refused = (
            select(item.trajectory_id)
            .join(answer, col(answer.item_id) == item.id)
            .where(answer.decision != DecisionKind.APPROVE, col(answer.superseded).is_(False))
        )
        with self.opened() as session:
            here = session.get_one(row, trajectory_id)
            statement = (
                select(tables.TrajectoryBody.body)
                .join(other, col(other.id) == tables.TrajectoryBody.trajectory_id)
                .where(other.task_id == here.task_id, other.trial == here.trial + 1, col(other.id).not_in(refused))
                .order_by(col(other.id).desc())
            )
            body = session.exec(statement).first()
        return from_json(body) if body else None

    def _page(self, session: Session, ids: Sequence[int | None], names: Mapping[str, str]) -> Iterator[Reviewed]:
        row, body = tables.Trajectory, tables.TrajectoryBody
        answers = self._answers(session, ids, names)
        statement = select(row, body.body).join(body, col(body.trajectory_id) == row.id).where(col(row.id).in_(ids))
        for found, text in session.exec(statement.order_by(col(row.id))):
            key = found.id or 0
            record = replace(from_json(text), outcome=Outcome(found.outcome))
            yield Reviewed(key, self._shown(record), found.created_ms, tuple(answers.get(key, ())))

    def _shown(self, record: Trajectory) -> Trajectory:
        if "gold" in self.asked_for:
            return replace(record, source={}, extra={}, memory=())
        return replace(record, **_BACKSTAGE, outcome=Outcome.FINISHED)

    def _answers(
        self, session: Session, ids: Sequence[int | None], names: Mapping[str, str]
    ) -> dict[int, list[GivenAnswer]]:
        item, answer = tables.Item, tables.Decision
        statement = (
            select(item, answer)
            .join(answer, col(answer.item_id) == item.id)
            .where(col(item.trajectory_id).in_(ids), col(answer.superseded).is_(False))
            .order_by(col(answer.id))
        )
        if "simulated" not in self.asked_for:
            statement = statement.where(answer.annotator_kind == "human")
        found: dict[int, list[GivenAnswer]] = {}
        for asked, given in session.exec(statement):
            found.setdefault(asked.trajectory_id, []).append(_answer(asked, given, names[given.reviewer]))
        return found

    def _names(self, session: Session) -> dict[str, str]:
        """By reviewer the name that leaves: their own where it was asked for, else `reviewer N` in order of answers."""
        item, answer = tables.Item, tables.Decision
        statement = (
            select(answer.reviewer)
            .join(item, col(item.id) == answer.item_id)
            .where(item.run_id == self.run.id)
            .group_by(answer.reviewer)
            .order_by(func.min(answer.id))
        )
        real = session.exec(statement).all()
        return {name: name if "names" in self.asked_for else f"reviewer {n}" for n, name in enumerate(real, start=1)}


def _answer(item: tables.Item, given: tables.Decision, name: str) -> GivenAnswer:
    return GivenAnswer(
        step=item.step,
        kind=CheckpointKind(item.kind),
        reviewer=name,
        decision=given.decision,
        label=given.label,
        words=given.feedback_text,
        edited_action=given.edited_action,
        at_ms=given.decided_ms,
    )
