"""`inferact recalibrate`: probabilities out of a detector's scores and reviewers' labels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from console import runs
from console.commands.output import Json, emit_json, say
from console.database import now_ms, writing


def recalibrate(
    run: Annotated[str, typer.Argument(help="The run's name.")],
    detector: Annotated[str, typer.Option(help="The detector whose scores become probabilities.")],
    method: Annotated[str, typer.Option(help="platt (a sigmoid) or isotonic (any rising curve).")] = "platt",
    seed: Annotated[int, typer.Option(help="For the folds of the cross-validation.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn P(misaligned) from what reviewers decided, as a further detector that can be measured beside the others."""

    with writing() as session:
        found = calibration.recalibrate(session, runs.get(session, run), detector, method, now_ms(), seed=seed)
    if as_json:
        emit_json(asdict(found))
        return
    learnt_from = f"{found.labels} labels, {found.misaligned} of them misaligned"
    say(f"{found.detector}: {found.verdicts} verdicts with probabilities learnt from {learnt_from}")
    say(
        f"On tasks not learnt from: ECE {found.ece_before:.3f} -> {found.ece:.3f}, "
        f"Brier {found.brier_before:.3f} -> {found.brier:.3f}"
    )
    say(f"Next: inferact evaluate {run}")
