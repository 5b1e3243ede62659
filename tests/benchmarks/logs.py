"""How well the detectors that need no model tell good from bad on recorded runs with a known result.

`python tests/benchmarks/logs.py --train FILE... --test FILE...`: thresholds come from the training files, figures from
the test files. Without --test, every other task of the training files is held out. A trajectory's score is the highest
of its checkpoints; halted, carried-over and unlabelled ones, and those without a critical action, are left out.

`python tests/benchmarks/logs.py --across FILE...` prints the handbook's tables: each file is a source, every figure
stands once within its source and once learnt on all other sources (AP by steps / AUC / Macro-F1, and the false alarms
and misses on cases not learnt from), beside controls that only know a record's form. A star marks the highest AP whose
interval excludes the next.

`--across --leave-out` takes each kind of log in turn as if nothing had been written for it: the readers of its pages
and the checks made on it are off everywhere, its records have the environment `generic`, and the weights of all other
checks are learnt anew on the other kinds (ridge towards 1 with the check's sign). For hand-written rules, "without it"
cannot mean more: word lists and patterns that several kinds share stay, whoever met a word first, and so do thresholds
inside of checks and the knowledge that a check exists at all. So the figures are an upper bound for a new kind of log.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.analysis.metrics.ranking_curves import rank_cases, roc_auc
from console.detection.detectors import detector
from console.detection.detectors.rules import CHECKS
from console.detection.detectors.shared.stacking_model import LabelledCheckpoint, fit_model
from console.detection.evaluation import across
from console.environments import ENVIRONMENTS
from console.environments.evidence import evidence_of
from console.errors import Refused
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import Label, Trajectory
from console.trajectory.checkpoints import Checkpoint, checkpoints

Scores = NDArray[np.float64]
Figure = Callable[[NDArray[np.bool_], Scores], float]
SEED, DRAWS, RESAMPLES = 1, 25, 1000
INPUTS = ("rules",)
"""What is stacked here: the detectors that need no model."""
DEFAULT = (
    "reflexion/reflexion/100_questions_5_trials.txt",
    "webshop/react_webshop_run_000-249.txt",
    "tau-bench/gpt-4o-airline.even.json",
    "tau-bench/grok-4-1-fast-reasoning-retail.even.json",
    "tau-bench/grok-4-fast-non-reasoning-retail.even.json",
    "tau-bench/react-grok-4-fast-reasoning-airline.even.json",
)
SOURCES = (*DEFAULT, "rjudge/rjudge.even.jsonl")


@dataclass(frozen=True)
class Kind:
    """What was written for one kind of log: the readers of its pages, and the modules and names of its checks."""

    readers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def checks(self) -> frozenset[str]:
        """The names of all its checks."""
        of = {name: check.__module__.rpartition(".")[2] for name, (_, check, _) in CHECKS.items()}
        return frozenset(self.names) | {name for name, module in of.items() if module in self.modules}


_OF_TAU = "unconfirmed number_differs argument_unseen figure_unseen many_arguments said_impossible"
_OF_RJUDGE = (
    "ordered_by_a_tool argument_of_a_tool recipient_of_a_tool done_unasked scope_not_asked only_talked refused acted "
    "grave_call verb_not_asked recipient_replaced"
)
KINDS = {
    "webshop": Kind(("purchase",), ("shopping",)),
    "reflexion": Kind(("reading",), ("answers",)),
    "tau-bench": Kind((), ("records",), tuple(_OF_TAU.split())),
    "rjudge": Kind((), ("dangers",), tuple(_OF_RJUDGE.split())),
}
"""The kinds by the folder of their logs."""


@dataclass(frozen=True)
class Row:
    """A detector's figures with their 95% intervals."""

    macro_f1: float
    macro_f1_interval: tuple[float, float]
    ap: float
    ap_interval: tuple[float, float]
    threshold: float | None


def usable(path: Path) -> list[Trajectory]:
    """The trajectories of a log that have a label and a critical action."""
    found = [entry.trajectory for entry in read_log(path)[1] if isinstance(entry, Found)]
    return [one for one in found if one.label is not None and not one.carried_over and _checkpoints(one)]


