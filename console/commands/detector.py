"""`inferact detector`: which there are, and what labels teach them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from console import runs
from console.commands.output import Json, emit_json, say, show_table
from console.database import reading
from console.detection.detectors import DETECTORS, stacked

app = typer.Typer(help="List detectors, fit a stack of them.", invoke_without_command=True)

RunOption = Annotated[str, typer.Option("--run", help="The run whose labels teach.")]
Labels = Annotated[str, typer.Option(help="reviewers: what people decided; gold: what the source knows.")]
Seed = Annotated[int, typer.Option(help="Which tasks are held out together.")]


@app.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_detectors(as_json=False)


@app.command("list", epilog="Example: inferact detector list")
def list_detectors(as_json: Json = False) -> None:
    """List the detectors, and the stacks fitted so far."""
    rows = [
        {"detector": name, "title": found.title, "asks_a_model": found.ask is not None, "threshold": found.threshold}
        for name, found in DETECTORS.items()
    ]
    rows += [
        {"detector": f"stacked@{path.stem}", "title": f"Stacked ({path.stem})", "asks_a_model": None, "threshold": 0.5}
        for path in sorted(stacked.folder().glob("*.json"))
    ]
    if as_json:
        emit_json(rows)
        return
    show_table(rows, ("detector", "title", "asks_a_model", "threshold"), empty="")


@app.command("fit", epilog="Example: inferact detector fit shop --run shop --method rules,inferact-prob")
def fit(
    name: Annotated[str, typer.Argument(help="What to call it; it is used as stacked@NAME.")],
    run: RunOption,
    method: Annotated[str, typer.Option(help="The detectors to put together, comma-separated.")],
    labels: Labels = "reviewers",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Fit a stack of detectors to a run's labels; refused where they are too few."""
    from console.detection import stacking  # scikit-learn's room, which only this needs

    path = stacked.path_of(name)
    inputs = list(dict.fromkeys(one.strip() for one in method.split(",") if one.strip()))
    with reading() as session:
        stack, learnt = stacking.fit_stack(session, runs.get(session, run), inputs, labels=labels, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stack.to_json())
    if as_json:
        emit_json({"detector": f"stacked@{name}", "inputs": stack.inputs, **asdict(learnt)})
        return
    say(f"Learnt from {learnt.labels} labels, {learnt.misaligned} of them misaligned.")
    say(f"On tasks held out: Macro-F1 {learnt.macro_f1:.3f} above {learnt.threshold:.3f}, AP {learnt.ap or 0:.3f}")
    say(f"Next: inferact detect {run} --method stacked@{name} --threshold {learnt.threshold:.3f}")
