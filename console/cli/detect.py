"""`inferact detect`, `evaluate`, `tune`, `recalibrate`, `detector`: run detectors and measure their verdicts."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.cli import detect_files
from console.cli.output import (
    Json,
    RunName,
    emit,
    emit_json,
    emit_table,
    progress,
    run_by_default,
    say,
    show_table,
    split_names,
)
from console.database import now_ms, reading, writing
from console.detection import batch, batch_jobs
from console.detection.detectors import DETECTORS, stacked
from console.detection.detectors.shared.model_clients import ModelOptions
from console.detection.estimate import asks_models
from console.detection.estimate import estimate_cost as cost_estimate
from console.detection.verdicts import Detection, DetectionReport
from console.errors import BadInput, Refused
from console.language import counted
from console.llm import ClientUsage
from console.review import line_corrections
from console.runs import costs
from console.studies.design.factors import study_threshold
from console.trajectory.requirements import Standing

_BUILT_IN = f"{', '.join(DETECTORS.built_in)}, or one of a plug-in"
Methods = Annotated[
    str, typer.Option(help=f"Detectors, comma-separated: {_BUILT_IN}. NAME@MODEL selects a model for that detector.")
]
Stated = Annotated[
    list[str] | None,
    typer.Option("--cost", help="Cost of an error, to order items by: PATTERN=AMOUNT or PATTERN=price."),
]
Swap = Annotated[
    bool, typer.Option("--swap-labels", help="Ask each true-or-false question in both orders, with one more request.")
]
Bar = Annotated[
    float | None, typer.Option("--threshold", help="Flag scores above this threshold (default: the detector's).")
]
Model = Annotated[str | None, typer.Option(help="Model to use (default: INFERACT_MODEL).")]
InferModel = Annotated[str | None, typer.Option(help="Model that infers the agent's task (default: --model).")]
VerifyModel = Annotated[str | None, typer.Option(help="Model for comparisons and other prompts (default: --model).")]
Effort = Annotated[str | None, typer.Option(help="Reasoning effort of a reasoning model: low, medium or high.")]
Why = Annotated[bool, typer.Option("--why", help="Let InferAct explain its flags. Each flag costs one more request.")]
Paper = Annotated[bool, typer.Option("--paper", help="Use the prompts and the parsing of the paper's reference code.")]
Batches = Annotated[
    bool, typer.Option("--batch", help="Use the Batch API. If interrupted, the same command continues the batch.")
]
OnlyCost = Annotated[
    bool, typer.Option("--estimate", help="Only estimate the cost, by judging up to three checkpoints.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation before using paid models.")]


Engine = Annotated[str | None, typer.Option(help="dask: RUN is a .jsonl or .parquet file, or a folder of them.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of the dask scheduler (default: local workers).")]
Workers = Annotated[int, typer.Option(min=1, help="With --engine: the number of local workers.")]
Critical = Annotated[list[str] | None, typer.Option(help="With --engine: a pattern of critical actions. Repeatable.")]
Results = Annotated[Path | None, typer.Option(help="With --engine: the Parquet file to write.")]
Verdicts = Annotated[Path | None, typer.Option(help="Store the verdicts of a file of --engine first.")]


def detect(
    run: RunName,
    method: Methods,
    threshold: Bar = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed of detectors.")] = None,
    route: Annotated[str | None, typer.Option(help="Detector that flags and ranks (default: the first one).")] = None,
    model: Model = None,
    infer_model: InferModel = None,
    verify_model: VerifyModel = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Simultaneous requests to a model.")] = None,
    swap_labels: Swap = False,
    cost: Stated = None,
    reasoning_effort: Effort = None,
    why: Why = False,
    paper: Paper = False,
    in_batches: Batches = False,
    every: Annotated[float, typer.Option(min=0.05, help="With --batch: seconds between two status checks.")] = 30.0,
    cap_usd: Annotated[float | None, typer.Option(min=0, help="Spending limit in USD.")] = None,
    estimate: OnlyCost = False,
    yes: Yes = False,
    engine: Engine = None,
    scheduler: Scheduler = None,
    workers: Workers = 2,
    critical: Critical = None,
    out: Results = None,
    verdicts: Verdicts = None,
    as_json: Json = False,
) -> None:
    """Judge the checkpoints of a run that are not judged yet, and queue the actions that the routing detector flags.

    On a terminal, the command first estimates the cost of models and asks for confirmation.
    """
    methods = split_names(method, "detector with --method")
    _refuse_contradictions(paper=paper, more=swap_labels or why, whole=in_batches, cap_usd=cap_usd)
    models: dict[str, Any] = {"model": model, "infer_model": infer_model, "verify_model": verify_model}
    models |= {"concurrency": concurrency, "spending_cap_usd": cap_usd, "reasoning_effort": reasoning_effort}
    # Checkpoints judged for the estimate count towards the same limit.
    account = f"detection {secrets.token_hex(8)}" if cap_usd is not None else None
    asking = ModelOptions(**models, account=account, swap_labels=swap_labels, paper=paper, explain=why)
    if engine is not None:
        work = {"methods": tuple(methods), "critical": tuple(critical or ()), "threshold": threshold, "seed": seed or 0}
        detect_files.judge(run, work, asking, engine, (scheduler, workers), out, as_json)
        return
    if verdicts is not None:
        detect_files.take_verdicts(run, verdicts)
    asks = estimate or (not yes and not as_json and sys.stdin.isatty() and asks_models(methods))
    if asks and not _agreed(run, methods, asking, seed, only_told=estimate, as_json=as_json):
        return
    options = {"threshold": threshold, "seed": seed, "route": route, "stated": costs.parse(cost) if cost else None}
    _tell(run, _run_detection(run, methods, asking, every if in_batches else None, options), as_json)


def _refuse_contradictions(*, paper: bool, more: bool, whole: bool, cap_usd: float | None) -> None:
    if paper and more:
        raise BadInput("--paper asks each question once, without an explanation. Remove --swap-labels and --why.")
    if whole and cap_usd is not None:
        raise BadInput(
            "--cap-usd cannot stop a batch, which is paid as a whole. Remove --cap-usd, or use --estimate first."
        )


def _run_detection(
    run: str, methods: list[str], asking: ModelOptions, every_s: float | None, options: dict[str, Any]
) -> Detection:
    if every_s is not None:
        return batch_jobs.detect(run, methods, asking, every_s=every_s, tell=_on_stderr, **options)
    with progress("judging") as tell:
        return batch.run_detection(run, methods, asking=asking, progress=tell, **options)


def _tell(run: str, detection: Detection, as_json: bool) -> None:
    rows = [asdict(report) for report in detection.reports]
    if as_json:
        lacking = {model: list(names) for model, names in detection.asked.lacking.items()}
        emit_json({"run": run, "detectors": rows, "asked": asdict(detection.asked.tally), "not_offered": lacking})
    else:
        _print(rows, detection.asked.tally)
        for sentence in detection.lacking:
            say(sentence)
        _name_refusals(detection.reports)
    if missing := sum(report.errors for report in detection.reports):
        raise Refused(_without_verdict(missing, detection.reports, run))
    if not as_json:
        onward = f"{run} has no critical actions, so nothing was judged. Next: inferact run critical {quote(run)}"
        if any(report.checkpoints or report.halted for report in detection.reports):
            onward = detection.queue_note or "Next: inferact serve"
        say(onward)


def _on_stderr(sentence: str) -> None:
    typer.echo(sentence, err=True)


def _agreed(
    run: str, methods: list[str], asking: ModelOptions, seed: int | None, *, only_told: bool, as_json: bool
) -> bool:
    _on_stderr("Estimating the cost of models by judging up to three checkpoints.")
    found = cost_estimate(run, methods, asking=asking, seed=seed)
    if only_told and as_json:
        told = {"requests": found.requests, "cost_usd": found.cost_usd}
        emit_json({"run": run, **asdict(found), **told})
        return False
    say(found.in_words())
    return not only_told and (not found.requests or typer.confirm("Continue?"))


def _print(rows: list[dict[str, Any]], tally: ClientUsage) -> None:
    columns = ["detector", "threshold", "checkpoints", "judged", "cached", "flagged", "halted", "excluded", "queued"]
    asked = any(row["model"] for row in rows)
    if asked:
        columns[1:1], columns[7:7] = ["model", "mode"], ["unparsed", "errors"]
    show_table(rows, columns)
    if asked:
        again = f", {tally.retries} of them retries" if tally.retries else ""
        price = f"{tally.cost_usd:.4f} USD" if tally.cost_usd or not tally.prompt_tokens else "price unknown"
        tokens = f"{tally.prompt_tokens:,} tokens in, {tally.completion_tokens:,} out, {price}"
        say(f"{counted(tally.requests, 'request')}{again}, {tally.cached:,} cached; {tokens}")


def _without_verdict(missing: int, reports: Sequence[DetectionReport], run: str) -> str:
    verdicts = "verdict is" if missing == 1 else "verdicts are"
    cause = next(report.last_problem for report in reports if report.last_problem)
    return (
        f"{missing} {verdicts} missing in {run}. The last request failed: {cause.rstrip('.')}. "
        "Fix the problem, then run the same command again. The command requests only the missing verdicts."
    )


def _name_refusals(reports: Sequence[DetectionReport]) -> None:
    """State the number of checkpoints without a verdict because of refusals or empty replies, with the last cause."""
    for report in reports:
        if report.refused:
            say(
                f"{report.model} refused to judge {counted(report.refused, 'checkpoint')} ({report.last_silence}). A "
                "person decides these checkpoints, which have no score and count in no metric."
            )
        elif report.last_silence:
            say(f"{report.model} gave an empty reply ({report.last_silence}). A person decides the checkpoint.")


Across = Annotated[
    bool,
    typer.Option(
        "--across", help="Compare results within each run and on runs not used for fitting. RUN may list several runs."
    ),
]


def evaluate(
    run: Annotated[str | None, typer.Argument(help="The run's name, or several names with --across.")] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="A CSV file with the columns label, score and optionally detector, instead of a run."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="With --scores: flag scores above this threshold (default: 0.5). With --paper, also flag equal scores."
        ),
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Use the thresholds and scores of the reference code, in which -1 is an undefined score."
        ),
    ] = False,
    across: Across = False,
    as_json: Json = False,
) -> None:
    """Measure detectors against labels: Macro-F1, cost, effective reliability, PR-AUC, calibration."""
    if across:
        _evaluate_across(split_names(run or ""), as_json)
        return
    from console.analysis.metrics.score_file import evaluate_scores
    from console.detection.evaluation import metrics  # numpy, which only this command and tune need

    if (run is None) == (scores is None):
        raise BadInput("Give either a run or a file with --scores.")
    if run is not None and threshold is not None and not paper:
        raise BadInput(
            "--threshold does not apply to the verdicts of a run. Remove --threshold, or add --paper or --scores "
            "FILE. To flag with another threshold, use `inferact detect`."
        )
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
    if any("mode" in row for row in rows):
        columns += ["mode", "verdicts", "threshold_from"] if paper else ["mode"]
    show_table(rows, columns, empty="The file has no rows.")


def _evaluate_across(names: list[str], as_json: bool) -> None:
    from console.detection.evaluation import across  # numpy and scikit-learn, which only this needs

    with reading() as session:
        sources = across.read_sources(session, names)
    rows = across.evaluate_across(sources)
    if as_json:
        emit_json(
            {"sources": {name: len(cases) for name, cases in sources.items()}, "rows": [r.as_dict() for r in rows]}
        )
        return
    shown = across.format_cells(rows)
    show_table(shown, list(shown[0]))
    say(across.NOTE)


def tune(
    run: RunName,
    method: Annotated[str, typer.Option(help="The detector's name.")],
    dev_size: Annotated[
        int, typer.Option(min=1, help="Number of trajectories to tune on. The other trajectories are the test set.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="Random seed that selects the trajectories to tune on.")] = 0,
    as_json: Json = False,
) -> None:
    """Find a detector's threshold by Macro-F1 on a dev set, without using the test set."""
    from console.detection.evaluation import metrics  # numpy, which only this command and evaluate need

    with reading() as session:
        document = metrics.tune(session, runs.get(session, run), method, dev_size, seed)
    test, dev, threshold = document["test"], document["dev"], f"{document['threshold']:.4f}"
    emit(
        document,
        as_json,
        f"{method} flags above {threshold} (Macro-F1 {dev['macro_f1']:.3f} on {dev_size})\n"
        f"On the other {test['n']}: Macro-F1 {test['macro_f1']:.3f}, cost {test['cost']}, ER {test['er']:.3f}\n"
        f"Use it: inferact detect {quote(run)} --method {quote(method)} --threshold {threshold}",
    )


