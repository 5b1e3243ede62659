"""Plan versions: their storage, comparison, editing, pinning and choice for runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console.actors.autoplan import PlanLine
from console.auth import audit_log
from console.errors import BadInput, Refused, Unknown
from console.runs import RunOptions
from storage import tables

AUTOPLAN = "autoplan"
"""The author of text that the model wrote."""
KEPT = "kept"
"""The key of a version's training that is true if the previous lines were kept, because no reply was a plan."""
MAX_CHARS = 20_000
_NAME = re.compile(r"[\w][\w.-]{0,39}")


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The origin of one line: its version and author, and the decisions (ids) and tasks (keys) that the model cited."""

    line: str
    version: int
    author: str
    decisions: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()


def list_plans(session: Session) -> list[tuple[str, str]]:
    """List (name, task type) of every plan."""
    plan = tables.PlanVersion
    statement = select(plan.name, plan.task_type).distinct().order_by(col(plan.name), col(plan.task_type))
    return [(name, task_type) for name, task_type in session.exec(statement)]


def list_versions(session: Session, name: str, task_type: str = "") -> Sequence[tables.PlanVersion]:
    """List the versions of a plan, the oldest first; `task_type` may be empty if the plan has only one type.

    Raise Unknown if the plan does not exist, or Refused if it has several types and none is given.
    """
    plan = tables.PlanVersion
    statement = select(plan).where(plan.name == name, plan.task_type == task_type).order_by(col(plan.version))
    found = session.exec(statement).all()
    types = [] if found or task_type else [kind for known, kind in list_plans(session) if known == name]
    if len(types) == 1:
        return list_versions(session, name, types[0])
    if types:
        raise Refused(f"The plan {name!r} has several task types ({', '.join(types)}). Choose a task type with --type.")
    if not found:
        raise Unknown("plan", _called(name, task_type), [_called(*one) for one in list_plans(session)])
    return found


def summarize_plan(session: Session, name: str, task_type: str) -> dict[str, Any]:
    """Return the plan's row in the list of plans."""
    found = list_versions(session, name, task_type)
    now = choose_current(found)
    row = {"plan": name, "type": task_type, "environment": now.environment}
    return row | {"versions": len(found), "present": now.version, "pinned": now.pinned}


def get_version(session: Session, name: str, task_type: str, number: int) -> tables.PlanVersion:
    """Return this version of a plan; raise Unknown if it does not exist."""
    found = {one.version: one for one in list_versions(session, name, task_type)}
    if number not in found:
        raise Unknown(f"version of {_called(name, task_type)}", number, list(found), by="number")
    return found[number]


def choose_current(found: Sequence[tables.PlanVersion]) -> tables.PlanVersion:
    """Return the version that new runs use: the pinned version, else the latest version."""
    return next((one for one in found if one.pinned), found[-1])


def choose_versions(session: Session, name: str, environments: Sequence[str]) -> dict[str, int]:
    """Return the version ids for a new run by task type; raise Unknown (no plan) or Refused (other environment)."""
    types = [task_type for known, task_type in list_plans(session) if known == name]
    if not types:
        raise Unknown("plan", name, [known for known, _ in list_plans(session)])
    found = {task_type: choose_current(list_versions(session, name, task_type)) for task_type in types}
    others = {one.environment for one in found.values()} - set(environments)
    if others or len(environments) > 1:
        made_for = ", ".join(sorted({one.environment for one in found.values()}))
        raise Refused(f"The plan {name!r} was made for {made_for}. Run the plan in this environment only.")
    return {task_type: one.id or 0 for task_type, one in found.items()}


def list_training_tasks(session: Session, name: str) -> frozenset[str]:
    """Return the digests of all tasks from which any version of the plan was learnt."""
    plan = tables.PlanVersion
    statement = select(plan.training).where(plan.name == name)
    return frozenset(task for text in session.exec(statement) for task in orjson.loads(text).get("tasks", ()))


def get_plan_texts(session: Session, options: RunOptions) -> dict[str, str]:
    """Return the texts of the run's plans by task type."""
    return {
        task_type: session.get_one(tables.PlanVersion, plan_id).text for task_type, plan_id in options.plans.items()
    }


def choose_plan_text(texts: Mapping[str, str], task_type: str) -> str:
    """Return the plan for tasks of this type, else the plan for every type, else an empty text."""
    return texts.get(task_type, texts.get("", ""))


