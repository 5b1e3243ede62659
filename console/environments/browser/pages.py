"""A folder of web pages with tasks: `tasks.yaml` beside HTML files, which the world serves to its own browser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from console.environments.environment import TaskSpec
from console.errors import BadInput, UnreadableFile
from console.trajectory.strict_yaml import read_yaml

TASKS = "tasks.yaml"
FOLDER, START, CRITICAL = "folder", "start", "critical"
"""The options of a task: its folder, its first page, and the patterns of the buttons that may send data."""


@dataclass(frozen=True, slots=True)
class PageGoal:
    """The conditions of success; an empty condition always holds.

    `sent` is the address of a form that was sent with these `fields`. `url` is the address of the last page, and `text`
    a text on this page. `answer` is compared without case.
    """

    sent: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    text: str = ""
    answer: str = ""


@dataclass(frozen=True, slots=True)
class PageTask:
    """A task: an instruction, the first page, and the conditions of success."""

    id: str
    instruction: str
    success: PageGoal
    start: str = "index.html"


@dataclass(frozen=True, slots=True)
class PageTasks:
    """The content of `tasks.yaml`; `critical` names buttons beside those that send a form."""

    tasks: Sequence[PageTask]
    critical: Sequence[str] = ()


def read_page_tasks(folder: str) -> PageTasks:
    """Return the tasks of a folder; raise UnreadableFile if its tasks.yaml is missing or invalid."""
    path = Path(folder).expanduser().absolute() / TASKS
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as missing:
        raise UnreadableFile(str(path), "a folder of pages needs this file. Write the file") from missing
    return read_yaml(text, PageTasks, str(path))


def list_page_tasks(folder: str, seed: int, count: int) -> list[TaskSpec]:
    """Return the first tasks of a folder; raise BadInput if the folder has too few."""
    found = read_page_tasks(folder)
    if count > len(found.tasks):
        raise BadInput(f"{folder} has {len(found.tasks)} tasks. Use --tasks {len(found.tasks)} or fewer.")
    where = {FOLDER: str(Path(folder).expanduser().absolute()), CRITICAL: list(found.critical)}
    return [
        TaskSpec(one.id, "browser", one.instruction, {"success": asdict(one.success)}, {**where, START: one.start})
        for one in found.tasks[:count]
    ]


def is_reached(goal: Mapping[str, Any], seen: Mapping[str, Any], sent: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    """Return whether a task's conditions hold; `seen` has the last page's url and text, and the answer."""
    wanted = [goal["url"] in ("", seen["url"]), _squeeze(goal["text"]) in _squeeze(seen["text"])]
    wanted.append(not goal["answer"] or _squeeze(goal["answer"]).lower() == _squeeze(seen["answer"]).lower())
    fields = goal["fields"].items()
    wanted.append(not goal["sent"] or any(to == goal["sent"] and fields <= form.items() for to, form in sent))
    return all(wanted)


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
