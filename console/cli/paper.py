"""`inferact paper`: play the runs that a paper's tables need, and report the published beside the measured figures.

With a model, a pilot comes first. Its estimate is kept in the folder of the report, so that a command that was stopped
continues without asking again.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from console.cli.output import Json, emit_json, progress, say, split_names
from console.errors import BadInput, Refused

if TYPE_CHECKING:
    from console.trials.reproduction.papers import Reproduction
    from console.trials.reproduction.spending import SpendingEstimate

_EXAMPLE = "Example: inferact paper inferact --offline --tables 3,7 --out report"
app = typer.Typer(
    help="Reproduce the tables of a paper, offline or with a model, as an HTML report and a CSV file.",
    epilog=_EXAMPLE,
    no_args_is_help=True,
)

Offline = Annotated[bool, typer.Option("--offline", help="Use the scripted Actor and detectors without a model.")]
Model = Annotated[str | None, typer.Option(help="Use the paper's Actors and detectors with this model.")]
AskAbove = Annotated[float, typer.Option(min=0, help="Ask first if the estimate exceeds this many USD.")]
Worlds = Annotated[
    list[str] | None,
    typer.Option("--world", help="A real world: webshop=URL, hotpotqa=FILE or alfworld=FOLDER; repeatable."),
]
Pilot = Annotated[int, typer.Option(min=2, help="Tasks per environment of the pilot.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
OnlyEstimate = Annotated[bool, typer.Option("--estimate", help="Only run the pilot and print the estimate.")]
Iterations = Annotated[int, typer.Option(min=1, help="Number of batches per plan training.")]
FineErrors = Annotated[bool, typer.Option(help="Let ALFWorld explain why an action had no effect.")]
Tasks = Annotated[int, typer.Option(min=2, help="Tasks per environment.")]
Trials = Annotated[int, typer.Option(min=1, help="Trials after the first one.")]
Tables = Annotated[str, typer.Option(help="Numbers of the tables, comma-separated (default: all).")]
Seed = Annotated[int, typer.Option(help="Random seed of tasks and inspection order.")]
Out = Annotated[Path, typer.Option(help="Folder for report.html and figures.csv.")]

ESTIMATE = "estimate.json"
"""The file with the estimate and the consent, in the folder of the report."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The options that all papers share."""

    offline: bool
    model: str | None
    tables: str
    out: Path
    ask_above: float
    yes: bool
    only_estimate: bool
    worlds: list[str] | None
    as_json: bool


@app.command("inferact", epilog=_EXAMPLE)
def inferact(
    offline: Offline = False,
    model: Model = None,
    world: Worlds = None,
    tasks: Tasks = 60,
    trials: Trials = 3,
    tables: Tables = "",
    seed: Seed = 0,
    out: Out = Path("paper-inferact"),
    pilot: Pilot = 10,
    ask_above: AskAbove = 1.0,
    yes: Yes = False,
    only_estimate: OnlyEstimate = False,
    as_json: Json = False,
) -> None:
    """Reproduce InferAct: detection, calibration, success by feedback, outcomes and the quota."""
    asking = Asking(offline, model, tables, out, ask_above, yes, only_estimate, world, as_json)
    _reproduce(asking, {"paper": "inferact", "tasks": tasks, "trials": trials, "seed": seed, "pilot": pilot})


@app.command("devils-advocate", epilog="Example: inferact paper devils-advocate --offline")
def devils_advocate(
    offline: Offline = False,
    model: Model = None,
    world: Worlds = None,
    tasks: Tasks = 60,
    trials: Trials = 6,
    tables: Tables = "",
    seed: Seed = 0,
    out: Out = Path("paper-devils-advocate"),
    pilot: Pilot = 10,
    ask_above: AskAbove = 1.0,
    yes: Yes = False,
    only_estimate: OnlyEstimate = False,
    as_json: Json = False,
) -> None:
    """Reproduce Devil's Advocate: success, actions per trial and plan revisions."""
    asking = Asking(offline, model, tables, out, ask_above, yes, only_estimate, world, as_json)
    _reproduce(asking, {"paper": "devils-advocate", "tasks": tasks, "trials": trials, "seed": seed, "pilot": pilot})


