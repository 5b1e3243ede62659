"""ToolBench answers: a tree of thoughts, actions and inputs; every branch that ran is part of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import (
    AGENT,
    SYSTEM,
    TOOL,
    USER,
    LoggedCall,
    Turn,
    entry_of,
    joined_thoughts,
)
from console.runs.importers.parts.intake import Intake, plain_list, plain_object, word
from console.runs.importers.parts.json_records import objects
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome, Trajectory

_NAME = "toolbench"
_MARKS = ((".answer_generation", ".tree"), (".tree.tree.node_type",), (".answer_generation.train_messages",))
_THOUGHT, _ACTION, _INPUT = "Thought", "Action", "Action Input"


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the run of each record, named after its file; raise UnreadableFile if a record has no tree."""
    for order, record in enumerate(objects(path, progress, *_MARKS)):
        intake = Intake(path, record.line)
        answer = plain_object(record.value.get("answer_generation"))
        roots = _roots(record.value, answer)
        if not roots:
            raise intake.refusal('The record has neither a "tree" nor a "chain" of actions. Export the log again.')
        turns = [*_opening(answer), *(turn for root in roots for turn in _turns(root, "", intake))]
        turns = [replace(turn, number=number) for number, turn in enumerate(joined_thoughts(turns), 1)]
        won = record.value.get("win")
        trajectory = Trajectory(
            task_id=f"{path.stem}-{order}" if order else path.stem,
            environment="generic",
            instruction=word(answer.get("query")),
            outcome=Outcome.HALTED if won is False else Outcome.FINISHED,
            source={"file": path.name, "line": record.line, "format": _NAME},
            extra={name: answer[name] for name in ("final_answer",) if answer.get(name)} | record.notes,
        )
        yield entry_of(intake, turns, trajectory)


def _roots(record: Mapping[str, Any], answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    tree = plain_object(record.get("tree"))
    root = plain_object(tree.get("tree")) or tree
    if "children" in root:
        return [root]
    nested: list[dict[str, Any]] = []
    for node in reversed(plain_list(answer.get("chain"))):
        nested = [{**plain_object(node), "children": nested}]
    return nested if "node_type" in plain_object(next(iter(nested), None)) else []


def _opening(answer: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the messages before the agent's first action, from the first training messages."""
    first = plain_list(next(iter(plain_list(answer.get("train_messages"))), None))
    for message in map(plain_object, first):
        if message.get("role") in (SYSTEM, USER) and isinstance(message.get("content"), str):
            yield Turn(message["role"], message["content"].strip())


def _turns(node: Mapping[str, Any], action: str, intake: Intake) -> Iterator[Turn]:
    """Yield the turns of a node and its descendants, in the order in which they were tried."""
    kind, told = word(node.get("node_type")), word(node.get("description"))
    if kind == _THOUGHT and told:
        yield Turn(AGENT, thought=told)
    elif kind == _ACTION:
        action = told
        if not node.get("children"):
            # The model named a tool and got no further.
            yield from _called(action, None, node, intake)
    elif kind == _INPUT and (told or action):
        yield from _called(action, told, node, intake)
    elif kind not in (_THOUGHT, _INPUT):
        intake.leave_out(f"node of type {kind or 'none'}")
    for child in plain_list(node.get("children")):
        yield from _turns(plain_object(child), action, intake)


def _called(action: str, given: str | None, node: Mapping[str, Any], intake: Intake) -> Iterator[Turn]:
    if not action.strip():
        raise intake.refusal("A node has an input but no action above it. Export the log again.")
    yield Turn(AGENT, calls=(LoggedCall(action.strip(), given),))
    if isinstance(node.get("observation"), str):
        yield Turn(TOOL, node["observation"])


IMPORTER = Importer(_NAME, "ToolBench answers", read, _MARKS)
