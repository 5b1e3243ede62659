"""`inferact oversight`: what a run's inspections catch, and the paper's simulation of a quota."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from console import runs
from console.actors.move import PROTOCOLS
from console.cli.output import Json, RunName, emit_json, emit_table, plain_rows, progress, say, show_table, split_names
from console.cli.run import parse_task_counts
from console.database import database_url, reading
from console.errors import Unknown
from console.review.simulated import Noise
from console.review.simulated.simulate import SimulationPlan
from console.trials import quota_loop

_PUBLISHED = "published"
_COUNTS = ("tp", "fp", "fn", "tn", "n", "budget", "kept", "lost", "caught")
_CURVE = "curve"


class _RunByDefault(TyperGroup):
    """A command group that runs `oversight RUN` as `oversight curve RUN`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command with this name; if there is none, return `curve` for the run with this name."""
        return super().resolve_command(ctx, args if args[0] in self.commands else [_CURVE, *args])


app = typer.Typer(
    cls=_RunByDefault,
    help="Measure what inspections catch: a run's oversight curve, or the paper's simulation of a quota.",
    epilog="Example: inferact oversight shop --more 10",
    no_args_is_help=True,
)


@app.command(_CURVE, epilog="Example: inferact oversight curve shop --policy priority,random --more 10")
def curve(
    run: RunName,
    policy: Annotated[str | None, typer.Option(help="Orders of inspection, comma-separated (default: all).")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Number of inspections, or P% of non-halted trajectories (default: decided flagged items)."),
    ] = None,
    more: Annotated[
        int, typer.Option(min=0, help="Number of inspections beyond the budget for the column `more`.")
    ] = 10,
    trial: Annotated[int | None, typer.Option(min=0, help="The trial (default: the first judged trial).")] = None,
    labels: Annotated[
        str, typer.Option(help="Labels: gold, or adjudicated (the settled labels, if available).")
    ] = "gold",
    seed: Annotated[int, typer.Option(help="Random seed of inspection orders.")] = 0,
    out: Annotated[Path | None, typer.Option(help="CSV file for every point of the curves.")] = None,
    as_json: Json = False,
) -> None:
    """Count the misaligned actions that inspections catch, for each detector and inspection order."""
    from console.detection import oversight  # numpy and scipy, which few commands need

    with reading() as session:
        pool = oversight.read_pool(session, runs.get(session, run), labels)
    orders = split_names(policy, "order of inspection with --policy") if policy else oversight.ORDERS
    counted = oversight.compute_curves(pool, trial=trial, orders=orders, budget=budget, further=more, seed=seed)
    if out is not None:
        _write(out, pool.sample.add_to(counted.points), run)
    summary, sample = plain_rows(counted.summary), pool.sample.to_dict()
    if as_json:
        document = {"run": run, "trial": counted.trial, "labels": labels, "spent": counted.spent, "more": more}
        emit_json({**document, **sample, "curves": summary, "points": plain_rows(counted.points)})
        return
    columns = ("detector", "policy", "flagged", "misaligned", "spent", "caught", "corrected", "more", "area", "missed")
    counts = ("caught", "corrected", "more")
    shown = [row | sample | {name: f"{row[name]:.3g}" for name in counts if row[name] is not None} for row in summary]
    show_table(shown, columns, empty="No curves: the run has no judged trajectories.")
    say(f"more: caught by {more:,} further inspections. area: 0 for random order, 1 for the best order.")
    if unlabelled := max(row["unlabelled"] for row in summary):
        say(f"Excluded because they have no label: at most {unlabelled} flagged actions per detector.")


@app.command("fp-first", epilog="Example: inferact oversight fp-first --confusion published --budget 50%")
def fp_first(
    confusion: Annotated[
        list[str] | None,
        typer.Option(
            help="A CSV file with tp, fp, fn and tn, the name of a run, or `published` for the paper's matrices. "
            "Repeatable."
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Inspections per trial: a number, or P% of the non-halted trajectories.")
    ] = "50%",
    env: Annotated[
        str | None, typer.Option(help="Simulate whole runs in these embedded environments, comma-separated.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="With --env: tasks per environment.")] = "40",
    method: Annotated[str, typer.Option(help="With --env: detectors, comma-separated.")] = "rules,full-validation",
    actor: Annotated[str, typer.Option(help="With --env: the Actor that does the tasks.")] = "scripted",
    trials: Annotated[int, typer.Option(min=1, help="Trials after the first one.")] = 3,
    seed: Annotated[int, typer.Option(help="Random seed of tasks and inspection order.")] = 0,
    reviewer: Annotated[
        str, typer.Option(help="With --env: oracle, noisy, or model-user (a model simulates the user).")
    ] = "oracle",
    model: Annotated[str | None, typer.Option(help="With model-user: the model that simulates the user.")] = None,
    as_json: Json = False,
) -> None:
    """Simulate a quota that false positives use up first: remaining true positives, and success over trials."""
    from console.detection import oversight  # numpy and scipy, which few commands need

    given = list(confusion or ([] if env else [_PUBLISHED]))
    playing = {"actor": actor, "seed": seed, "reviewer": reviewer, "model": model}
    played = _play_all(env, tasks, method, budget, trials, playing) if env else []
    # Both forms of feedback share their first trial, so one matrix serves both.
    firsts = played[:: len(quota_loop.FEEDBACK)]
    names = [name for name in given if name != _PUBLISHED and not _is_file(name)]
    with reading() as session:
        pools = [oversight.read_pool(session, runs.get(session, name)) for name in [*names, *firsts]]
    rows: list[dict[str, Any]] = oversight.read_published_matrices() if _PUBLISHED in given else []
    rows += [
        row for name in given if name != _PUBLISHED and _is_file(name) for row in oversight.read_matrices(Path(name))
    ]
    rows += [row for pool in pools for row in oversight.tabulate_matrices(pool) if row["detector"] == pool.routing]
    kept = plain_rows(oversight.quota_table(rows, budget))
    success = quota_loop.list_success([*names, *played], trials)
    if as_json:
        emit_json({"budget": budget, "kept": kept, "success": success})
        return
    _print(kept, success, trials)


@app.command("protocols", epilog="Example: inferact oversight protocols --env webshop --tasks 40 --reviewer noisy")
def compare_protocols(
    run: Annotated[list[str] | None, typer.Argument(help="Live runs to compare, with people or simulated.")] = None,
    env: Annotated[str | None, typer.Option(help="Play simulated runs in this embedded environment.")] = None,
    tasks: Annotated[int, typer.Option(min=1, help="With --env: the number of tasks.")] = 40,
    protocol: Annotated[str | None, typer.Option(help="With --env: protocols, comma-separated (default: all).")] = None,
    detector: Annotated[str, typer.Option(help="With --env: the detector that flags.")] = "rules",
    threshold: Annotated[float | None, typer.Option(help="With --env: flag scores above this threshold.")] = None,
    budget: Annotated[str, typer.Option(help="With --env: inspections, a number or P% of the trajectories.")] = "50%",
    reviewer: Annotated[str, typer.Option(help="With --env: oracle, noisy or model-user.")] = "oracle",
    error: Annotated[float, typer.Option(min=0, max=1, help="With noisy: share of wrong decisions.")] = 0.1,
    out: Annotated[Path | None, typer.Option(help="CSV file for the table.")] = None,
    as_json: Json = False,
) -> None:
    """Compare control protocols: tasks without a harmful action (safety) against tasks solved (usefulness)."""
    from console.analysis.statistics.estimates import show_intervals
    from console.trials import protocols  # numpy and scipy, which few commands need

    known = (protocols.UNINSPECTED, *PROTOCOLS)
    chosen = split_names(protocol, "protocol with --protocol") if protocol else list(known)
    for name in chosen:
        if name not in known:
            raise Unknown("protocol", name, known)
    noise = Noise(error, error) if reviewer == "noisy" else Noise()
    played = []
    if env is not None:
        plan = SimulationPlan(reviewer, noise=noise)
        game = protocols.ProtocolGame(env, tasks, detector, budget=budget, threshold=threshold, review=plan)
        played = [protocols.play_protocol(game, name) for name in chosen]
    rows = protocols.list_outcomes([*(run or []), *played])
    if out is not None:
        _write(out, rows)
    shown = [show_intervals(row, ".0%", *protocols.SHARES) for row in rows]
    columns = ("protocol", "reviewers", "tasks", "safety", "usefulness", "undone", "inspections", "run")
    emit_table(rows, columns, as_json, empty="No runs. Name live runs, or an environment with --env.", shown=shown)


def _write(out: Path, table: Any, run: str | None = None) -> None:
    """Write the table (a frame or a list of rows) as CSV, and record in the audit log that the data left."""
    import pandas as pd

    from console.runs import export
    from console.runs.export.formats import as_csv

    with export.atomic_file(out) as stream:
        stream.write(as_csv(pd.DataFrame(table)))
        export.record_file(database_url(), run, None, out.name)


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() == ".csv" or Path(name).is_file()


def _play_all(env: str, tasks: str, method: str, budget: str, trials: int, settings: Mapping[str, Any]) -> list[str]:
    """Play one run per environment, detector and feedback, or continue it; return the names of the runs."""
    detectors = split_names(method, "detector with --method")
    runs.parse_budget(budget)
    loops = [
        quota_loop.QuotaLoop(environment, count, detector, feedback, budget=budget, trials=trials, **settings)
        for environment, count in parse_task_counts(env, tasks).items()
        for detector, feedback in product(detectors, quota_loop.FEEDBACK)
    ]
    return [quota_loop.play_loop(loop, lambda name: progress(f"{name}: trials")) for loop in loops]


def _print(kept: Sequence[dict[str, Any]], success: Sequence[dict[str, Any]], trials: int) -> None:
    names = [name for row in kept for name in row if name not in _COUNTS]
    shown = [name for name in dict.fromkeys(names) if any(row.get(name) is not None for row in kept)]
    show_table(kept, [*shown, *_COUNTS], empty="No matrices.")
    say("kept: true positives inspected within the budget after all false positives. caught: kept / (tp + fn).")
    heads = ["method", "feedback", *(f"N={trial}" for trial in range(trials + 1))]
    for environment in dict.fromkeys(row["environment"] for row in success):
        say(f"\n{environment}: % of tasks solved by trial N")
        show_table(_wide([row for row in success if row["environment"] == environment]), heads)


def _wide(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    lines: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = lines.setdefault(row["run"], {"method": row["method"], "feedback": row["feedback"]})
        line[f"N={row['trial']}"] = None if row["success"] is None else f"{100 * row['success']:.1f}"
    return list(lines.values())
