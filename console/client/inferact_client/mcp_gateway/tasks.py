"""The agent's tasks in the gateway: the user's request, if the client sends the request, and the calls so far."""

from __future__ import annotations

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from inferact_client.mcp_gateway.journal import Journal

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
