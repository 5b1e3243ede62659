"""The agent's tasks in the gateway: the user's request, if the client sends the request, and the calls so far.

The journal keeps the calls of named tasks on disk for the gateway's next start. A call that began and has no result is
kept as a step, so that the next reviewer sees that it may have run. A result that the console did not receive is
reported again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_KEEP_S = 7 * 86_400
UNKNOWN_RESULT = "The gateway ended while this call ran, so its result is unknown. The call may have run."


class Journal:
    """The journal files of one folder: this process writes one file and reads the entries of the last week from all."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._file = folder, -1
        self._known = list(_read(folder))

    def steps(self, task_id: str) -> list[dict[str, Any]]:
        """Return the calls of a task that earlier processes began, in order."""
        results = self._results()
        return [
            {
                "thought": "",
                "action": {"name": entry["name"], "arguments": entry["arguments"]},
                "observation": results.get(entry["check_id"], UNKNOWN_RESULT),
            }
            for entry in self._known
            if entry["event"] == "begun" and entry["task"] == task_id
        ]

    def unreported(self) -> dict[str, str]:
        """Return the results that the console did not receive, by the check's id."""
        reported = {entry["check_id"] for entry in self._known if entry["event"] == "reported"}
        return {check_id: text for check_id, text in self._results().items() if check_id not in reported}

    def write(self, event: str, check_id: str | None, **more: Any) -> None:
        """Write an entry: `begun` with task, name and arguments, `result` with text, or `reported`."""
        if self._file < 0:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(
                self._folder / f"{uuid.uuid4().hex}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600
            )
        line = json.dumps({"event": event, "check_id": check_id, "at": time.time(), **more}, default=str)
        os.write(self._file, f"{line}\n".encode())

    def close(self) -> None:
        """Close the file of this process."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1

    def _results(self) -> dict[str, str]:
        return {entry["check_id"]: str(entry["text"]) for entry in self._known if entry["event"] == "result"}


def _read(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of all files by time, and remove files that are older than a week."""
    entries = list[Mapping[str, Any]]()
    for path in folder.glob("*.jsonl"):
        if time.time() - path.stat().st_mtime > _KEEP_S:
            path.unlink(missing_ok=True)
            continue
        for line in path.read_text("utf-8").splitlines():
            try:
                entries.append(json.loads(line))
            except ValueError:
                # The process ended while it wrote its last line.
                continue
    yield from sorted(entries, key=lambda entry: float(entry["at"]))


UNKNOWN_TASK = "(The MCP client did not report the user's request.)"
META = "inferact/task"
_MOST_TASKS = 1_000


@dataclass
class AgentTask:
    """One task: its text, its id, whether the client named it, and the calls that have run."""

    text: str
    id: str
    is_named: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, arguments: Mapping[str, Any], observation: str) -> None:
        """Add a step."""
        action = {"name": name, "arguments": dict(arguments)}
        # A new list, because a check that is being submitted holds the steps of its moment.
        self.steps = [*self.steps, {"thought": "", "action": action, "observation": observation}]


class AgentTasks:
    """The latest tasks of all clients of one gateway; a named task includes the steps of earlier processes."""

    def __init__(self, journal: Journal) -> None:
        self._process, self._tasks, self._journal = uuid.uuid4().hex, OrderedDict[str, AgentTask](), journal

    def find(self, meta: Mapping[str, Any] | None, session: str) -> AgentTask:
        """Return the task of a request: the task in `_meta` (a text or {"id", "text"}), else the session's task."""
        told = (meta or {}).get(META)
        text = told.get("text") if isinstance(told, Mapping) else told
        text = text.strip() if isinstance(text, str) else ""
        stated = told.get("id") if isinstance(told, Mapping) else None
        is_named = stated is not None or bool(text)
        if stated is None:
            stated = hashlib.sha256(text.encode()).hexdigest()[:32] if text else f"{self._process} {session}".strip()
        key = f"mcp {stated}"
        if key not in self._tasks:
            self._tasks[key] = AgentTask(text or UNKNOWN_TASK, key, is_named, self._journal.steps(key))
        task = self._tasks[key]
        self._tasks.move_to_end(key)
        while len(self._tasks) > _MOST_TASKS:
            self._tasks.popitem(last=False)
        return task