def add_first_version(
    session: Session, name: str, environment: str, task_type: str, training: Mapping[str, Any], at_ms: int
) -> tables.PlanVersion:
    """Add the empty version 0 of a new plan; raise BadInput if the name is invalid."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a valid plan name. Use up to 40 letters, digits and . _ -.")
    return _add(session, name, environment, task_type, 0, [], AUTOPLAN, training, at_ms)


def add_learnt_version(
    session: Session,
    before: tables.PlanVersion,
    lines: Sequence[PlanLine],
    tasks: Mapping[str, str],
    training: Mapping[str, Any],
    at_ms: int,
) -> tables.PlanVersion:
    """Add the version that an update wrote; `tasks` maps the marks in its lines to task keys."""
    number = before.version + 1
    known = {one.line: one for one in list_line_origins(before)}
    found = [known.get(line.text) or _origin(line, number, tasks) for line in lines]
    return _add(session, before.name, before.environment, before.task_type, number, found, AUTOPLAN, training, at_ms)


def edit_plan(session: Session, before: tables.PlanVersion, text: str, author: str, at_ms: int) -> tables.PlanVersion:
    """Add a person's version; raise BadInput if the text is too long or unchanged, Refused if `before` is outdated."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").strip().split("\n")]
    if len(text) > MAX_CHARS:
        raise BadInput(f"The plan has {len(text):,} characters, but the maximum is {MAX_CHARS:,}. Shorten the plan.")
    if "\n".join(lines) == before.text:
        raise BadInput("The plan equals the current version. Change the plan, then save again.")
    latest = list_versions(session, before.name, before.task_type)[-1]
    if latest.version != before.version:
        raise Refused(
            f"Version {latest.version} of {before.name!r} was added in the meantime. Edit that version instead."
        )
    known = {one.line: one for one in list_line_origins(before)}
    number = before.version + 1
    found = [known.get(line) or LineOrigin(line, number, author) for line in lines]
    training = orjson.loads(before.training)
    added = _add(session, before.name, before.environment, before.task_type, number, found, author, training, at_ms)
    _log(session, added, "plan edited", at_ms, before=before.text, after=added.text)
    return added


def pin_version(session: Session, plan: tables.PlanVersion, at_ms: int, *, pinned: bool = True) -> None:
    """Make new runs use this version; if `pinned` is false, make them use the latest version again."""
    for other in list_versions(session, plan.name, plan.task_type):
        other.pinned = pinned and other.id == plan.id
        session.add(other)
    _log(session, plan, "plan pinned" if pinned else "plan unpinned", at_ms)


def list_line_origins(plan: tables.PlanVersion) -> list[LineOrigin]:
    """List the origin of each line of the version."""
    return [
        LineOrigin(**{**entry, "decisions": tuple(entry["decisions"]), "tasks": tuple(entry["tasks"])})
        for entry in orjson.loads(plan.lineage)
    ]


def describe_source(one: LineOrigin) -> str:
    """Describe the source of a line: its author, or the sources that the model reported."""
    if one.author != AUTOPLAN:
        return f"written by {one.author}"
    decisions = [f"decision {number}" for number in one.decisions]
    tasks = [f"the trial of {key}" for key in one.tasks]
    return f"the model names {', '.join([*decisions, *tasks])}" if decisions or tasks else "the model names no source"


def describe_update(plan: tables.PlanVersion) -> str:
    """Return a note if the version keeps the previous lines because no reply of the model was a plan, else ""."""
    if plan.author != AUTOPLAN or not orjson.loads(plan.training).get(KEPT):
        return ""
    return "No reply of the model was a numbered plan, so this version keeps the lines of the one before."


SIGNS = {"same": "  ", "gone": "- ", "new": "+ "}
"""The signs in front of the lines of a comparison."""


def diff_lines(before: str, after: str) -> list[tuple[str, str]]:
    """Return a pair ("same", "gone" or "new", line) for each line, in reading order."""
    old, new = (text.split("\n") if text else [] for text in (before, after))
    found: list[tuple[str, str]] = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found += [("same", line) for line in old[i:j]]
        else:
            found += [("gone", line) for line in old[i:j]] + [("new", line) for line in new[k:m]]
    return found


def _origin(line: PlanLine, number: int, tasks: Mapping[str, str]) -> LineOrigin:
    decisions = tuple(int(mark[1:]) for mark in line.marks if mark in tasks and mark.startswith("R"))
    named = tuple(tasks[mark] for mark in line.marks if mark in tasks and mark.startswith("E"))
    return LineOrigin(line.text, number, AUTOPLAN, decisions, named)


def _add(
    session: Session,
    name: str,
    environment: str,
    task_type: str,
    number: int,
    lines: Sequence[LineOrigin],
    author: str,
    training: Mapping[str, Any],
    at_ms: int,
) -> tables.PlanVersion:
    added = tables.PlanVersion(
        name=name,
        environment=environment,
        task_type=task_type,
        version=number,
        text="\n".join(line.line for line in lines),
        author=author,
        lineage=orjson.dumps([asdict(line) for line in lines]).decode(),
        training=orjson.dumps(dict(training)).decode(),
        created_ms=at_ms,
    )
    session.add(added)
    session.flush()
    return added


def _log(session: Session, plan: tables.PlanVersion, kind: str, at_ms: int, **more: Any) -> None:
    subject = f"{_called(plan.name, plan.task_type)}, version {plan.version}"
    audit_log.record(session, None, kind, at_ms, subject=subject, **more)


def _called(name: str, task_type: str) -> str:
    return f"{name} ({task_type})" if task_type else name