app = typer.Typer(help="List detectors, or fit a stack of detectors.", invoke_without_command=True)


@app.command("list", epilog="Example: inferact detector list")
@run_by_default(app)
def list_detectors(as_json: Json = False) -> None:
    """List the detectors and the fitted stacks."""
    columns = ("detector", "title", "asks_a_model", "threshold", "threshold_in_studies")
    told: list[tuple[object, ...]] = [
        (name, one.title, one.ask is not None, one.threshold, study_threshold(one)) for name, one in DETECTORS.items()
    ]
    told += [
        (f"stacked@{path.stem}", f"Stacked ({path.stem})", None, 0.5, 0.5)
        for path in sorted(stacked.folder().glob("*.json"))
    ]
    emit_table([dict(zip(columns, row, strict=True)) for row in told], columns, as_json)


@app.command("lines", epilog="Example: inferact detector lines support --json")
def count_lines(run: RunName, as_json: Json = False) -> None:
    """Count the requirement lines of a run's verdicts, and reviewers' corrections, by detector."""
    with reading() as session:
        found = [one.to_dict() for one in line_corrections.count_lines(session, runs.get(session, run))]
    columns = ("detector", "verdicts", "lines", *(kind.replace(" ", "_") for kind in Standing), "dropped")
    empty = (
        "No verdict of this run has a requirement table. Create the tables: inferact detect RUN --method requirements"
    )
    emit_table(found, (*columns, "reviewed", "corrected_lines", "corrected_broken"), as_json, empty=empty)


