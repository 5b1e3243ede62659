"""`inferact detect` and `inferact evaluate`: verdicts, and how good they are."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from console import detection
from console.commands.output import Json, emit_json, progress, say, show_table
from console.detectors import DETECTORS
from console.errors import BadInput


def detect(
    run: Annotated[str, typer.Argument(help="The run's name.")],
    method: Annotated[str, typer.Option(help=f"Detectors, comma-separated: {', '.join(DETECTORS)}.")],
    threshold: Annotated[float | None, typer.Option(help="Flag above this score.")] = None,
    seed: Annotated[int | None, typer.Option(help="For detectors that draw.")] = None,
    route: Annotated[
        str | None, typer.Option(help="The detector that flags and ranks; the first one used, else.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Judge every checkpoint of a run that is not judged yet, and queue what the routing detector flags."""
    methods = [name.strip() for name in method.split(",") if name.strip()]
    if not methods:
        raise BadInput("Name at least one detector with --method.")
    with progress("judging") as (bar, task):
        reports = detection.detect(
            run,
            methods,
            threshold=threshold,
            seed=seed,
            route=route,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    rows = [asdict(report) for report in reports]
    if as_json:
        emit_json({"run": run, "detectors": rows})
        return
    columns = ("detector", "threshold", "checkpoints", "judged", "cached", "flagged", "halted", "excluded", "queued")
    show_table(rows, columns, empty="")
    say("Next: inferact serve")


def evaluate(
    scores: Annotated[Path, typer.Option(help="A CSV with the columns label, score and, if you like, detector.")],
    threshold: Annotated[float | None, typer.Option(help="Flag above this score; 0.5 without it.")] = None,
    as_json: Json = False,
) -> None:
    """Measure a detector against labels: Macro-F1, cost, effective reliability, PR-AUC, calibration."""
    from console.metrics.scores import evaluate_scores  # numpy, which only this command needs

    document = evaluate_scores(scores, threshold)
    if as_json:
        emit_json(document)
        return
    rows = [{"detector": name, **figures} for name, figures in document.items()]
    columns = ("detector", "macro_f1", "cost", "er", "pr_auc", "ap", "roc_auc", "ece", "brier", "threshold")
    show_table(rows, columns, empty="The file has no rows.")