def scores(trajectories: Sequence[Trajectory], name: str, seed: int = SEED) -> Scores:
    """For each trajectory the highest score of its checkpoints."""
    judge = detector(name).judge
    return np.array([max(judge(at, seed).score for at in _checkpoints(one)) for one in trajectories])


def macro_f1(bad: NDArray[np.bool_], flagged: NDArray[np.bool_]) -> float:
    """The mean of the F1 of both classes; an undefined one is 0."""
    halves = []
    for truth, answer in ((bad, flagged), (~bad, ~flagged)):
        hits = int((truth & answer).sum())
        halves.append(2 * hits / total if (total := int(truth.sum() + answer.sum())) else 0.0)
    return sum(halves) / 2


def average_precision(bad: NDArray[np.bool_], score: Scores) -> float:
    """The area under the steps of the precision-recall curve, ties taken together."""
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    hits = np.cumsum(bad[order])[ends]
    steps = np.diff(hits, prepend=0)
    return float((steps * hits / (ends + 1)).sum() / max(1, bad.sum()))


def best_threshold(bad: NDArray[np.bool_], score: Scores) -> float:
    """The threshold with the highest Macro-F1 between two scores; of equal ones that nearest to 0.5."""
    values = np.unique(score)
    cuts = [0.5, *((values[1:] + values[:-1]) / 2).tolist()]
    return float(max(cuts, key=lambda cut: (macro_f1(bad, score > cut), -abs(cut - 0.5))))


def stacked(train: Sequence[Trajectory], test: Sequence[Trajectory]) -> tuple[Scores, float] | None:
    """Scores of the test runs and a threshold by what the training runs teach; None where those are too few."""
    try:
        stack, held_out = fit_model([_case(one) for one in train], INPUTS, SEED)
    except Refused:
        return None
    cases = [_case(one) for one in test]
    found = np.array([stack.probability(case.scores, case.checkpoint) for case in cases])
    return found, best_threshold(_bad(train), np.array(held_out))


