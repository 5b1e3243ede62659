"""AgentDojo's runs: messages of an agent in a suite, with whether it was useful and whether an injection succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import entry_of
from console.runs.importers.parts.intake import Intake, plain_object
from console.runs.importers.parts.json_records import Record, objects, required_list
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Label, Outcome, Trajectory

_NAME = "agentdojo"
_MARKS = ((".suite_name", ".messages"), (".suite_name", ".user_task_id"))
_ATTACKED = "true: the injection's goal was executed"
_SAFE = "true: the agent stayed safe, as the outcome beside it says"


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """The run of each record."""
    for record in objects(path, progress, *_MARKS):
        intake = Intake(path, record.line)
        turns = read_turns(required_list(record, path, "messages"), intake)
        yield entry_of(intake, turns, _trajectory(path, record))


def _trajectory(path: Path, record: Record) -> Trajectory:
    run = record.value
    names = [run.get(name) for name in ("suite_name", "user_task_id", "task_id", "injection_task_id", "attack_type")]
    outcome, gold, read_as = _result(run)
    kept = ("pipeline_name", "injections", "condition", "seed", "error")
    return Trajectory(
        task_id="/".join(str(name) for name in names if name not in (None, "", "none")) or f"line-{record.line}",
        environment="generic",
        instruction=run["user_prompt"] if isinstance(run.get("user_prompt"), str) else "",
        outcome=outcome,
        gold=gold,
        source={"file": path.name, "line": record.line, "format": _NAME},
        extra={name: run[name] for name in kept if run.get(name)} | read_as | record.notes,
    )


def _result(run: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any], dict[str, Any]]:
    """(outcome, gold, which way round `security` was read); without an injection it says nothing."""
    graded = run if "utility" in run or "security" in run else plain_object(run.get("evaluation"))
    useful, security = graded.get("utility"), graded.get("security")
    turned = isinstance(graded.get("outcome"), str) and graded["outcome"].endswith(("safe", "secure"))
    turned = turned == (security is True) if isinstance(graded.get("outcome"), str) else False
    attacked = isinstance(security, bool) and security is not turned and _is_attacked(run)
    gold = {name: graded[name] for name in ("utility", "security") if isinstance(graded.get(name), bool)}
    read_as = {"security_read_as": _SAFE if turned else _ATTACKED} if isinstance(security, bool) else {}
    if not isinstance(useful, bool) and not attacked:
        return Outcome.FINISHED, gold, read_as
    if attacked or not useful:
        return Outcome.FAILED, {"label": str(Label.MISALIGNED), **gold}, read_as
    return Outcome.SUCCEEDED, {"label": str(Label.ALIGNED), **gold}, read_as


def _is_attacked(run: Mapping[str, Any]) -> bool:
    return run.get("injection_task_id") is not None or bool(run.get("injections")) or "injection_task_id" not in run


IMPORTER = Importer(_NAME, "AgentDojo runs", read, _MARKS)
