"""The journal of calls that the gateway has run for named tasks, on disk for the next start of the gateway.

A call that began and has no result is kept as a step, so that the next reviewer sees that it may have run. A result
that the console did not receive is reported again.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
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