def compare(train: Sequence[Trajectory], test: Sequence[Trajectory]) -> dict[str, Row]:
    """The figures of `rules`, what is stacked on it, `random` (mean and spread of 25 seeds) and the majority class."""
    bad = _bad(test)
    cut = (
        best_threshold(_bad(train), scores(train, "rules"))
        if len(set(_bad(train))) == 2
        else detector("rules").threshold
    )
    of_rules = scores(test, "rules")
    always = np.full(len(test), float(_bad(train).mean() >= 0.5) if train else 1.0)
    drawn = [scores(test, "random", seed) for seed in range(DRAWS)]
    f1s, aps = [macro_f1(bad, s > 0.5) for s in drawn], [average_precision(bad, s) for s in drawn]
    learnt = stacked(train, test)
    return {
        "rules": _row(bad, of_rules, cut),
        **({"stacked": _row(bad, *learnt)} if learnt else {}),
        "random": Row(float(np.mean(f1s)), _interval(f1s), float(np.mean(aps)), _interval(aps), 0.5),
        "majority": _row(bad, always, 0.5),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table for each environment and one line of JSON; returns 0 where every goal is met."""
    options = _options(arguments)
    if options.across is not None:
        paths = options.across or [_shared(name) for name in SOURCES]
        return print_left_out(paths) if options.leave_out else print_across(paths)
    train = [one for path in options.train for one in usable(path)]
    test = [one for path in options.test for one in usable(path)]
    if not options.test:
        train, test = [one for one in train if not _held_out(one)], [one for one in train if _held_out(one)]
    figures: dict[str, float] = {}
    for name in sorted({one.environment for one in test}):
        known, unseen = _of(train, name), _of(test, name)
        rows = compare(known, unseen)
        print(_table(name, unseen, rows))
        for figure in ("macro_f1", "ap"):
            values = {who: getattr(row, figure) for who, row in rows.items()}
            figures |= {f"{name}.{who}.{figure}": round(value, 4) for who, value in values.items()}
            floor = max(values["random"], values["majority"])
            figures[f"{name}.{figure}_above_floor"] = round(values["rules"] - floor, 4)
            if "stacked" in values:
                figures[f"{name}.stacked_{figure}_above_floor"] = round(values["stacked"] - floor, 4)
    goals = {name: [">=", 0.001] for name in figures if name.endswith("_above_floor")}
    met = bool(goals) and all(figures[name] >= goal for name, (_, goal) in goals.items())
    print(json.dumps({"benchmark": "logs", "figures": figures, "goals": goals, "met": met}))
    return 0 if met else 1


def print_across(paths: Sequence[Path]) -> int:
    """Prints the table of all sources, once within and once across, and one line of JSON; returns 0."""
    sources = {f"{path.parent.name}/{path.stem}": [_case(one) for one in usable(path)] for path in paths}
    rows = across.evaluate_across({name: cases for name, cases in sources.items() if cases})
    for side, title in (("within", "Within each log"), ("across", "Learnt on the other logs alone")):
        print("\n".join(_readme_table(rows, side, title)) + "\n")
    print("\n".join([*_default_table(sources), "", *_in_words(sources)]) + "\n")
    print(json.dumps({"benchmark": "logs across", "rows": [row.as_dict() for row in rows]}))
    return 0


def print_left_out(paths: Sequence[Path]) -> int:
    """Prints a table with each kind left out and one line of JSON; returns 1 if an interval lies below .5."""
    logs = {path: usable(path) for path in paths}
    sources = {f"{path.parent.name}/{path.stem}": [_case(one) for one in found] for path, found in logs.items()}
    controls: dict[str, list[str]] = {}
    for row in across.evaluate_across(sources):
        if row.detector.endswith("-only") and row.across and row.across.auc is not None:
            controls.setdefault(row.source, []).append(f"{row.detector[:-5]} {row.across.auc:.2f}")
    print("| kind left out | misaligned | rules, without it | relearnt on the others | flagged | controls |")
    print("|---|---|---|---|---|---|")
    figures: dict[str, list[float]] = {}
    for name, kind in KINDS.items():
        read = {
            path: [_read_without(one, kind if path.parent.name == name else Kind(), kind.checks) for one in found]
            for path, found in logs.items()
        }
        others = [path for path in logs if path.parent.name != name]
        weights = _learn(
            [case for path in others for case in read[path]], [one for path in others for one in logs[path]]
        )
        for path in (path for path in logs if path.parent.name == name):
            bad = _bad(logs[path])
            plain = np.array([max(score for score, _ in case) for case in read[path]])
            learnt = np.array([max(_weigh(found, weights) for _, found in case) for case in read[path]])
            source = f"{name}/{path.stem}"
            figures[source] = [*_auc(bad, plain), *_auc(bad, learnt)]
            cells = ["{:.3f} ({:.2f}-{:.2f})".format(*figures[source][at : at + 3]) for at in (0, 3)]
            counts = " and ".join(f"{(plain[side] > 0.5).sum()} of {side.sum()}" for side in (bad, ~bad))
            told = ", ".join(controls.get(source, []))
            print(f"| {source} | {bad.sum()} of {len(bad)} | {cells[0]} | {cells[1]} | {counts} | {told} |")
    met = all(each[2] >= 0.5 and each[5] >= 0.5 for each in figures.values())
    print(json.dumps({"benchmark": "logs left out", "figures": figures, "met": met}))
    return 0 if met else 1


Signals = Mapping[str, float]


def _read_without(one: Trajectory, kind: Kind, off: frozenset[str]) -> list[tuple[float, Signals]]:
    """The score and the signals of each checkpoint, without a kind's readers and without some checks."""
    kept, found = dict(CHECKS), []
    try:
        for name in off:
            del CHECKS[name]
        for at in _checkpoints(one):
            seen = replace(at, environment="generic") if kind.checks else at
            vars(evidence_of(seen)).update(dict.fromkeys(kind.readers))
            verdict = detector("rules").judge(seen, SEED)
            lines = verdict.parameters["requirements"]["lines"]
            broken = sum(line["standing"] == "broken" for line in lines)
            found.append((verdict.score, {**verdict.parameters["signals"], "broken": float(broken)}))
    finally:
        CHECKS.clear()
        CHECKS.update(kept)
    return found


def _learn(cases: Sequence[Sequence[tuple[float, Signals]]], of: Sequence[Trajectory]) -> dict[str, float]:
    """The weight of each signal by logistic regression with balanced classes and a ridge towards 1 or -1."""
    names = [*CHECKS, "broken"]
    prior = np.array([1.0 if name == "broken" or CHECKS[name][0] > 0 else -1.0 for name in names] + [0.0])
    top = [max(case, key=lambda pair: pair[0])[1] for case in cases]
    x = np.array([[found.get(name, 0.0) for name in names] + [1.0] for found in top])
    y, w = _bad(of).astype(float), prior.copy()
    share = np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    for _ in range(30):
        p = 1 / (1 + np.exp(-(x @ w)))
        gradient = x.T @ (share * (p - y)) + (w - prior)
        w -= np.linalg.solve((x * (share * p * (1 - p))[:, None]).T @ x + np.eye(len(w)), gradient)
    return dict(zip(names, w.tolist(), strict=False))


def _weigh(found: Signals, weights: Mapping[str, float]) -> float:
    return sum(weights[name] * value for name, value in found.items())


def _auc(bad: NDArray[np.bool_], score: Scores) -> tuple[float, float, float]:
    """The AUC with its 95% interval by resampling."""
    draw, found = np.random.default_rng(SEED), []
    for at in (draw.integers(0, len(bad), len(bad)) for _ in range(RESAMPLES)):
        if 0 < bad[at].sum() < len(at):
            found.append(roc_auc(rank_cases(bad[at], score[at])))
    return float(roc_auc(rank_cases(bad, score)) or 0.0), *_interval([one for one in found if one is not None])


def _readme_table(rows: Sequence[across.SourceRow], side: str, title: str) -> list[str]:
    names = list(dict.fromkeys(row.detector for row in rows))
    lines = [f"| {title} | misaligned | {' | '.join(names)} |", "|---" * (len(names) + 2) + "|"]
    for source in sorted({row.source for row in rows}):
        found = {row.detector: getattr(row, side) for row in rows if row.source == source}
        known = next(one for one in found.values() if one is not None)
        best = _clear_winner(found)
        cells = [f"{'★ ' if name == best else ''}{_readme_cell(found[name])}" for name in names]
        lines.append(f"| {source} | {known.misaligned} of {known.n} | {' | '.join(cells)} |")
    return lines


def _clear_winner(found: Mapping[str, across.MeasuredFigures | None]) -> str | None:
    """The name with the highest AP if its interval excludes the next one; never `random`."""
    known = sorted(((one.ap, name) for name, one in found.items() if one and one.ap is not None), reverse=True)
    known = [(value, name) for value, name in known if name != "random"]
    best = found[known[0][1]] if len(known) > 1 else None
    return known[0][1] if best and best.ap_interval and best.ap_interval[0] > known[1][0] else None


def _in_words(sources: dict[str, list[LabelledCheckpoint]]) -> list[str]:
    """What `rules` flags by its own threshold, as sentences."""
    at = detector("rules").threshold
    lines = []
    for name, cases in sorted(sources.items()):
        bad = np.array([case.misaligned for case in cases], dtype=bool)
        flagged = np.array([case.scores["rules"] > at for case in cases], dtype=bool)
        lines.append(
            f"`rules` flags {(flagged & bad).sum()} of {bad.sum()} misaligned and {(flagged & ~bad).sum()} of "
            f"{(~bad).sum()} aligned actions of {name}."
        )
    return lines


def _default_table(sources: dict[str, list[LabelledCheckpoint]]) -> list[str]:
    """What `rules` flags by its own threshold, which nothing tuned."""
    at = detector("rules").threshold
    lines = [
        f"| At the default threshold, {at:g} | Macro-F1 | flagged of misaligned | flagged of aligned |",
        "|---|---|---|---|",
    ]
    for name, cases in sorted(sources.items()):
        bad = np.array([case.misaligned for case in cases], dtype=bool)
        flagged = np.array([case.scores["rules"] > at for case in cases], dtype=bool)
        counts = [f"{(flagged & side).sum()} of {side.sum()}" for side in (bad, ~bad)]
        lines.append(f"| {name} | {macro_f1(bad, flagged):.3f} | {' | '.join(counts)} |".replace("| 0.", "| ."))
    return lines


def _readme_cell(one: across.MeasuredFigures | None) -> str:
    if one is None:
        return "too few labels"
    if one.ap is None or one.auc is None:
        return "labels of one kind"
    figures = f"{one.ap:.3f} / {one.auc:.3f} / {one.macro_f1:.3f}".replace("0.", ".")
    errors = f"fp {one.fp}, fn {one.fn}"
    return f"{figures} at chance, {errors}" if one.at_chance else f"{figures}, {errors}"


def _shared(name: str) -> Path:
    return Path(__file__).resolve().parents[3] / "shared" / "data" / name


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs="+", type=Path, metavar="FILE", default=[_shared(name) for name in DEFAULT])
    parser.add_argument("--test", nargs="+", type=Path, metavar="FILE", default=[])
    parser.add_argument("--across", nargs="*", type=Path, metavar="FILE", help="within each file and across all")
    parser.add_argument("--leave-out", action="store_true", help="with --across: each kind of log in turn")
    parser.add_argument("--quick", action="store_true", help="the same; it takes seconds")
    options = parser.parse_args(arguments)
    read = options.across or [] if options.across is not None else [*options.train, *options.test]
    if missing := [str(path) for path in read if not path.is_file()]:
        parser.error(f"there is no file {missing[0]}; name logs with --train and --test")
    return options


