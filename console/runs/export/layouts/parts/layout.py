"""The definition of a layout, the reviewed trajectories that it contains, their conversations, and writers of JSON.

This module omits blind and private data before a layout gets the records: gold labels, outcomes, reviewers' names and
simulated reviewers' decisions. ASKED_FOR lists the options that include these data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, BinaryIO

import orjson
from sqlmodel import Session, col, func, select

from console.runs import is_current, run_checkpoints
from console.runs.export.query import Open
from console.trajectory import Outcome, Step, Trajectory, from_json
from console.trajectory.calls import Call, read_action
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.trajectory.messages import EARLIER_ACTS, FIRST_WORDS, POLICY, split_opening
from storage import tables
from storage.tables import DecisionKind

ASKED_FOR = {
    "gold": "gold labels and outcomes",
    "names": "the names of reviewers",
    "answers": "decisions of reviewers, in files for annotation tools",
    "simulated": "decisions of simulated reviewers",
    "ids": "ids, trials and outcomes beside fine-tuning messages, so that they can be imported again",
}
"""Options by name for data that a layout contains only on request."""

_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A reviewer's current decision on one checkpoint; times are in ms since 1970."""

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
    """One trajectory and the current decisions on its checkpoints."""

    id: int
    record: Trajectory
    created_ms: int
    answers: tuple[GivenAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecords:
    """The records of one run, read in pages, and the requested options."""

    opened: Open
    run: tables.Run
    asked_for: frozenset[str] = frozenset()
    licence: str = "unknown"
    left_out: Counter[str] = field(default_factory=Counter)
    """Counts by name of the parts that the file cannot hold, over all trajectories read so far."""

    def reviewed(self) -> Iterator[Reviewed]:
        """Yield the run's trajectories in order of their ids."""
        record = tables.Trajectory
        with self.opened() as session:
            names = self._names(session)
            ids = session.exec(select(record.id).where(record.run_id == self.run.id).order_by(col(record.id))).all()
        for start in range(0, len(ids), _AT_ONCE):
            with self.opened() as session:
                page = list(self._page(session, ids[start : start + _AT_ONCE], names))
            yield from page

    def stops(self, one: Reviewed) -> Iterator[tuple[Checkpoint, list[GivenAnswer]]]:
        """Yield each checkpoint of the trajectory with its decisions."""
        for stop in run_checkpoints(self.run, one.record):
            yield stop, [given for given in one.answers if (given.step, given.kind) == (stop.index, stop.kind)]

    def place(self, one: Reviewed, stop: Checkpoint) -> dict[str, Any]:
        """Return the position of the checkpoint, as shown beside a task in annotation tools."""
        trial = {"task_id": one.record.task_id, "trial": one.record.trial}
        return trial | {"step": stop.index + 1, "run": self.run.name}

    def next_trial(self, trajectory_id: int) -> Trajectory | None:
        """Return the next trial of the task, or None if it is missing or a reviewer rejected its critical action."""
        row, other, item, answer = tables.Trajectory, tables.Trajectory, tables.Item, tables.Decision
        refused = (
            select(item.trajectory_id)
            .join(answer, col(answer.item_id) == item.id)
            .where(answer.decision != DecisionKind.APPROVE, is_current(answer))
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
            whole = from_json(text)
            self.left_out.update(_unwritten(whole))
            record = replace(whole, source={}, extra={}, memory=(), outcome=Outcome(found.outcome))
            if "gold" not in self.asked_for:
                record = replace(record, gold={}, outcome=Outcome.FINISHED)
            yield Reviewed(key, record, found.created_ms, tuple(answers.get(key, ())))

    def _answers(
        self, session: Session, ids: Sequence[int | None], names: Mapping[str, str]
    ) -> dict[int, list[GivenAnswer]]:
        item, answer = tables.Item, tables.Decision
        statement = (
            select(item, answer)
            .join(answer, col(answer.item_id) == item.id)
            .where(col(item.trajectory_id).in_(ids), is_current(answer))
            .order_by(col(answer.id))
        )
        if "simulated" not in self.asked_for:
            statement = statement.where(answer.annotator_kind == "human")
        found: dict[int, list[GivenAnswer]] = {}
        for asked, given in session.exec(statement):
            answered = GivenAnswer(
                step=asked.step,
                kind=CheckpointKind(asked.kind),
                reviewer=names[given.reviewer],
                decision=given.decision,
                label=given.label,
                words=given.feedback_text,
                edited_action=given.edited_action,
                at_ms=given.decided_ms,
            )
            found.setdefault(asked.trajectory_id, []).append(answered)
        return found

    def _names(self, session: Session) -> dict[str, str]:
        """Return the exported name by reviewer: the real name on request, else `reviewer N` in order of decisions."""
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


def _unwritten(record: Trajectory) -> dict[str, int]:
    """Return the counts by name of a trajectory's parts that no layout can hold."""
    pictures = len(record.pictures) + sum(len(step.pictures) for step in record.steps)
    told = {"picture": pictures, "memory": len(record.memory), "further field": len(record.extra)}
    told["further field"] += sum(len(step.extra) for step in record.steps)
    return {noun: count for noun, count in told.items() if count}


@dataclass(frozen=True, slots=True)
class Layout:
    """A file format of another tool: its title, its suffix, and the function that writes it.

    `write` writes a run's records to the stream and returns the number of units. `takes` lists the names in ASKED_FOR
    that change the file. `needs` is the external library for writing, or None.
    """

    title: str
    unit: str
    suffix: str
    media_type: str
    write: Callable[[RunRecords, BinaryIO], int]
    takes: tuple[str, ...] = ()
    needs: str | None = None


def each_trajectory(
    rows: Callable[[RunRecords, Reviewed], Iterable[Any]], write: Callable[[Iterable[Any], BinaryIO], int]
) -> Callable[[RunRecords, BinaryIO], int]:
    """Return a function that writes the rows of every reviewed trajectory and returns the number of written rows."""
    return lambda source, stream: write((row for one in source.reviewed() for row in rows(source, one)), stream)


def write_lines(documents: Iterable[Any], stream: BinaryIO) -> int:
    """Write one JSON document per line; return the number of documents."""
    number = 0
    for document in documents:
        stream.write(orjson.dumps(document) + b"\n")
        number += 1
    return number


def write_list(documents: Iterable[Any], stream: BinaryIO) -> int:
    """Write one JSON list, one element per line, without keeping the list in memory; return the number of elements."""
    number = 0
    stream.write(b"[")
    for document in documents:
        stream.write((b",\n" if number else b"\n") + orjson.dumps(document))
        number += 1
    stream.write(b"\n]\n")
    return number


Chat = dict[str, Any]
"""One message with its `role` and content."""


def first_messages(instruction: str, opening: str) -> list[Chat]:
    """Return the messages before the agent's first step: a system message for a policy, and the user's message."""
    policy, words = "", opening
    if opening.startswith((POLICY, EARLIER_ACTS, FIRST_WORDS)):
        policy, acts, words = split_opening(opening)
        words = "\n\n".join(filter(None, (acts and f"{EARLIER_ACTS}\n{acts}", words)))
    if instruction not in words:
        words = "\n\n".join(filter(None, (instruction, words)))
    system = [{"role": "system", "content": policy}] if policy else []
    return [*system, {"role": "user", "content": words}]


def in_words(checkpoint: Checkpoint) -> list[Chat]:
    """Return the conversation up to a checkpoint as plain user and assistant turns, the form for chat templates."""
    turns = first_messages(checkpoint.instruction, checkpoint.opening)
    for step in checkpoint.steps:
        turns.append(assistant(step.thought, step.action))
        turns.append({"role": "user", "content": step.observation})
    return _alternating(turns)


def assistant(thought: str, action: str) -> Chat:
    """Return an assistant's turn as text: the thought, then the action on its own lines."""
    return {"role": "assistant", "content": "\n\n".join(filter(None, (thought, action)))}


def spoken(call: Call) -> str | None:
    """Return the text that a call sends to the user, or None if the call does not send a text to the user."""
    if call.name != "respond" or list(call.arguments) != ["content"]:
        return None
    content = call.arguments["content"]
    return content if isinstance(content, str) else None


def calls_of(step: Step) -> list[Call]:
    """Return the calls of a step's action; turn an action without a call into one call of `act` with its text."""
    return list(read_action(step.action)) or ([Call("act", {"argument": step.action})] if step.action else [])


def number_calls(steps: Sequence[Step]) -> Iterator[tuple[Step, list[tuple[str, Call]], str | None]]:
    """Yield each step, its calls with unique ids, and its text to the user ("" without calls, None for other calls)."""
    numbers = count()
    for step in steps:
        named = [(f"call_{next(numbers)}", call) for call in calls_of(step)]
        lone = spoken(named[0][1]) if len(named) == 1 else None
        yield step, named, lone if named else ""


def functions(records: Iterable[Trajectory]) -> list[dict[str, Any]]:
    """Return the called tools as JSON schemas: from the record, else from the names and types of the arguments."""
    records = list(records)
    seen: dict[str, dict[str, Any]] = {}
    offered = {tool.name: tool for record in records for tool in record.tools}
    for record in records:
        for call in (call for step in record.steps for call in calls_of(step) if spoken(call) is None):
            kinds = {name: {"type": _KINDS.get(type(value), "string")} for name, value in call.arguments.items()}
            seen.setdefault(call.name, {}).update(kinds)
    described = {name: {"description": tool.description} for name, tool in offered.items() if tool.description}
    parameters = {name: {"type": "object", "properties": properties} for name, properties in seen.items()}
    parameters |= {
        name: dict(offered[name].parameters) for name in seen if name in offered and offered[name].parameters
    }
    return [
        {"type": "function", "function": {"name": name, **described.get(name, {}), "parameters": shape}}
        for name, shape in parameters.items()
    ]


def arguments_text(call: Call) -> str:
    """Return the arguments as JSON text."""
    return orjson.dumps(dict(call.arguments)).decode()


_KINDS = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}


def _alternating(turns: Sequence[Chat]) -> list[Chat]:
    found: list[Chat] = []
    for turn in turns:
        if not turn["content"]:
            continue
        if found and found[-1]["role"] == turn["role"]:
            found[-1] = {**turn, "content": f"{found[-1]['content']}\n\n{turn['content']}"}
        else:
            found.append(dict(turn))
    return found
