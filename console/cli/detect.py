"""`inferact detect`, `evaluate`, `tune`, `recalibrate`, `detector`: detectors, their verdicts, how good those are."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.cli.output import Json, RunName, by_default, emit_json, emit_table, names_of, progress, say, show_table
from console.database import now_ms, reading, writing
from console.detection import batch, batch_jobs
from console.detection.batch import DetectionReport
from console.detection.detectors import DETECTORS, stacked
from console.detection.detectors.shared.model_clients import Asking
from console.detection.estimate import asks_models
from console.detection.estimate import estimate as cost_estimate
from console.errors import BadInput, Refused
from console.llm import ClientUsage
from console.review import inbox
from console.runs import costs

Methods = Annotated[
    str, typer.Option(help=f"Detectors, comma-separated: {', '.join(DETECTORS)}; NAME@MODEL binds one to a model.")
]
Stated = Annotated[
    list[str] | None,
    typer.Option("--cost", help="PATTERN=AMOUNT or PATTERN=price; ranks by expected cost."),
]
Swap = Annotated[
    bool, typer.Option("--swap-labels", help="Ask true-or-false questions both ways round; costs one more each.")
]
Bar = Annotated[float | None, typer.Option("--threshold", help="Flag above this score.")]
DrawSeed = Annotated[int | None, typer.Option("--seed", help="For detectors that draw.")]
Route = Annotated[str | None, typer.Option(help="The detector that flags and ranks; the first one used, else.")]
Model = Annotated[str | None, typer.Option(help="The model to ask; INFERACT_MODEL, else.")]
InferModel = Annotated[str | None, typer.Option(help="Another model to infer the agent's task.")]
VerifyModel = Annotated[str | None, typer.Option(help="Another model to compare it, and for all else.")]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Requests to a model at a time.")]
Effort = Annotated[str | None, typer.Option(help="How long reasoning models may think: low, medium, high.")]
Why = Annotated[bool, typer.Option("--why", help="Let InferAct say why it flags; one more request each.")]
Paper = Annotated[bool, typer.Option("--paper", help="Ask and read replies as the paper's reference code does.")]
Batches = Annotated[
    bool, typer.Option("--batch", help="Ask by the Batch API; stopped, the same command goes on with it.")
]
Every = Annotated[float, typer.Option(min=0.05, help="With --batch: seconds between two looks at it.")]
Cap = Annotated[float | None, typer.Option(min=0, help="Stop before spending more than this.")]
OnlyCost = Annotated[
    bool, typer.Option("--estimate", help="Only say what it would cost; judges a few checkpoints to count.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before models are paid.")]


def detect(
    run: RunName,
    method: Methods,
    threshold: Bar = None,
    seed: DrawSeed = None,
    route: Route = None,
    model: Model = None,
    infer_model: InferModel = None,
    verify_model: VerifyModel = None,
    concurrency: Concurrency = None,
    swap_labels: Swap = False,
    cost: Stated = None,
    reasoning_effort: Effort = None,
    why: Why = False,
    paper: Paper = False,
    in_batches: Batches = False,
    every: Every = 30.0,
    cap_usd: Cap = None,
    estimate: OnlyCost = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Judge every checkpoint of a run that is not judged yet, and queue what the routing detector flags.

    On a terminal it says first what models will cost, and asks.
    """
    methods = names_of(method, "detector with --method")
    if paper and (swap_labels or why):
        raise BadInput("The paper asks each question once and asks for no why; leave --swap-labels and --why out.")
    if in_batches and cap_usd is not None:
        raise BadInput("A batch is paid as a whole, so --cap-usd cannot stop it; ask with --estimate first.")
    models: dict[str, Any] = {"model": model, "infer_model": infer_model, "verify_model": verify_model}
    models |= {"concurrency": concurrency, "spending_cap_usd": cap_usd, "reasoning_effort": reasoning_effort}
    # What is judged to count the cost is under the same cap.
    account = f"detection {secrets.token_hex(8)}" if cap_usd is not None else None
    asking = Asking(**models, account=account, swap_labels=swap_labels, paper=paper, explain=why)
    asks = estimate or (not yes and not as_json and sys.stdin.isatty() and asks_models(methods))
    if asks and not _agreed(run, methods, asking, seed, only_told=estimate, as_json=as_json):
        return
    options = {"threshold": threshold, "seed": seed, "route": route, "stated": costs.parse(cost) if cost else None}
    if in_batches:
        detection = batch_jobs.detect(run, methods, asking, every_s=every, tell=_on_stderr, **options)
    else:
        detection = _detected(run, methods, asking, options)
    _tell(run, detection, as_json)


