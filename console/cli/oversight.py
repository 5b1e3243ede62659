"""`inferact oversight`: what a run's inspections catch, and the paper's simulation of a quota."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from console import runs
from console.cli import fp_first
from console.cli.output import Json, RunName, emit_json, names_of, plain_rows, say, show_table
from console.database import database_url, reading

_CURVE = "curve"


class _RunByDefault(TyperGroup):
    """`oversight RUN` stands for `oversight curve RUN`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, else the curve of the run that it names."""
        return super().resolve_command(ctx, args if args[0] in self.commands else [_CURVE, *args])


app = typer.Typer(
    cls=_RunByDefault,
    help="See what inspections catch: the oversight curve of a run, and the paper's simulation of a quota.",
    epilog="Example: inferact oversight shop --more 10",
    no_args_is_help=True,
)


@app.command(_CURVE, epilog="Example: inferact oversight curve shop --policy priority,random --more 10")
def curve(
    run: RunName,
    policy: Annotated[str | None, typer.Option(help="Orders of inspection, comma-separated; all, else.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Where inspections end: a number, or P% of the non-halted; where the run's did, else."),
    ] = None,
    more: Annotated[int, typer.Option(min=0, help="How many further inspections to count.")] = 10,
    trial: Annotated[int | None, typer.Option(min=0, help="The trial; the first judged one, else.")] = None,
    labels: Annotated[str, typer.Option(help="gold, or adjudicated (settled ones where there are any).")] = "gold",
    seed: Annotated[int, typer.Option(help="For orders that draw.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write every point of the curves to this CSV.")] = None,
    as_json: Json = False,
) -> None:
    """Count the misalignments that inspections catch, for each detector and order of inspection."""
    from console.detection import oversight  # numpy and scipy, which few commands need
    from console.runs import export
    from console.runs.export.formats import as_csv

    with reading() as session:
        pool = oversight.pool(session, runs.get(session, run), labels)
    orders = names_of(policy, "order of inspection with --policy") if policy else oversight.ORDERS
    counted = oversight.curves(pool, trial=trial, orders=orders, budget=budget, further=more, seed=seed)
    if out is not None:
        with export.atomic_file(out) as stream:
            stream.write(as_csv(counted.points))
            export.record_file(database_url(), run, None, out.name)
    summary = plain_rows(counted.summary)
    if as_json:
        document = {"run": run, "trial": counted.trial, "labels": labels, "spent": counted.spent, "more": more}
        emit_json({**document, "curves": summary, "points": plain_rows(counted.points)})
        return
    columns = ("detector", "policy", "flagged", "misaligned", "spent", "caught", "corrected", "more", "area", "missed")
    show_table([_readable(row) for row in summary], columns, empty="Nothing to count.")
    say(f"more: what further inspections catch ({more:,} of them). area: 0 as in random order, 1 at best.")
    if unlabelled := max(row["unlabelled"] for row in summary):
        say(f"Flagged without a label, so left out: {unlabelled} of one detector at most.")


app.command("fp-first", epilog="Example: inferact oversight fp-first --confusion published --budget 50%")(
    fp_first.fp_first
)


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """Counts without decimals; the mean over all orders with one."""
    counts = {name: f"{row[name]:.3g}" for name in ("caught", "corrected", "more") if row[name] is not None}
    return {**row, **counts}
