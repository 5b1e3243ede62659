"""The printed tables of the papers as rows, with columns for a reproduction's measured figures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from io import StringIO

from console.analysis.statistics.estimates import Estimate
from console.detection.evaluation import paper
from console.trials.planning.metrics import read_published_rows

MODEL = "not run: it needs a model"
_NEEDS = {
    4: "not run: it needs the time and cost of a model",
    6: "not run: it needs the scores of a model on separate tasks",
    8: MODEL,
    9: "not run: it needs people",
}
"""The reasons for which an offline reproduction leaves out tables of the InferAct paper, by table."""
NEED_MODEL = frozenset({MODEL, _NEEDS[4], _NEEDS[6]})
"""The reasons that do not apply to a reproduction with a model."""
ENVIRONMENTS = tuple(paper.ENVIRONMENTS)
OURS = {theirs: ours for ours, theirs in paper.METHODS.items()} | {"Full Validation": "full-validation"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table: printed in the paper for `model`, and measured here on `n` units, with a 95% interval.

    Tables of the InferAct paper keep their numbers; tables of the other papers are numbered from 1.

    `row` is the method, by the console's name if it has one. A figure without a measured value has a `note`.
    """

    table: int
    environment: str
    row: str
    metric: str
    model: str = ""
    printed: float | None = None
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str = ""

    @property
    def place(self) -> tuple[int, str, str, str]:
        """The place of the figure in the paper, without its model."""
        return self.table, self.environment, self.row, self.metric

    def with_measured(self, found: Estimate, n: int) -> Cell:
        """Return this figure with a measured value."""
        low, high = found.bounds
        return replace(self, measured=found.value, low=low, high=high, n=n, note=found.note)


COLUMNS = tuple(Cell.__dataclass_fields__)
Measured = Mapping[tuple[int, str, str, str], tuple[Estimate, int]]
"""Measured figures by their place, each with its number of units."""


def list_cells(printed: Sequence[Cell], measured: Measured) -> list[Cell]:
    """Return the printed figures, with measured values if known, then figures without a printed value, by table."""
    found = [one.with_measured(*measured[one.place]) if one.place in measured else one for one in printed]
    known = {one.place for one in printed}
    own = [Cell(*place).with_measured(*value) for place, value in measured.items() if place not in known]
    return sorted([*found, *own], key=lambda one: (one.table, one.measured is None))


def list_printed(name: str) -> list[Cell]:
    """Return the printed figures of a paper: inferact, devils-advocate or autoplan."""
    return list(_PAPERS[name]())


def _read(name: str) -> Iterator[dict[str, str]]:
    text = files(__package__).joinpath("published", f"inferact_table{name}.csv").read_text("utf-8")
    yield from csv.DictReader(StringIO(text))


def _inferact() -> Iterator[Cell]:
    for environment in ENVIRONMENTS:
        for one in paper.read_printed_figures(environment):
            number = 2 if one.metric == "ece" else 1
            yield Cell(number, environment, one.detector, one.metric, one.model, one.value, note=MODEL)
    for row in _read("3_success_rate"):
        who = f"{OURS.get(row['method'], row['method'])}, {row['feedback']}, N={row['trial']}"
        yield from _by_environment(3, "any detector, N=0" if row["trial"] == "0" else who, "success_percent", row)
    for row in _read("4_overhead"):
        for metric in ("seconds", "usd"):
            name = OURS.get(row["method"], row["method"])
            yield Cell(4, "webshop", name, metric, "GPT4-Turbo", float(row[metric]), note=_NEEDS[4])
    for row in _read("5_outcomes"):
        for metric in ("successful", "failed", "halted", "total"):
            yield Cell(5, row["environment"], "Actor", metric, "", float(row[metric]))
    for row in _read("6_thresholds_llama3"):
        yield from _by_environment(6, OURS.get(row["method"], row["method"]), "threshold", row, "Llama-3-70B")
    for row in _read("7_budget"):
        yield Cell(7, row["environment"], "quota", "inspections", "", float(row["inspections_per_trial"]))
    for row in _read("8_multistep_aggregation"):
        for environment in ENVIRONMENTS:
            for metric in ("macro_f1", "pr_auc"):
                name, value = f"multi-step, {row['aggregation']}", float(row[f"{environment}_{metric}"])
                yield Cell(8, environment, name, metric, row["model"], value, note=_NEEDS[8])
    for studied in paper.read_user_study():
        yield Cell(9, "webshop", studied.detector, "success_percent", "people", studied.people, note=_NEEDS[9])


def _by_environment(table: int, row: str, metric: str, printed: Mapping[str, str], model: str = "") -> Iterator[Cell]:
    for environment in ENVIRONMENTS:
        note = _NEEDS.get(table, MODEL)
        yield Cell(table, environment, row, metric, model, float(printed[environment]), note=note)


def _devils_advocate() -> Iterator[Cell]:
    for row in read_published_rows("devils_advocate_webarena.csv"):
        for metric, value in row.items():
            if metric != "method":
                yield Cell(1, "webarena", row["method"], metric, "", float(value), note=MODEL)


def _autoplan() -> Iterator[Cell]:
    for row in read_published_rows("autoplan_alfworld.csv"):
        for task_type, value in row.items():
            if task_type != "method" and value:
                yield Cell(1, "alfworld", row["method"], task_type, "", float(value), note=MODEL)
    for row in read_published_rows("autoplan_hotpotqa.csv"):
        yield Cell(2, "hotpotqa", row["method"], "accuracy", "", float(row["accuracy"]), note=MODEL)


_PAPERS: dict[str, Callable[[], Iterator[Cell]]] = {
    "inferact": _inferact,
    "devils-advocate": _devils_advocate,
    "autoplan": _autoplan,
}
TITLES = {
    "inferact": "InferAct: preemptive detection and correction of misaligned actions",
    "devils-advocate": "Devil's Advocate: anticipatory reflection",
    "autoplan": "AutoPlan: automatic planning of interactive decision-making tasks",
}
"""The title of each paper's report."""


def as_rows(cells: Sequence[Cell]) -> list[dict[str, object]]:
    """Return the figures as rows of a table, in the order of COLUMNS."""
    return [asdict(one) for one in cells]


def list_left_out(cells: Collection[Cell]) -> list[str]:
    """Return one sentence for each table with figures that are not measured."""
    left: dict[tuple[int, str], int] = {}
    for one in cells:
        if one.measured is None and one.note:
            left[one.table, one.note] = left.get((one.table, one.note), 0) + 1
    return [f"Table {table}: {count} figure{'s' * (count > 1)}, {note}." for (table, note), count in left.items()]
