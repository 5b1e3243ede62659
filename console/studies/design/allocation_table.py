"""The allocation as a table: one row per condition of a participant."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from console.runs.export.formats import Column, ColumnKind, Row
from console.studies.design.allocation import PlannedCondition
from console.studies.design.factors import FACTORS
from console.studies.design.model import Design, conditions

COLUMNS: tuple[Column, ...] = (
    Column("study"),
    Column("participant"),
    Column("kind"),
    Column("rule", ColumnKind.JSON),
    Column("position", ColumnKind.INTEGER),
    Column("condition"),
    *(Column(name) for name in FACTORS),
    Column("tasks", ColumnKind.JSON),
)


def rows(design: Design, places: Sequence[PlannedCondition]) -> list[Row]:
    """Return one row per planned condition of a participant, in the order of COLUMNS."""
    levels = {arm.name: arm.levels for arm in conditions(design)}
    return [
        (
            design.name,
            place.code,
            place.kind,
            _json(dict(place.rule)),
            place.position,
            place.condition,
            *(levels[place.condition][name] for name in FACTORS),
            _json(place.tasks),
        )
        for place in places
    ]


def _json(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