@app.command("autoplan", epilog="Example: inferact paper autoplan --offline")
def autoplan(
    offline: Offline = False,
    model: Model = None,
    world: Worlds = None,
    tasks: Tasks = 60,
    iterations: Iterations = 6,
    fine_errors: FineErrors = False,
    tables: Tables = "",
    seed: Seed = 0,
    out: Out = Path("paper-autoplan"),
    pilot: Pilot = 10,
    ask_above: AskAbove = 1.0,
    yes: Yes = False,
    only_estimate: OnlyEstimate = False,
    as_json: Json = False,
) -> None:
    """Reproduce AutoPlan: success by type of household task, and accuracy on questions."""
    asking = Asking(offline, model, tables, out, ask_above, yes, only_estimate, world, as_json)
    plan = {"trials": 1, "iterations": iterations, "fine_errors": fine_errors}
    _reproduce(asking, {"paper": "autoplan", "tasks": tasks, "seed": seed, "pilot": pilot, **plan})


def _reproduce(asking: Asking, asked: dict[str, Any]) -> None:
    from console.trials.reproduction import papers, report  # numpy and scipy, which few commands need
    from console.trials.reproduction.tables import list_left_out

    if asking.offline == bool(asking.model):
        raise BadInput("Add --offline, or --model with the name of a model, but not both.")
    numbers = split_names(asking.tables) if asking.tables else []
    if not all(number.isdecimal() for number in numbers):
        raise BadInput(f"--tables {asking.tables!r} is not a list of numbers. Give numbers such as 3,7.")
    wanted = papers.Reproduction(
        **asked,
        wanted=frozenset(map(int, numbers)),
        watch=lambda name: progress(f"{name}: trials"),
        model=asking.model or "",
        sources=tuple(asking.worlds or ()),
    )
    wanted.spending.model, wanted.spending.account = wanted.model, f"{wanted.account} {wanted.tasks} tasks"
    estimate = _agreed(asking, wanted) if wanted.model else None
    if asking.only_estimate:
        return
    cells = papers.reproduce(wanted)
    spent = _describe_spending(wanted, estimate) if estimate else ""
    page, sheet = report.write_report(wanted, cells, asking.out, spent)
    measured = sum(one.measured is not None for one in cells)
    if asking.as_json:
        document = {"paper": wanted.paper, "figures": len(cells), "measured": measured}
        emit_json({**document, "files": [str(page), str(sheet)]} | ({"spent": spent} if spent else {}))
        return
    say(f"{measured} of {len(cells)} figures have a measured value. Open {page}; the rows are in {sheet}.")
    for sentence in [*list_left_out(cells), *([spent] if spent else [])]:
        say(sentence)


def _agreed(asking: Asking, wanted: Reproduction) -> SpendingEstimate:
    """Return the estimate of a pilot, or the estimate of an earlier call; ask if the cost may exceed the limit.

    Raise Refused if the cost may exceed the limit without a terminal to ask.
    """
    from console.trials.reproduction import papers, spending

    kept = asking.out / ESTIMATE
    key = f"{wanted.account} {wanted.tasks} tasks, {wanted.iterations} iterations"
    known = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    if known.get("of") == key:
        estimate, agreed = spending.parse_estimate(known["estimate"]), bool(known["agreed"])
    else:
        pilot = wanted.as_pilot()
        say(f"Running {pilot.tasks} tasks per environment first, to estimate the cost of all.")
        papers.reproduce(pilot)
        estimate = spending.estimate_spending(pilot.spending, papers.plan_parts(wanted), pilot.tasks)
        agreed = False
    say(estimate.in_words())
    if not agreed and not asking.only_estimate:
        _ask(asking, estimate)
        agreed = True
    asking.out.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"of": key, "agreed": agreed, "estimate": estimate.to_dict()}), "utf-8")
    return estimate


def _ask(asking: Asking, estimate: SpendingEstimate) -> None:
    most = estimate.most_usd
    if asking.yes or (most is not None and most <= asking.ask_above):
        return
    cost = "The price is unknown" if most is None else f"This may cost {most:,.2f} USD"
    if not sys.stdin.isatty():
        raise Refused(f"{cost}, and --ask-above is {asking.ask_above:g} USD. Add --yes, or raise --ask-above.")
    if not typer.confirm(f"{cost}. Continue?"):
        raise Refused("Nothing more was run. The pilot is stored, so the same command later costs less.")


def _describe_spending(wanted: Reproduction, estimate: SpendingEstimate) -> str:
    """Describe the requests, tokens and cost of all calls, including the pilot, beside the estimate."""
    from console.trials.reproduction.spending import sum_used

    first = wanted.as_pilot().spending
    first.parts = dict(wanted.spending.parts)
    used = sum_used([first, wanted.spending])
    cost = used["cost_usd"]
    price = "an unknown price" if cost is None else f"{cost:,.4f} USD"
    return (
        f"Used, pilot included: {used['requests']:,} requests, {used['prompt_tokens']:,} tokens in, "
        f"{used['completion_tokens']:,} out, {price}. {estimate.in_words()}"
    )
