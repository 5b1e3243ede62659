"""`inferact paper`: play the runs that a paper's tables need, and report the published beside the measured figures.

With a model, a pilot comes first. Its estimate is kept in the folder of the report, so that a command that was stopped
continues without asking again.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from types import SimpleNamespace
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

ESTIMATE = "estimate.json"
"""The file with the estimate and the consent, in the folder of the report."""


_OPTIONS: dict[str, tuple[Any, Any, Any]] = {
    "offline": (bool, typer.Option("--offline", help="Use the scripted Actor and detectors without a model."), False),
    "model": (str | None, typer.Option(help="Use the paper's Actors and detectors with this model."), None),
    "world": (
        list[str] | None,
        typer.Option(
            "--world", help="Sources: webshop=URL, hotpotqa=FILE[@URL], alfworld=FOLDER, browser=FOLDER. Repeatable."
        ),
        None,
    ),
    "tasks": (int, typer.Option(min=2, help="Tasks per environment."), 60),
    "trials": (int, typer.Option(min=1, help="Trials after the first one."), 3),
    "iterations": (int, typer.Option(min=1, help="Number of batches per plan training."), 6),
    "fine_errors": (bool, typer.Option(help="Let ALFWorld explain why an action had no effect."), False),
    "tables": (str, typer.Option(help="Numbers of the tables, comma-separated (default: all)."), ""),
    "seed": (int, typer.Option(help="Random seed of tasks and inspection order."), 0),
    "out": (Path, typer.Option(help="Folder for report.html and figures.csv."), None),
    "pilot": (int, typer.Option(min=2, help="Tasks per environment of the pilot."), 10),
    "ask_above": (float, typer.Option(min=0, help="Ask for confirmation if the estimate exceeds this many USD."), 1.0),
    "yes": (bool, typer.Option("--yes", help="Do not ask for confirmation."), False),
    "only_estimate": (bool, typer.Option("--estimate", help="Only run the pilot and print the estimate."), False),
}
"""The options of the commands: type, description and default."""
_PLAYED = ("tasks", "trials", "iterations", "fine_errors", "seed", "pilot")
"""The options that become fields of a reproduction."""


def _add_command(paper: str, text: str, left_out: tuple[str, ...], trials: int = 3) -> None:
    own = {"trials": trials, "out": Path(f"paper-{paper}")}
    kept = {
        name: (Annotated[kind, about], own.get(name, default))
        for name, (kind, about, default) in _OPTIONS.items()
        if name not in left_out
    } | {"as_json": (Json, False)}

    def command(**options: Any) -> None:
        _reproduce(
            SimpleNamespace(**options),
            {"paper": paper, "trials": 1, **{name: options[name] for name in _PLAYED if name in options}},
        )

    command.__doc__ = text
    command.__annotations__ = {name: kind for name, (kind, _) in kept.items()}
    named = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, named, default=default, annotation=kind) for name, (kind, default) in kept.items()]
    )
    example = _EXAMPLE if paper == "inferact" else f"Example: inferact paper {paper} --offline"
    app.command(paper, epilog=example)(command)


_add_command(
    "inferact",
    "Reproduce InferAct: detection, calibration, success by feedback, outcomes and the quota.",
    ("iterations", "fine_errors"),
)
_add_command(
    "devils-advocate",
    "Reproduce Devil's Advocate: success, actions per trial and plan revisions.",
    ("iterations", "fine_errors"),
    trials=6,
)
_add_command(
    "autoplan", "Reproduce AutoPlan: success by type of household task, and accuracy on questions.", ("trials",)
)


def _reproduce(asking: SimpleNamespace, asked: dict[str, Any]) -> None:
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
        sources=tuple(asking.world or ()),
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


def _agreed(asking: SimpleNamespace, wanted: Reproduction) -> SpendingEstimate:
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


def _ask(asking: SimpleNamespace, estimate: SpendingEstimate) -> None:
    most = estimate.most_usd
    if asking.yes or (most is not None and most <= asking.ask_above):
        return
    cost = "The price is unknown" if most is None else f"This may cost {most:,.2f} USD"
    if not sys.stdin.isatty():
        raise Refused(f"{cost}, and --ask-above is {asking.ask_above:g} USD. Add --yes, or raise --ask-above.")
    if not typer.confirm(f"{cost}. Continue?"):
        raise Refused("The command stopped after the pilot. The pilot is stored, so the same command later costs less.")


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
