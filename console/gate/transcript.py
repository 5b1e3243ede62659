"""The steps of a coding agent's transcript, which the agent's hook sends with a check."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory

from console.errors import ConsoleError, UnreadableFile
from console.gate.request import ActionLike, action_text
from console.runs.importers import IMPORTERS, read_log
from console.runs.importers.records import Found
from console.trajectory import Step


def read_steps(format: str, text: str, action: ActionLike) -> list[Step]:
    """Return the steps of the last request in a transcript, without the pending calls at its end.

    An unreadable transcript becomes one step with the reason and the transcript's digest. Because of the digest, two
    equal calls are two checks if the transcript has grown between them.
    """
    try:
        steps = _read(format, text)
    except (ConsoleError, ValueError) as unreadable:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        why = unreadable.reason if isinstance(unreadable, UnreadableFile) else unreadable
        return [Step("", "", f"The earlier steps are unknown: the transcript {digest} could not be read. {why}")]
    while steps and not steps[-1].observation and _is_call(steps[-1], action):
        steps.pop()
    return steps


def _read(format: str, text: str) -> list[Step]:
    if format not in (*IMPORTERS, "auto"):
        raise ValueError(f"The console has no importer named {format!r}. Use auto or one of {', '.join(IMPORTERS)}.")
    with TemporaryDirectory(prefix="inferact-") as folder:
        path = Path(folder) / "transcript.jsonl"
        path.write_text(text, "utf-8", "replace")
        _, entries = read_log(path, format)
        found = [entry.trajectory for entry in entries if isinstance(entry, Found)]
    if not found:
        raise ValueError("The transcript has no request of the user. Send the transcript from its first message.")
    return [Step(step.thought, step.action, step.observation) for step in found[-1].steps]


def _is_call(step: Step, action: ActionLike) -> bool:
    """Return whether the step is a call: the action itself, or another pending call of the same message."""
    return step.action == action_text(action) or not step.action.startswith("respond(")