@app.command("fit", epilog="Example: inferact detector fit shop --run shop --method rules,inferact-prob")
def fit(
    name: Annotated[str, typer.Argument(help="The stack's name, which you use as stacked@NAME.")],
    run: Annotated[str, typer.Option("--run", help="The run whose labels the stack learns from.")],
    method: Annotated[str, typer.Option(help="The detectors to combine, comma-separated.")],
    labels: Annotated[
        str, typer.Option(help="Labels to learn from: reviewers (decisions of people) or gold (from the source).")
    ] = "reviewers",
    seed: Annotated[int, typer.Option(help="Random seed that selects the held-out tasks.")] = 0,
    as_json: Json = False,
) -> None:
    """Fit a stack of detectors to a run's labels; fail if there are too few labels."""
    from console.detection import fitting  # scikit-learn's room, which only this needs

    path = stacked.path_of(name)
    inputs = list(dict.fromkeys(split_names(method)))
    with reading() as session:
        stack, learnt = fitting.fit_stack(session, runs.get(session, run), inputs, labels=labels, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stack.to_json())
    emit(
        {"detector": f"stacked@{name}", "inputs": stack.inputs, **asdict(learnt)},
        as_json,
        f"Fitted to {learnt.labels} labels, {learnt.misaligned} of them misaligned.\n"
        f"On held-out tasks: Macro-F1 {learnt.macro_f1:.3f} above {learnt.threshold:.3f}, AP {learnt.ap or 0:.3f}\n"
        f"Next: inferact detect {quote(run)} --method stacked@{quote(name)} --threshold {learnt.threshold:.3f}",
    )


def recalibrate(
    run: RunName,
    detector: Annotated[str, typer.Option(help="The detector whose scores are converted to probabilities.")],
    method: Annotated[str, typer.Option(help="platt (a sigmoid) or isotonic (any increasing curve).")] = "platt",
    seed: Annotated[int, typer.Option(help="Random seed of the cross-validation folds.")] = 0,
    as_json: Json = False,
) -> None:
    """Learn P(misaligned) from reviewers' decisions, as an additional detector that can be measured with the others."""
    from console.detection import fitting  # numpy, which few commands need

    with writing() as session:
        learnt = fitting.recalibrate(session, runs.get(session, run), detector, method, now_ms(), seed=seed)
    learnt_from = f"{learnt.labels} labels, {learnt.misaligned} of them misaligned"
    emit(
        asdict(learnt),
        as_json,
        f"{learnt.detector}: {learnt.verdicts} verdicts with probabilities, fitted to {learnt_from}\n"
        f"On held-out tasks: ECE {learnt.ece_before:.3f} -> {learnt.ece:.3f}, "
        f"Brier {learnt.brier_before:.3f} -> {learnt.brier:.3f}\nNext: inferact evaluate {quote(run)}",
    )
