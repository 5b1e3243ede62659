"""Plan versions: kept, told apart, edited and pinned by people, and chosen for the runs that go by them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import orjson
from sqlmodel import Session, col, select

from console.actors.autoplan.reflection import PlanLine
from console.errors import BadInput, Refused, Unknown
from console.runs import audit_log
from console.runs.options import run_options
from storage import tables

AUTOPLAN = "autoplan"
"""The author of what the model wrote."""
MAX_CHARS = 20_000
_NAME = re.compile(r"[\w][\w.-]{0,39}")


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The origin of one line: the version that brought it, its author, and what the model says that it comes from.

    `decisions` are ids of reviewers' decisions, `tasks` the keys of the tasks whose trials it names.
    """

    line: str
    version: int
    author: str
    decisions: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()


def plans(session: Session) -> list[tuple[str, str]]:
    """(name, type of task) of every plan."""
    plan = tables.PlanVersion
    statement = select(plan.name, plan.task_type).distinct().order_by(col(plan.name), col(plan.task_type))
    return [(name, task_type) for name, task_type in session.exec(statement)]


def versions(session: Session, name: str, task_type: str = "") -> Sequence[tables.PlanVersion]:
    """The versions of a plan, the oldest first; a plan of one type alone needs no type.

    Raises Unknown, naming the plans there are, and Refused where a plan of several types is asked for without one.
    """
    plan = tables.PlanVersion
    statement = select(plan).where(plan.name == name, plan.task_type == task_type).order_by(col(plan.version))
    found = session.exec(statement).all()
    types = [] if found or task_type else [kind for known, kind in plans(session) if known == name]
    if len(types) == 1:
        return versions(session, name, types[0])
    if types:
        raise Refused(f"The plan {name!r} has several types of task ({', '.join(types)}); say which one.")
    if not found:
        raise Unknown("plan", _called(name, task_type), [_called(*one) for one in plans(session)])
    return found


def summary(session: Session, name: str, task_type: str) -> dict[str, Any]:
    """One line of the list of plans."""
    found = versions(session, name, task_type)
    now = current(found)
    row = {"plan": name, "type": task_type, "environment": now.environment}
    return row | {"versions": len(found), "present": now.version, "pinned": now.pinned}


def version(session: Session, name: str, task_type: str, number: int) -> tables.PlanVersion:
    """That version of a plan; raises Unknown."""
    found = {one.version: one for one in versions(session, name, task_type)}
    if number not in found:
        raise Unknown(f"version of {_called(name, task_type)}", number, list(found))
    return found[number]


def current(found: Sequence[tables.PlanVersion]) -> tables.PlanVersion:
    """The version that new runs go by: the pinned one, else the latest."""
    return next((one for one in found if one.pinned), found[-1])


def chosen(session: Session, name: str, environments: Sequence[str]) -> dict[str, int]:
    """The ids of the versions that a new run goes by, by type of task; raises Unknown and Refused."""
    types = [task_type for known, task_type in plans(session) if known == name]
    if not types:
        raise Unknown("plan", name, [known for known, _ in plans(session)])
    found = {task_type: current(versions(session, name, task_type)) for task_type in types}
    others = {one.environment for one in found.values()} - set(environments)
    if others or len(environments) > 1:
        made_for = ", ".join(sorted({one.environment for one in found.values()}))
        raise Refused(f"The plan {name!r} was made for {made_for}; a run that goes by it acts there alone.")
    return {task_type: one.id or 0 for task_type, one in found.items()}


def trained_on(session: Session, name: str) -> frozenset[str]:
    """The content of every task that any version of the plan was learnt from, or may be."""
    plan = tables.PlanVersion
    statement = select(plan.training).where(plan.name == name)
    return frozenset(task for text in session.exec(statement) for task in orjson.loads(text).get("tasks", ()))


def texts_of(session: Session, run: tables.Run) -> dict[str, str]:
    """The texts of the plans that a run goes by, by type of task."""
    return {
        task_type: session.get_one(tables.PlanVersion, plan_id).text
        for task_type, plan_id in run_options(run).plans.items()
    }


def plan_for(texts: Mapping[str, str], task_type: str) -> str:
    """The plan for tasks of that type, else the one for every type; empty where there is neither."""
    return texts.get(task_type, texts.get("", ""))


def begin(
    session: Session, name: str, environment: str, task_type: str, training: Mapping[str, Any], at_ms: int
) -> tables.PlanVersion:
    """Adds the empty version 0 of a new plan; raises BadInput for a name that cannot be one."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} cannot name a plan: use up to 40 letters, digits and . _ -.")
    return _add(session, name, environment, task_type, 0, [], AUTOPLAN, training, at_ms)


def learnt(
    session: Session,
    before: tables.PlanVersion,
    lines: Sequence[PlanLine],
    tasks: Mapping[str, str],
    training: Mapping[str, Any],
    at_ms: int,
) -> tables.PlanVersion:
    """Adds the version that an update wrote; `tasks` are their keys by the marks that its lines name."""
    number = before.version + 1
    known = {one.line: one for one in origins(before)}
    found = [known.get(line.text) or _origin(line, number, tasks) for line in lines]
    return _add(session, before.name, before.environment, before.task_type, number, found, AUTOPLAN, training, at_ms)


def edit(session: Session, before: tables.PlanVersion, text: str, author: str, at_ms: int) -> tables.PlanVersion:
    """Adds a person's version of the plan; raises BadInput, and Refused where somebody was faster."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").strip().split("\n")]
    if len(text) > MAX_CHARS:
        raise BadInput(f"The plan has {len(text):,} characters; keep it under {MAX_CHARS:,}.")
    if "\n".join(lines) == before.text:
        raise BadInput("The plan is the same as before; change it first.")
    latest = versions(session, before.name, before.task_type)[-1]
    if latest.version != before.version:
        raise Refused(f"Version {latest.version} of {before.name!r} came meanwhile; read it, and edit that one.")
    known = {one.line: one for one in origins(before)}
    number = before.version + 1
    found = [known.get(line) or LineOrigin(line, number, author) for line in lines]
    training = orjson.loads(before.training)
    added = _add(session, before.name, before.environment, before.task_type, number, found, author, training, at_ms)
    _log(session, added, "plan edited", at_ms, before=before.text, after=added.text)
    return added


def pin(session: Session, plan: tables.PlanVersion, at_ms: int, *, pinned: bool = True) -> None:
    """Makes it the version that new runs go by, or leaves that to the latest again."""
    for other in versions(session, plan.name, plan.task_type):
        other.pinned = pinned and other.id == plan.id
        session.add(other)
    _log(session, plan, "plan pinned" if pinned else "plan unpinned", at_ms)


def origins(plan: tables.PlanVersion) -> list[LineOrigin]:
    """Where each line of the version comes from."""
    return [
        LineOrigin(**{**entry, "decisions": tuple(entry["decisions"]), "tasks": tuple(entry["tasks"])})
        for entry in orjson.loads(plan.lineage)
    ]


def source_in_words(one: LineOrigin) -> str:
    """What a line comes from, as far as it is known: who wrote it, or what the model named when it did."""
    if one.author != AUTOPLAN:
        return f"written by {one.author}"
    decisions = [f"decision {number}" for number in one.decisions]
    tasks = [f"the trial of {key}" for key in one.tasks]
    return f"the model names {', '.join([*decisions, *tasks])}" if decisions or tasks else "the model names nothing"


def differences(before: str, after: str) -> list[tuple[str, str]]:
    """Line by line ("same", "gone" or "new", the line), in the order of reading."""
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
