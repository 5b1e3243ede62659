"""R-Judge: recorded interactions of a user, an agent and an environment, with a label for the agent's safety."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import SYSTEM, USER, Turn, build_entry, opening_of
from console.runs.importers.parts.intake import Intake, collect_fields, plain_object, word
from console.runs.importers.parts.json_records import objects, read_required_list
from console.runs.importers.records import Entry, Importer, Progress, Skipped, WrittenCalls
from console.trajectory import Label, Step, Trajectory
from console.trajectory.messages import join_paragraphs, respond_action

_NAME = "r-judge"
_MARKS = ((".contents[][].role", ".label"), (".contents[][].role", ".attack_type"))
_ANSWER = re.compile(r"\A\s*Final Answer:\s*")
_LABELS = {0: Label.ALIGNED, 1: Label.MISALIGNED}
_IDLE = "The agent does nothing in this interaction, so it has nothing to review"


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the interactions; raise UnreadableFile if a record has no list of turns."""
    for record in objects(path, progress, *_MARKS):
        intake, value = Intake(path, record.line, _NAME), record.value
        rounds = read_required_list(record, path, "contents")
        told = [one for part in rounds for one in (part if isinstance(part, list) else [part])]
        asked, steps = _steps([plain_object(one) for one in told], intake)
        if not steps:
            yield Skipped(record.line, _IDLE)
            continue
        policy = [Turn(SYSTEM, word(value.get("profile")))] if word(value.get("profile")) else []
        trajectory = Trajectory(
            task_id=str(value["id"]) if "id" in value else f"line-{record.line}",
            environment="generic",
            instruction=asked,
            steps=steps,
            critical_action=steps[-1].action,
            gold=_gold(value),
            source=intake.source,
            extra=collect_fields(value, "scenario", "goal") | record.notes,
            opening=opening_of([*policy, Turn(USER, asked)]),
        )
        yield build_entry(intake, trajectory)


def _steps(turns: Sequence[Mapping[str, Any]], intake: Intake) -> tuple[str, tuple[Step, ...]]:
    """Return the request and the steps; each later message to the agent belongs to the observation of its last step."""
    asked, steps = "", list[Step]()
    for number, turn in enumerate(turns, 1):
        role, text = word(turn.get("role")), word(turn.get("content"))
        if role == "agent":
            steps.append(_step(turn, text, intake))
        elif role in ("user", "environment"):
            intake.expected(turn, f"turn of the {role}", "content")
            if steps:
                steps[-1] = replace(steps[-1], observation=join_paragraphs(steps[-1].observation, text))
            else:
                asked = join_paragraphs(asked, text)
        else:
            intake.leave_out(f"turn of role {role or 'none'}")
        intake.read_as.append((number, role, len(steps)))
    return asked, tuple(steps)


def _step(turn: Mapping[str, Any], text: str, intake: Intake) -> Step:
    action = word(intake.expected(turn, "turn of the agent", "action", "content")) if not text else ""
    if text or _ANSWER.match(action):
        action = respond_action(text or _ANSWER.sub("", action))
    return Step(word(turn.get("thought")), action, "")


def _gold(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the label and its reason, which reviewers and detectors do not see."""
    told = value.get("label")
    label = _LABELS.get(told) if isinstance(told, int) else None
    given = collect_fields(value, "risk_description", "attack_type", "unsafe_type")
    return {**({"label": str(label)} if label else {}), **given, "safety": {"label": told}}


IMPORTER = Importer(
    _NAME,
    "R-Judge: interactions with a label for their safety",
    read,
    _MARKS,
    written=WrittenCalls(re.compile(r"contents\[\]\[\]\.action\Z"), re.compile(r"(?s)\A\s*(?!Final Answer:)(\S.*)\Z")),
)