def _tell(run: str, detection: batch.Detection, as_json: bool) -> None:
    """Prints what a detection did; raises Refused where verdicts are missing."""
    rows = [asdict(report) for report in detection.reports]
    if as_json:
        lacking = {model: list(names) for model, names in detection.asked.lacking.items()}
        emit_json({"run": run, "detectors": rows, "asked": asdict(detection.asked.tally), "not_offered": lacking})
    else:
        _print(rows, detection.asked.tally)
        for sentence in detection.lacks():
            say(sentence)
    if missing := sum(report.errors for report in detection.reports):
        raise Refused(_without_verdict(missing, detection.reports, run))
    if not as_json:
        say(_next(run, detection.reports))


def _next(run: str, reports: Sequence[batch.DetectionReport]) -> str:
    if any(report.checkpoints or report.halted for report in reports):
        with reading() as session:
            return inbox.nothing_queued(session, runs.get(session, run)) or "Next: inferact serve"
    return f"No action of {run} is critical, so nothing was judged. Next: inferact run critical {quote(run)}"


def _detected(run: str, methods: list[str], asking: Asking, options: dict[str, Any]) -> batch.Detection:
    with progress("judging") as tell:
        return batch.detect_and_tell(run, methods, asking=asking, progress=tell, **options)


def _on_stderr(sentence: str) -> None:
    typer.echo(sentence, err=True)


_OWN = "console"
"""The mode of verdicts and figures that are not the paper's."""


def _agreed(run: str, methods: list[str], asking: Asking, seed: int | None, *, only_told: bool, as_json: bool) -> bool:
    """Whether the detection may go on once it was said what it costs."""
    _on_stderr("Counting what the models will cost; up to three checkpoints are judged for it.")
    found = cost_estimate(run, methods, asking=asking, seed=seed)
    if only_told and as_json:
        told = {"requests": found.requests, "cost_usd": found.cost_usd}
        emit_json({"run": run, **asdict(found), **told})
        return False
    say(found.in_words())
    return not only_told and (not found.requests or typer.confirm("Ask them?"))


def _print(rows: list[dict[str, Any]], tally: ClientUsage) -> None:
    columns = ["detector", "threshold", "checkpoints", "judged", "cached", "flagged", "halted", "excluded", "queued"]
    asked = any(row["model"] for row in rows)
    if asked:
        columns[1:1], columns[7:7] = ["model", "mode"], ["unparsed", "errors"]
    show_table(rows, columns, empty="")
    if asked:
        again = f", {tally.retries} of them sent again" if tally.retries else ""
        say(f"{tally.requests} requests{again}, {tally.cached} answers known already; {_spent(tally)}")


def _spent(tally: ClientUsage) -> str:
    tokens = f"{tally.prompt_tokens:,} tokens in, {tally.completion_tokens:,} out"
    unpriced = tally.prompt_tokens and not tally.cost_usd
    return f"{tokens}, at no known price" if unpriced else f"{tokens}, {tally.cost_usd:.4f} USD"


def _without_verdict(missing: int, reports: Sequence[DetectionReport], run: str) -> str:
    why = sum((Counter(report.problems) for report in reports), Counter[str]())
    causes = ", ".join(f"{count} {name}" for name, count in why.most_common())
    verdicts = "verdict is" if missing == 1 else "verdicts are"
    return f"{missing} {verdicts} missing in {run} ({causes}); the same command again asks only for those."