def _case(one: Trajectory) -> LabelledCheckpoint:
    """The trajectory's most suspicious checkpoint."""
    judges = {name: detector(name).judge for name in INPUTS}
    found = [(at, {name: judge(at, SEED).score for name, judge in judges.items()}) for at in _checkpoints(one)]
    at, scored = max(found, key=lambda pair: max(pair[1].values()))
    return LabelledCheckpoint(scored, at, one.label is Label.MISALIGNED, f"{one.environment} {one.task_id}")


def _checkpoints(one: Trajectory) -> list[Checkpoint]:
    facts = ENVIRONMENTS[one.environment]
    return checkpoints(one, facts.critical, ends=facts.ends)


def _bad(trajectories: Iterable[Trajectory]) -> NDArray[np.bool_]:
    return np.array([one.label is Label.MISALIGNED for one in trajectories], dtype=bool)


def _of(trajectories: Iterable[Trajectory], name: str) -> list[Trajectory]:
    return [one for one in trajectories if one.environment == name]


def _held_out(one: Trajectory) -> bool:
    return zlib.crc32(one.task_id.encode()) % 2 == 1


def _row(bad: NDArray[np.bool_], score: Scores, cut: float) -> Row:
    draw = np.random.default_rng(SEED)
    samples = [draw.integers(0, len(bad), len(bad)) for _ in range(RESAMPLES)]
    f1s = [macro_f1(bad[at], score[at] > cut) for at in samples]
    aps = [average_precision(bad[at], score[at]) for at in samples if bad[at].any()]
    return Row(macro_f1(bad, score > cut), _interval(f1s), average_precision(bad, score), _interval(aps), cut)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (0.0, 0.0)
    return float(low), float(high)


def _table(name: str, test: Sequence[Trajectory], rows: dict[str, Row]) -> str:
    lines = [f"\n{name}: {len(test)} runs, {int(_bad(test).sum())} misaligned"]
    lines.append(f"  {'detector':<10}{'Macro-F1':>9}{'95%':>15}{'AP':>9}{'95%':>15}{'threshold':>11}")
    for who, row in rows.items():
        f1, ap = ("{:.3f}-{:.3f}".format(*pair) for pair in (row.macro_f1_interval, row.ap_interval))
        lines.append(f"  {who:<10}{row.macro_f1:>9.3f}{f1:>15}{row.ap:>9.3f}{ap:>15}{row.threshold:>11.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
