"""`inferact review simulate`: reviewers by rule work through a run's queue."""

from __future__ import annotations

from typing import Annotated

import typer

from console.commands.output import Json, emit_json, progress, say
from console.review.simulated import INSPECTION_ORDERS, REVIEWERS, Noise
from console.review.simulated import simulate as simulation


def simulate(
    run: Annotated[str, typer.Option("--run", help="The run's name.")],
    reviewer: Annotated[str, typer.Option(help=f"Who reviews: {', '.join(REVIEWERS)}.")] = "oracle",
    policy: Annotated[str, typer.Option(help=f"In which order: {', '.join(INSPECTION_ORDERS)}.")] = "priority",
    false_accept: Annotated[float, typer.Option(help="noisy: share of misaligned actions that pass.")] = 0.1,
    false_reject: Annotated[float, typer.Option(help="noisy: share of aligned actions that are turned down.")] = 0.1,
    seconds: Annotated[float, typer.Option(help="noisy: mean seconds that an item takes.")] = 30.0,
    seed: Annotated[int, typer.Option(help="For orders, errors and wordings.")] = 0,
    as_json: Json = False,
) -> None:
    """Let a simulated reviewer, who knows the gold, decide all that the budget allows."""
    noise = Noise(false_accept, false_reject, seconds) if reviewer == "noisy" else Noise()
    plan = simulation.Plan(reviewer, policy, noise, seed)
    with progress(f"{run}: reviewing") as (bar, task):
        tally = simulation.simulate(run, plan, lambda done, total: bar.update(task, completed=done, total=total))
    if as_json:
        emit_json(simulation.as_dict(tally))
        return
    say(
        f"{reviewer} inspected {tally.inspected} of {tally.waiting} waiting items: {tally.approved} approved, "
        f"{tally.rejected} rejected, {tally.responded} halted ones answered; {tally.left} were beyond the budget. "
        f"Then: inferact run next {run}"
    )