def evaluate(
    run: Annotated[str | None, typer.Argument(help="The run's name; or give --scores.")] = None,
    scores: Annotated[
        Path | None, typer.Option(help="A CSV with the columns label, score and, if you like, detector.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="With --scores: flag above it; 0.5, else. With --paper: from it on.")
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="As the reference code: its thresholds, its scores, -1 for undefined.")
    ] = False,
    across: Annotated[
        bool,
        typer.Option("--across", help="Within each run and on runs not learnt from; RUN may be several, by commas."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure detectors against labels: Macro-F1, cost, effective reliability, PR-AUC, calibration."""
    if across:
        _evaluate_across(names_of(run or ""), as_json)
        return
    from console.analysis.metrics.score_file import evaluate_scores
    from console.detection.evaluation import metrics  # numpy, which only this command and tune need

    if (run is None) == (scores is None):
        raise BadInput("Name a run, or a file with --scores.")
    if run is not None and threshold is not None and not paper:
        raise BadInput("--threshold goes with --scores or --paper; the verdicts of a run have theirs from detect.")
    if scores is not None:
        document = evaluate_scores(scores, threshold)
    else:
        with reading() as session:
            document = metrics.evaluate(session, runs.get(session, run or ""), paper=paper, threshold=threshold)
    if as_json:
        emit_json(document)
        return
    rows = [{"detector": name, **figures} for name, figures in document.items()]
    columns = ["detector", "n", "macro_f1", "cost", "er", "pr_auc", "ap", "roc_auc", "ece", "brier", "threshold"]
    if any(row.get("mode", _OWN) != _OWN for row in rows):
        columns += ["mode", "verdicts", "threshold_from"] if paper else ["mode"]
    show_table(rows, columns, empty="The file has no rows.")


def _evaluate_across(names: list[str], as_json: bool) -> None:
    from console.detection.evaluation import across  # numpy and scikit-learn, which only this needs

    with reading() as session:
        sources = across.sources_of(session, names)
    rows = across.across(sources)
    if as_json:
        emit_json(
            {"sources": {name: len(cases) for name, cases in sources.items()}, "rows": [r.as_dict() for r in rows]}
        )
        return
    shown = across.in_cells(rows)
    show_table(shown, list(shown[0]), empty="")
    say(across.NOTE)


def tune(
    run: RunName,
    method: Annotated[str, typer.Option(help="The detector.")],
    dev_size: Annotated[int, typer.Option(min=1, help="How many trajectories to tune on; the others test.")] = 50,
    seed: Annotated[int, typer.Option(help="Which trajectories those are.")] = 0,
    as_json: Json = False,
) -> None:
    """Find a detector's threshold by Macro-F1 on a dev set that the test never sees."""
    from console.detection.evaluation import metrics  # numpy, which only this command and evaluate need

    with reading() as session:
        document = metrics.tune(session, runs.get(session, run), method, dev_size, seed)
    if as_json:
        emit_json(document)
        return
    test = document["test"]
    dev = document["dev"]
    say(f"{method} flags above {document['threshold']:.4f} (Macro-F1 {dev['macro_f1']:.3f} on {dev_size})")
    say(f"On the other {test['n']}: Macro-F1 {test['macro_f1']:.3f}, cost {test['cost']}, ER {test['er']:.3f}")
    say(f"Use it: inferact detect {quote(run)} --method {quote(method)} --threshold {document['threshold']:.4f}")


app = typer.Typer(help="List detectors, fit a stack of them.", invoke_without_command=True)

RunOption = Annotated[str, typer.Option("--run", help="The run whose labels teach.")]
Labels = Annotated[str, typer.Option(help="reviewers: what people decided; gold: what the source knows.")]
Seed = Annotated[int, typer.Option(help="Which tasks are held out together.")]


@app.command("list", epilog="Example: inferact detector list")
@by_default(app)
def list_detectors(as_json: Json = False) -> None:
    """List the detectors, and the stacks fitted so far."""
    rows = [
        {"detector": name, "title": one.title, "asks_a_model": one.ask is not None, "threshold": one.threshold}
        for name, one in DETECTORS.items()
    ]
    rows += [
        {"detector": f"stacked@{path.stem}", "title": f"Stacked ({path.stem})", "asks_a_model": None, "threshold": 0.5}
        for path in sorted(stacked.folder().glob("*.json"))
    ]
    emit_table(rows, ("detector", "title", "asks_a_model", "threshold"), as_json, empty="")


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
    inputs = list(dict.fromkeys(names_of(method)))
    with reading() as session:
        stack, learnt = stacking.fit_stack(session, runs.get(session, run), inputs, labels=labels, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stack.to_json())
    if as_json:
        emit_json({"detector": f"stacked@{name}", "inputs": stack.inputs, **asdict(learnt)})
        return
    say(f"Learnt from {learnt.labels} labels, {learnt.misaligned} of them misaligned.")
    say(f"On tasks held out: Macro-F1 {learnt.macro_f1:.3f} above {learnt.threshold:.3f}, AP {learnt.ap or 0:.3f}")
    say(f"Next: inferact detect {quote(run)} --method stacked@{quote(name)} --threshold {learnt.threshold:.3f}")


def recalibrate(
    run: RunName,
    detector: Annotated[str, typer.Option(help="The detector whose scores become probabilities.")],
    method: Annotated[str, typer.Option(help="platt (a sigmoid) or isotonic (any rising curve).")] = "platt",
    seed: Annotated[int, typer.Option(help="For the folds of the cross-validation.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn P(misaligned) from what reviewers decided, as a further detector that can be measured beside the others."""
    from console.detection import recalibration  # numpy, which few commands need

    with writing() as session:
        learnt = recalibration.recalibrate(session, runs.get(session, run), detector, method, now_ms(), seed=seed)
    if as_json:
        emit_json(asdict(learnt))
        return
    learnt_from = f"{learnt.labels} labels, {learnt.misaligned} of them misaligned"
    say(f"{learnt.detector}: {learnt.verdicts} verdicts with probabilities learnt from {learnt_from}")
    say(
        f"On tasks not learnt from: ECE {learnt.ece_before:.3f} -> {learnt.ece:.3f}, "
        f"Brier {learnt.brier_before:.3f} -> {learnt.brier:.3f}"
    )
    say(f"Next: inferact evaluate {quote(run)}")
