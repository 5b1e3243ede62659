"""The preregistration: the study's plan before the first participant joined, as Markdown that is safe for any text.

The plan also fits the fields of the OSF Preregistration template, to copy field by field. Fields that only the
researcher can fill in are marked "To be filled in".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import orjson

from console.language import counted
from console.runs.export.formats import Column, ColumnKind, Row
from console.studies.design import procedure
from console.studies.design.allocation import (
    Known,
    PlannedCondition,
    balance,
    block_names,
    block_rows,
    describe_blocks,
    groups,
    promise,
    task_count,
)
from console.studies.design.contrasts import EXPLORATORY, PRIMARY, planned_contrasts
from console.studies.design.factors import FACTORS
from console.studies.design.model import Design, conditions, varied_factors
from console.studies.design.power import Assumptions, Power
from console.studies.design.yaml_file import dump


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; vertical bars and line breaks in cells are escaped."""
    lines = [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows)]
    return "\n".join(lines)


def bullets(sentences: Iterable[str]) -> str:
    """Return a Markdown list with one sentence per item."""
    return "\n".join(f"- {sentence}" for sentence in sentences)


def format_code_block(text: str, language: str) -> str:
    """Return a code block whose fence is longer than any fence in the text."""
    longest = max((len(found) for found in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |"


def preregistration(
    design: Design,
    places: Sequence[PlannedCondition],
    powers: Sequence[Power] = (),
    assumed: Assumptions | None = None,
    known: Known | None = None,
) -> str:
    """Return the study's plan: hypotheses, conditions, allocation, procedure, measures, analysis, data."""
    people = [(group.kind, group.count, procedure.describe_rule(group.rule)) for group in groups(design)]
    sections = [
        ("", _summary(design, places)),
        ("Questions", _questions(design)),
        ("Conditions", _conditions(design)),
        ("Participants", table(("kind", "count", "rule"), people)),
        ("Allocation", _allocation(design, places)),
        ("Blocks of tasks", _known_of_blocks(places, known) if known is not None else ""),
        ("Procedure", bullets(procedure.describe_steps(design))),
        ("Measures", bullets(procedure.describe_measures(design))),
        ("Analysis", bullets(procedure.describe_analysis(design))),
        ("Exclusions, withdrawal and stopping", bullets(procedure.describe_exclusions(design))),
        ("Power", _power(design, powers, assumed)),
        ("Order of conditions by participant", _orders(places)),
        ("Tasks", table(("block", "tasks"), [(name, ", ".join(tasks)) for tasks, name in block_names(places).items()])),
        ("The design", format_code_block(dump(design), "yaml")),
    ]
    parts = [f"## {title}\n\n{text}" if title else text for title, text in sections if text]
    return "\n\n".join([f"# Preregistration: {design.name}", *parts]) + "\n"


def fingerprint(design: Design, places: Sequence[PlannedCondition]) -> str:
    """Return the SHA-256 of the design and the allocation table."""
    columns, arms = [column.name for column in ALLOCATION_COLUMNS], conditions(design)
    unset = {name for name in _FACTORS_CAME_LATER if all(one.levels[name] == FACTORS[name].default for one in arms)}
    kept = [place for place, name in enumerate(columns) if name not in unset]
    rows = [columns, *map(list, allocation_rows(design, places))]
    table_of = [[row[place] for place in kept] for row in rows]
    plan = {"design": _without_unset(design), "allocation": table_of}
    return sha256(orjson.dumps(plan, option=orjson.OPT_SORT_KEYS)).hexdigest()


_FACTORS_CAME_LATER = ("rationale", "protocol")
"""Factors that older designs lack; at their default levels, they leave the fingerprints as they were."""
_LATER = (
    "language halted_free same_tasks washout_hours instruments questionnaires confidence interaction_trace debriefing "
    "exclusions recruiting quiz pilot"
)
_CAME_LATER = tuple(_LATER.split())


def _without_unset(design: Design) -> dict[str, Any]:
    """Return the design's fields without unset newer fields, so that fingerprints of older studies stay valid."""
    told, default = design.model_dump(mode="json"), Design.model_fields
    if not design.fixed_order_because:
        del told["fixed_order_because"]
    for name in _CAME_LATER:
        if getattr(design, name) == default[name].default:
            del told[name]
    if not design.consent.version:
        del told["consent"]["version"]
    for name in ("return_url", "screen_out_code"):
        if "recruiting" in told and not told["recruiting"][name]:
            del told["recruiting"][name]
    for name in ("unflagged_good", "unflagged_bad", "audited"):
        if not told["checks"][name]:
            del told["checks"][name]
    for one in told.get("instruments", []):
        for name in ("looks_back", "ahead"):
            if not one[name]:
                del one[name]
        for item in one["items"]:
            if not item["ahead"]:
                del item["ahead"]
    for question in told["demographics"]:
        for name in ("screens_out", "quotas"):
            if not question[name]:
                del question[name]
    return told


def _summary(design: Design, places: Sequence[PlannedCondition]) -> str:
    people = len({place.number for place in places})
    count, compared = len(conditions(design)), f"{design.comparison} participants"
    return (
        f"{counted(people, 'participant')}, {counted(count, 'condition')} compared {compared}, "
        f"{counted(design.tasks, 'task')} per condition, {counted(design.trials, 'trial')}.\n\n"
        f"Fingerprint of design and allocation (SHA-256): `{fingerprint(design, places)}`"
    )


def _questions(design: Design) -> str:
    asked = planned_contrasts(design)
    if not asked:
        return bullets(["How high is the success rate at each trial? There is one condition and no comparison."])
    return "\n\n".join(
        f"{kind.capitalize()}:\n\n"
        + bullets(f"{one.asks} ({one.measure}, {one.name})" for one in asked if one.kind == kind)
        for kind in dict.fromkeys(one.kind for one in asked)
    )


def _conditions(design: Design) -> str:
    names = list(varied_factors(design)) or ["detector"]
    fixed = [f"{FACTORS[name].title}: {conditions(design)[0].levels[name]}" for name in FACTORS if name not in names]
    shown = table(
        ("condition", *names), [(arm.name, *(arm.levels[name] for name in names)) for arm in conditions(design)]
    )
    return f"{shown}\n\nConstant in all conditions: {'; '.join(fixed)}."


def _allocation(design: Design, places: Sequence[PlannedCondition]) -> str:
    counted = [
        (group, tally.what, tally.least, tally.most, "yes" if tally.even else "no")
        for group in dict.fromkeys(place.kind for place in places)
        for tally in balance([place for place in places if place.kind == group])
        if tally.counts
    ]
    found = table(("participants", "count of", "least", "most", "even"), counted)
    return f"Seed {design.seed}. {' '.join(promise(design))}\n\nCounted from the allocation below:\n\n{found}"


def _known_of_blocks(places: Sequence[PlannedCondition], known: Known) -> str:
    said, found = "\n\n".join(describe_blocks(places, known)), block_rows(places, known)
    if not said or not found:
        return said
    shown = table(
        ("block", "tasks", "solved at trial 0", "mean score", "mean steps"),
        [(row["block"], row["tasks"], row["solved"], _number(row["score"]), f"{row['steps']:.2f}") for row in found],
    )
    return f"{said}\n\n{shown}"


def _power(design: Design, powers: Sequence[Power], assumed: Assumptions | None) -> str:
    if not powers:
        return ""
    found = [
        (
            one.contrast,
            one.participants,
            f"{one.power:.2f}",
            f"{one.low:.2f} to {one.high:.2f}",
            _number(one.half_width),
        )
        for one in powers
    ]
    shown = table(("contrast", "participants", "power", "95 % interval", "half width of the effect's interval"), found)
    return f"{procedure.describe_assumptions(design, assumed or Assumptions(), powers[0].simulations)}\n\n{shown}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _orders(places: Sequence[PlannedCondition]) -> str:
    blocks = block_names(places)
    orders: dict[tuple[str, str], list[str]] = {}
    for place in places:
        orders.setdefault((place.code, place.kind), []).append(f"{place.condition} on {blocks[place.tasks]}")
    return table(("participant", "kind", "order"), [(*who, "; ".join(order)) for who, order in orders.items()])


ALLOCATION_COLUMNS: tuple[Column, ...] = (
    Column("study"),
    Column("participant"),
    Column("kind"),
    Column("rule", ColumnKind.JSON),
    Column("position", ColumnKind.INTEGER),
    Column("condition"),
    *(Column(name) for name in FACTORS),
    Column("tasks", ColumnKind.JSON),
)


def allocation_rows(design: Design, places: Sequence[PlannedCondition]) -> list[Row]:
    """Return one row per planned condition of a participant, in the order of ALLOCATION_COLUMNS."""
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


_OPEN = "To be filled in."


def osf_fields(design: Design, places: Sequence[PlannedCondition], powers: Sequence[Power] = ()) -> dict[str, str]:
    """Return the text of each field, in the order of the template; `powers` give the rationale of the sample size."""
    people, pilot = len({place.number for place in places}), design.pilot.people
    asked = planned_contrasts(design)
    analysis = procedure.describe_analysis(design)
    return {
        "Title": design.name,
        "Description": " ".join(procedure.describe_steps(design)[:2]),
        "Hypotheses": bullets(one.asks for one in asked if one.kind == PRIMARY) or "There is one condition.",
        "Study type": "Experiment: participants or conditions are assigned at random.",
        "Blinding": "Participants do not know the condition or which items have a known answer.",
        "Study design": _study_design(design),
        "Randomization": f"Seed {design.seed}. {' '.join(promise(design))}",
        "Existing data": "Registration prior to creation of data.",
        "Data collection procedures": " ".join(procedure.describe_steps(design)),
        "Sample size": (
            f"{counted(people, 'participant')}{f' (of whom {pilot} are the pilot)' if pilot else ''} and "
            f"{counted(task_count(design), 'task')}, {design.tasks} per condition."
        ),
        "Sample size rationale": _rationale(design, powers),
        "Stopping rule": " ".join([*procedure.describe_pilot(design), procedure.describe_exclusions(design)[-1]]),
        "Manipulated variables": bullets(
            (f"{FACTORS[name].title}: {', '.join(levels)}" for name, levels in varied_factors(design).items())
        )
        or "None.",
        "Measured variables": " ".join(procedure.describe_measures(design)),
        "Indices": "Questionnaire scores follow the rules in design.yaml.",
        "Statistical models": " ".join(analysis),
        "Transformations": "None.",
        "Inference criteria": analysis[0],
        "Data exclusion": " ".join(procedure.describe_exclusions(design)[:-1]),
        "Missing data": (
            "Missing answers are not imputed. Participants with part of their data stay in the estimate over people "
            "and tasks."
        ),
        "Exploratory analysis": "Everything that is not listed above, and "
        + ("results of simulated reviewers." if any(one.kind != EXPLORATORY for one in asked) else "all results."),
        "Other": _OPEN,
    }


def osf_preregistration(design: Design, places: Sequence[PlannedCondition], powers: Sequence[Power] = ()) -> str:
    """Return the fields as Markdown, one heading per field."""
    fields = osf_fields(design, places, powers)
    return "\n\n".join(f"## {name}\n\n{text or _OPEN}" for name, text in fields.items()) + "\n"


def _study_design(design: Design) -> str:
    named = "; ".join(f"{FACTORS[name].title}: {', '.join(levels)}" for name, levels in varied_factors(design).items())
    count = len(conditions(design))
    compared = f"{count} conditions, {design.comparison} participants" if count > 1 else "One condition"
    return f"{compared}. {named or 'No factor varies'}. Participants and tasks are random samples."


def _rationale(design: Design, powers: Sequence[Power]) -> str:
    if not powers:
        return _OPEN
    found = "; ".join(
        f"{one.contrast}: {one.power:.2f} with {counted(one.participants, 'participant')}" for one in powers
    )
    said = procedure.describe_assumptions(design, Assumptions(), powers[0].simulations)
    return f"{said} Power: {found}."
