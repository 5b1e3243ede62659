"""`inferact study assign|preregister|power`: the plan of a study before anyone takes part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from io import BytesIO
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from console.cli.output import Json, emit, emit_json, progress, say, show_table
from console.database import reading
from console.errors import BadInput
from console.runs.export import atomic_file
from console.runs.export.formats import format_of
from console.studies.design import Design, PlannedCondition, balance, varied_factors
from console.studies.design.allocation import KnownTask, block_rows, describe_blocks, promise
from console.studies.design.giveaways import find_giveaways
from console.studies.design.yaml_file import load
from console.studies.sessions import lifecycle

if TYPE_CHECKING:
    from console.studies.design.power import Assumptions, Power

NameOrFile = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A study's name, or a design as a YAML file.")]
Simulations = Annotated[int, typer.Option(min=1, max=100_000, help="Simulated studies for each n.")]
_MOST_SHOWN = 40
_FEW = 3
_CURVE = [8, 12, 16, 25, 50]
"""The numbers of tasks per condition in the curve of power."""


def show_allocation(
    name: Annotated[str, typer.Argument(help="The study's name.")],
    out: Annotated[Path | None, typer.Option("--out", help="The file for the table: .csv, .jsonl or .parquet.")] = None,
    as_json: Json = False,
) -> None:
    """Show each participant's conditions, positions and tasks, and the balance of the allocation."""
    from console.studies.design.preregistration import (  # pyarrow, which few commands need
        ALLOCATION_COLUMNS,
        allocation_rows,
    )

    design, planned = _study(name)
    table = allocation_rows(design, planned)
    if out is not None:
        content = BytesIO()
        format_of(out).write(ALLOCATION_COLUMNS, [table], content)
        _save(out, content.getvalue())
    known = _known(design, planned)
    blocks, uneven = block_rows(planned, known), describe_blocks(planned, known)
    named = [dict(zip((column.name for column in ALLOCATION_COLUMNS), row, strict=True)) for row in table]
    if as_json:
        notes = {"promise": (*promise(design), *uneven), "balance": _balance(planned), "blocks": blocks}
        emit_json({"study": name, **notes, "warnings": find_giveaways(design), "rows": named})
        return
    brief = [row | {"tasks": _few(row["tasks"])} for row in named[:_MOST_SHOWN]]
    show_table(brief, ("participant", "kind", "position", "condition", "tasks"), empty="The study has no participants.")
    if len(named) > _MOST_SHOWN:
        more = len(named) - _MOST_SHOWN
        say(f"... and {more} more; all of them: inferact study assign {quote(name)} --out allocation.csv")
    say("")
    show_table(_balance(planned), ("participants", "count_of", "least", "most", "even"))
    if uneven:
        say("")
        show_table(blocks, ("block", "tasks", "solved", "score", "steps"))
    say("\n".join((*promise(design), *uneven, *(f"Warning: {said}" for said in find_giveaways(design)))))
    if out is not None:
        say(f"{len(table)} rows in {out}.")


