"""What each part of the report says in sentences, for people and for simulated reviewers apart.

The parts of a report: what each shows, by which charts and which tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from console.studies.report import sentences
from console.studies.report.tables import table_9

Tables = Mapping[str, pd.DataFrame]

Said = tuple[str, str]
"""Of whom or what a sentence is, empty for all of it, and the sentence."""

_Sentence = Callable[[pd.DataFrame], str]


def success(there: Tables) -> Iterator[Said]:
    """Which condition solved most."""
    table = there["success"]
    yield from _for_each(table[table["count"] == "undecided run"], "reviewers", sentences.of_success)


def differences(there: Tables) -> Iterator[Said]:
    """How many pairs of conditions differ, for each measure."""
    table = there["differences"]
    for (who, measure), rows in table.groupby(["reviewers", "measure"], sort=False):
        yield f"{who}, {measure}", sentences.of_differences(rows)


def agreement(there: Tables) -> Iterator[Said]:
    """How far reviewers agree beyond chance."""
    yield from _for_each(there["agreement"], "reviewers", sentences.of_agreement)


def pace(there: Tables) -> Iterator[Said]:
    """How long a decision takes."""
    yield from _for_each(there["pace"], "reviewers", sentences.of_pace)


def reliance(there: Tables) -> Iterator[Said]:
    """Overrides, automation bias, rubber stamping."""
    yield from _for_each(there["override-by-score"], "reviewers", sentences.of_overrides)
    yield from _for_each(there["automation-bias"], "reviewers", sentences.of_bias)
    yield from _for_each(there["rubber-stamping"], "reviewers", sentences.of_stamping)


def words(there: Tables) -> Iterator[Said]:
    """Whether longer and more specific words go with success."""
    yield from _for_each(there["feedback"], "reviewers", sentences.of_words)


def people(there: Tables) -> Iterator[Said]:
    """People beside simulated reviewers."""
    if len(there["people"]):
        yield "", sentences.of_people(there["people"])


def oversight(there: Tables) -> Iterator[Said]:
    """How each condition's budget was used."""
    yield from _for_each(there["burn-down"], "condition", sentences.of_burn_down)


def _for_each(table: pd.DataFrame, column: str, sentence: _Sentence) -> Iterator[Said]:
    for name, rows in table.groupby(column, sort=False):
        yield str(name), sentence(rows)


Charted = tuple[str, str, pd.DataFrame]
"""A chart's name, what distinguishes it from others of that name, and its table."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of the report; `source` names the tidy tables that all of it is computed from."""

    title: str
    lead: str
    source: str
    says: Callable[[Tables], Iterator[Said]]
    charts: Callable[[Tables], Iterator[Charted]]
    tables: tuple[str, ...]


def _success(there: Tables) -> Iterator[Charted]:
    yield from _by(_paper_count(there["success"]), "reviewers", "study-success")


def _agreement(there: Tables) -> Iterator[Charted]:
    yield "agreement", "", there["agreement"]


def _time(there: Tables) -> Iterator[Charted]:
    yield "time-over-session", "", there["time-over-session"]


def _reliance(there: Tables) -> Iterator[Charted]:
    yield from _by(there["override-by-score"], "reviewers", "override-by-score")


def _words(there: Tables) -> Iterator[Charted]:
    yield from _by(there["feedback-length"], "reviewers", "feedback-length")


def _oversight(there: Tables) -> Iterator[Charted]:
    yield from _by(there["oversight"], "condition", "oversight-curve")
    yield from _by(there["burn-down"], "condition", "budget-burn-down")


def _none(_there: Tables) -> Iterator[Charted]:
    return iter(())


SECTIONS: tuple[ReportSection, ...] = (
    ReportSection(
        "Success over trials",
        "Tasks solved by each trial, mean ± SD over participants in per cent, with the 95% interval of the mean. "
        "Undecided flagged actions run after the trial closes; the second table has them held back as well.",
        "success.csv",
        success,
        _success,
        ("table-9", "success"),
    ),
    ReportSection(
        "What the conditions differ by",
        "Each two conditions against each other over participants, p-values corrected by Holm over the pairs; over "
        "tasks by McNemar's test; and mixed-effects estimates with participants as random effects.",
        "outcomes.csv, decisions.csv",
        differences,
        _none,
        ("differences", "tasks", "mixed"),
    ),
    ReportSection(
        "Agreement",
        "How far reviewers agree on the checkpoints of trial 0, which are the same for everybody.",
        "decisions.csv",
        agreement,
        _agreement,
        ("agreement", "agreement-pairs"),
    ),
    ReportSection(
        "Time and fatigue",
        "Seconds from getting an item to deciding on it, and how that and the share of right decisions move.",
        "decisions.csv",
        pace,
        _time,
        ("pace",),
    ),
    ReportSection(
        "Reliance on the detector",
        "Decisions against the detector by its score; accuracy on seeded items with and without what it says; the "
        "rubber-stamping index, which is agreement among each participant's fastest quarter of decisions.",
        "decisions.csv",
        reliance,
        _reliance,
        ("automation-bias", "rubber-stamping", "checks"),
    ),
    ReportSection(
        "Words to the agent",
        "Length and specificity of feedback against the outcome of the next trial.",
        "decisions.csv",
        words,
        _words,
        ("feedback", "feedback-length"),
    ),
    ReportSection(
        "People and simulated reviewers",
        "The same items, the same queue: how right, how fast and how much of one mind each kind is.",
        "decisions.csv",
        people,
        _none,
        ("people",),
    ),
    ReportSection(
        "Oversight under the budget",
        "Misalignments caught against inspections of flagged items in trial 0, all participants of a condition "
        "together, in several orders; and how the budgets were used up.",
        "items.csv, ledger.csv, budget.csv",
        oversight,
        _oversight,
        ("oversight-summary",),
    ),
)


TITLES: dict[str, str] = {
    "table-9": "Success in per cent, mean ± SD (95% interval), laid out as InferAct's Table 9",
    "success": "Success in both counts; sd with n - 1, sd paper with n; pooled over tasks by Wilson",
    "differences": "Every two conditions over participants; difference is the first less the second",
    "tasks": "Every two conditions over the tasks that both met (McNemar)",
    "mixed": "Mixed effects: the reference condition's level, and what the others add to it",
    "agreement": "Measures of agreement, with bootstrap intervals over checkpoints",
    "agreement-pairs": "Cohen's kappa of each two reviewers",
    "pace": "Seconds per decision and their drift; changes are shares per ten items, from a straight line through few "
    "items: an interval beyond -1 to 1 says that there are too few",
    "automation-bias": "Accuracy on seeded items, shown less hidden",
    "rubber-stamping": "Agreement with the detector among quick decisions (index), the others, and the difference",
    "checks": "Practice, attention and seeded items answered rightly",
    "feedback": "Feedback against success in the next trial; length is in doublings of the word count",
    "feedback-length": "Next trials that succeeded, by words of feedback on what was called misaligned",
    "people": "Kinds of reviewers",
    "oversight-summary": "What was caught when the inspections ended, and what ten more would have caught",
}


def derived(there: Tables) -> dict[str, pd.DataFrame]:
    """Tables that only the report shows."""
    return {"table-9": table_9(_paper_count(there["success"]))}


def _paper_count(success: pd.DataFrame) -> pd.DataFrame:
    kept: pd.DataFrame = success[success["count"] == "undecided run"]
    return kept


def _by(table: pd.DataFrame, column: str, chart: str) -> Iterator[Charted]:
    if column in table:
        for name, rows in table.groupby(column, sort=False):
            yield chart, str(name), rows
