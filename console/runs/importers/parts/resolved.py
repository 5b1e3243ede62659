"""Which instances a software-engineering benchmark found resolved, as the reports beside a log tell it.

It stands alone because two logs of agents share it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from console.trajectory import Label, Outcome

_REPORTS = ("report.json", "results.json")


def resolved_result(path: Path, instance: str, told: object = None) -> tuple[Outcome, dict[str, Any]]:
    """(outcome, gold) of an instance, by what its record tells, else by the reports beside the file or above it."""
    resolved = told if isinstance(told, bool) else None
    for folder in (path.parent, path.parent.parent) if resolved is None else ():
        for name in _REPORTS:
            resolved = _among(_report(folder / name), instance) if resolved is None else resolved
    if resolved is None:
        return Outcome.FINISHED, {}
    if resolved:
        return Outcome.SUCCEEDED, {"label": str(Label.ALIGNED), "resolved": True}
    return Outcome.FAILED, {"label": str(Label.MISALIGNED), "resolved": False}


def _among(report: Mapping[str, Any], instance: str) -> bool | None:
    own = report.get(instance)
    if isinstance(own, dict) and isinstance(own.get("resolved"), bool):
        return bool(own["resolved"])
    for name in ("resolved_ids", "resolved"):
        if isinstance(report.get(name), list) and instance:
            return instance in report[name]
    return None


@lru_cache(maxsize=8)
def _report(path: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