def write_plan(
    study: NameOrFile,
    out: Annotated[Path, typer.Option("--out", help="The Markdown file to create.")],
    with_power: Annotated[
        bool, typer.Option("--power", help="Include the estimated power, from 1000 simulations.")
    ] = False,
    osf: Annotated[
        bool, typer.Option("--osf", help="Write the fields of the OSF Preregistration template instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a study's preregistration: questions, conditions, allocation, procedure, measures and analysis."""
    from console.studies.design.power import power  # scipy and statsmodels, which few commands need
    from console.studies.design.preregistration import fingerprint, osf_preregistration, preregistration

    design, planned = _planned(study)
    powers = power(design, simulations=1_000) if with_power else ()
    text = (
        osf_preregistration(design, planned, powers)
        if osf
        else preregistration(design, planned, powers, known=_known(design, planned))
    )
    _save(out, text.encode())
    mark = fingerprint(design, planned)
    emit(
        {"study": design.name, "out": str(out), "fingerprint": mark},
        as_json,
        f"Wrote the plan of {design.name} to {out}; its fingerprint is {mark}.",
    )


def estimate_power(
    study: NameOrFile,
    n: Annotated[
        str, typer.Option("--n", help="Numbers of participants, comma-separated (default: the design's).")
    ] = "",
    simulations: Simulations = 200,
    start: Annotated[float, typer.Option(help="Success rate of the first level at the last trial.")] = 0.33,
    effect: Annotated[float, typer.Option(help="Increase of the success rate under the last level.")] = 0.10,
    factor: Annotated[str | None, typer.Option(help="The factor to compare (default: all factors that vary).")] = None,
    participant_sd: Annotated[
        float, typer.Option(help="Standard deviation between participants, on the logit scale.")
    ] = 0.5,
    effect_sd: Annotated[
        float, typer.Option(help="Standard deviation of participants' effects, on the logit scale.")
    ] = 0.25,
    task_sd: Annotated[float, typer.Option(help="Standard deviation between tasks, on the logit scale.")] = 1.0,
    task_effect_sd: Annotated[
        float, typer.Option(help="Standard deviation of the condition's effect between tasks, on the logit scale.")
    ] = 0.4,
    dropout: Annotated[float, typer.Option(help="Share of parts that participants do not finish (0 to 1).")] = 0.0,
    tasks: Annotated[
        str, typer.Option("--tasks", help="Numbers of tasks per condition, comma-separated (default: the design's).")
    ] = "",
    curve: Annotated[
        bool, typer.Option("--curve", help="Show the participants to recruit for a power of 80%, for each --tasks.")
    ] = False,
    alpha: Annotated[float | None, typer.Option(help="Significance level (default: the design's).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the simulation.")] = 0,
    as_json: Json = False,
) -> None:
    """Estimate the power of a study with n participants for each factor's effect, by simulation."""
    from console.studies.design.power import Assumptions, power  # scipy, which few commands need

    design = load(Path(study)) if _is_file(study) else _study(study)[0]
    spreads = (participant_sd, effect_sd, task_sd)
    level = design.estimands.alpha if alpha is None else alpha
    factors: list[str | None] = [factor] if factor else [*varied_factors(design)] or [None]
    asked = [Assumptions(start, effect, *spreads, name, level, task_effect_sd, dropout) for name in factors]
    sizes = _numbers(tasks, "--tasks")
    if curve:
        _show_curve(design, asked[0], sizes or _CURVE, simulations, as_json=as_json)
        return
    with progress("Simulating studies") as tell:
        estimate = partial(
            power, design, participants=_numbers(n), tasks=sizes, simulations=simulations, seed=seed, progress=tell
        )
        powers = [one for assumptions in asked for one in estimate(assumptions)]
    _show_powers(design, asked, powers, simulations, as_json=as_json)


def _show_powers(
    design: Design, asked: Sequence[Assumptions], powers: Sequence[Power], simulations: int, *, as_json: bool
) -> None:
    from console.studies.design.power import get_compared_levels  # scipy, which few commands need
    from console.studies.design.procedure import describe_assumptions

    rows = [asdict(one) for one in powers]
    if as_json:
        levels = [
            dict(zip(("factor", "first", "last"), get_compared_levels(design, one.factor), strict=True))
            for one in asked
        ]
        compared = {"compared": levels[0], "factors": levels}
        emit_json({"study": design.name, **compared, "assumed": asdict(asked[0]), "power": rows})
        return
    for assumptions in asked:
        say(describe_assumptions(design, assumptions, simulations))
    show_table(rows, ("contrast", "participants", "tasks", "power", "low", "high", "half_width", "refused"))
    say("low, high: 95% interval of the power. half width: half the width of the effect's interval in such a study.")
    say(
        "refused: share of simulated studies whose remaining data support no claim over tasks. These studies "
        "count as not finding the effect."
    )
    if any(not one.over_tasks for one in powers):
        say("The design supports no claim over tasks: the power is that of a claim on its own tasks only.")


def _show_curve(design: Design, assumed: Assumptions, tasks: Sequence[int], simulations: int, *, as_json: bool) -> None:
    from console.studies.design.power import recruit  # scipy, which few commands need
    from console.studies.design.procedure import describe_assumptions

    rows = [asdict(one) for one in recruit(design, assumed, tasks, simulations=simulations)]
    if as_json:
        emit_json({"study": design.name, "assumed": asdict(assumed), "goal": 0.8, "curve": rows})
        return
    say(describe_assumptions(design, assumed, simulations))
    show_table(rows, ("tasks", "participants", "power"))
    say("participants: the smallest number to recruit for a power of 0.8; empty above 120.")


def _study(name: str) -> tuple[Design, tuple[PlannedCondition, ...]]:
    with reading() as session:
        study = lifecycle.get(session, name)
        return lifecycle.design_of(study), lifecycle.list_places(session, study)


def _planned(name: str) -> tuple[Design, tuple[PlannedCondition, ...]]:
    if not _is_file(name):
        return _study(name)
    design = load(Path(name))
    with reading() as session:
        return design, lifecycle.planned_places(session, design)


def _known(design: Design, planned: Sequence[PlannedCondition]) -> dict[str, KnownTask]:
    with reading() as session:
        return lifecycle.known_properties(session, design, planned)


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() in {".yaml", ".yml"} or Path(name).is_file()


def _numbers(text: str, option: str = "--n") -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadInput(f"{option} {text!r} is invalid. Give whole numbers with commas, such as 4,8,12.") from None


def _balance(planned: Sequence[PlannedCondition]) -> list[dict[str, Any]]:
    return [
        {"participants": kind, "count_of": tally.what, "least": tally.least, "most": tally.most, "even": tally.even}
        for kind in dict.fromkeys(one.kind for one in planned)
        for tally in balance([one for one in planned if one.kind == kind])
        if tally.counts
    ]


def _few(tasks: str) -> str:
    keys = orjson.loads(tasks)
    return f"{len(keys)}: {', '.join(keys[:_FEW])}{', …' if len(keys) > _FEW else ''}"


def _save(out: Path, content: bytes) -> None:
    with atomic_file(out) as stream:
        stream.write(content)
