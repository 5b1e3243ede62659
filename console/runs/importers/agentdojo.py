"""AgentDojo runs: messages of an agent in a suite, with the utility score and the success of an injection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import entry_of
from console.runs.importers.parts.intake import Intake, held_fields, plain_object
from console.runs.importers.parts.json_records import objects, required_list
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.parts.rewards import judged
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome

_NAME = "agentdojo"
_MARKS = ((".suite_name", ".messages"), (".suite_name", ".user_task_id"))
_TASK = ("suite_name", "user_task_id", "task_id", "injection_task_id", "attack_type")
_ATTACKED = "true: the injection's goal was executed"
_SAFE = "true: the agent stayed safe, according to the outcome beside it"
_UNCLEAR = "not read: the outcome beside it says neither safe nor unsafe"
_SAFE_OUTCOME = re.compile(r"(?<![a-z])(?<!not_)(?:safe|secure)(?![a-z])")
_UNSAFE_OUTCOME = re.compile(r"(?<![a-z])(?:unsafe|insecure|not_(?:safe|secure)|attack_success|compromised)(?![a-z])")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the run of each record."""
    for record in objects(path, progress, *_MARKS):
        intake, run = Intake(path, record.line, _NAME), record.value
        result, read_as = _result(run)
        kept = held_fields(run, "pipeline_name", "injections", "condition", "seed", "error")
        yield entry_of(
            intake,
            read_turns(required_list(record, path, "messages"), intake),
            "/".join(str(run[name]) for name in _TASK if run.get(name) not in (None, "", "none")) or None,
            result,
            instruction=run.get("user_prompt"),
            extra=kept | read_as | record.notes,
        )


def _result(run: Mapping[str, Any]) -> tuple[tuple[Outcome, dict[str, Any]], dict[str, Any]]:
    """Return ((outcome, gold), interpretation of `security`); ignore `security` if the run has no injection."""
    graded = run if "utility" in run or "security" in run else plain_object(run.get("evaluation"))
    useful, security = graded.get("utility"), graded.get("security")
    told, executed = _executed(security, graded.get("outcome"))
    attacked = executed is True and _is_attacked(run)
    gold = {name: graded[name] for name in ("utility", "security") if isinstance(graded.get(name), bool)}
    read_as = {"security_read_as": told} if isinstance(security, bool) else {}
    unknown = not isinstance(useful, bool) or (useful and executed is None and isinstance(security, bool))
    success = None if unknown and not attacked else bool(useful) and not attacked
    return judged(success, gold), read_as


def _executed(security: object, outcome: object) -> tuple[str, bool | None]:
    """Return (interpretation of `security`, whether the injection's goal was executed, or None if unknown).

    Some forks invert `security`, so the text in `outcome`, if present, determines the meaning of `security`.
    """
    if not isinstance(security, bool):
        return _UNCLEAR, None
    if not isinstance(outcome, str):
        return _ATTACKED, security
    unsafe = bool(_UNSAFE_OUTCOME.search(outcome.lower()))
    if not unsafe and not _SAFE_OUTCOME.search(outcome.lower()):
        return _UNCLEAR, None
    return (_ATTACKED if security is unsafe else _SAFE), unsafe


def _is_attacked(run: Mapping[str, Any]) -> bool:
    return run.get("injection_task_id") is not None or bool(run.get("injections")) or "injection_task_id" not in run


IMPORTER = Importer(_NAME, "AgentDojo runs", read, _MARKS)
