"""The usage of a reproduction with a model: one account for each part, and an estimate from a pilot of a few tasks.

The range of the estimate is a 90% prediction interval (Student's t) for the sum over the remaining tasks. The range
follows from the spread between the pilot's tasks, and covers neither changed prices nor a pilot unlike the other tasks.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field

from scipy import stats
from sqlmodel import Session, col, select

from console import runs
from console.database import reading
from console.language import counted
from console.llm import Purpose, read_account, spending_on
from console.trajectory import from_json
from console.trials.planning.metrics import sum_usage
from storage import tables

PILOT = 10
"""The number of tasks per environment in a pilot."""
MEASURES = ("requests", "prompt_tokens", "completion_tokens", "cost_usd", "seconds")
LEVEL = 0.9


@dataclass(slots=True)
class Part:
    """A part of a reproduction: the number of its tasks or trials (`units`), its runs, and its seconds in this process.

    `is_repeated` is true if the full reproduction plays the pilot's units again, with known replies.
    """

    units: int
    is_repeated: bool = True
    runs: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class Spending:
    """The parts of one reproduction by name, each with its account; nothing is counted without a model."""

    account: str = ""
    model: str = ""
    parts: dict[str, Part] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str, units: int) -> Iterator[Part]:
        """Count the model calls within the context for this part; a part may be entered again."""
        found = self.parts.setdefault(name, Part(units))
        began = time.monotonic()
        purpose = Purpose(self.model, f"{self.account} {name}")
        with spending_on(purpose) if self.model else nullcontext():
            yield found
        found.seconds += time.monotonic() - began

    def used(self) -> dict[str, dict[str, float | None]]:
        """Return the requests, tokens and USD (None: unknown price) of each part, over all processes."""
        return {name: asdict(read_account(f"{self.account} {name}")) for name in self.parts}


@dataclass(frozen=True, slots=True)
class Range:
    """An expected amount with the bounds of its range."""

    low: float
    expected: float
    high: float

    def holds(self, amount: float) -> bool:
        """Return whether the amount is within the range."""
        return self.low <= amount <= self.high

    def in_words(self, form: str) -> str:
        """Return the expected amount and the range, each in this format."""
        return f"{self.expected:{form}} ({self.low:{form}} to {self.high:{form}})"


@dataclass(frozen=True, slots=True)
class SpendingEstimate:
    """The estimated usage of a reproduction and its pilot, by measure; USD is missing if a price is unknown."""

    ranges: Mapping[str, Range]
    tasks: int

    @property
    def most_usd(self) -> float | None:
        """The upper bound of the cost in USD, or None if a price is unknown."""
        return self.ranges["cost_usd"].high if "cost_usd" in self.ranges else None

    def in_words(self) -> str:
        """Return the estimate as sentences."""
        one = self.ranges
        cost = f"{one['cost_usd'].in_words(',.2f')} USD" if "cost_usd" in one else "an unknown price"
        minutes = Range(*(amount / 60 for amount in asdict(one["seconds"]).values()))
        return (
            f"Expected from a pilot of {counted(self.tasks, 'task')} per environment, with 90% ranges: "
            f"{one['requests'].in_words(',.0f')} requests. {one['prompt_tokens'].in_words(',.0f')} tokens in and "
            f"{one['completion_tokens'].in_words(',.0f')} out. {cost}. About {minutes.in_words(',.0f')} minutes."
        )

    def to_dict(self) -> dict[str, object]:
        """Return the estimate as a JSON object."""
        return {"tasks": self.tasks, "ranges": {name: asdict(one) for name, one in self.ranges.items()}}


def parse_estimate(document: Mapping[str, object]) -> SpendingEstimate:
    """Parse an estimate from its JSON object."""
    ranges = document["ranges"]
    assert isinstance(ranges, dict)
    return SpendingEstimate({name: Range(**one) for name, one in ranges.items()}, int(str(document["tasks"])))


def estimate_spending(pilot: Spending, planned: Mapping[str, Part], tasks: int) -> SpendingEstimate:
    """Estimate the usage of the planned parts and the pilot together, from the usage of the pilot."""
    used, ranges = pilot.used(), {}
    with reading() as session:
        shares = {name: list_unit_usage(session, part.runs) for name, part in pilot.parts.items()}
    for measure in MEASURES:
        totals = {
            name: part.seconds if measure == "seconds" else used[name][measure] for name, part in pilot.parts.items()
        }
        if any(total is None for total in totals.values()):
            continue
        expected = sum(total or 0.0 for total in totals.values())
        low, spread = expected, 0.0
        for name, part in pilot.parts.items():
            like = "requests" if measure == "seconds" else measure
            sample = _scale_amounts([one[like] or 0.0 for one in shares[name]], totals[name] or 0.0, part.units)
            left = planned[name].units - (part.units if planned[name].is_repeated else 0)
            mean, variance = predict_sum(sample, max(left, 0))
            expected, spread = expected + mean, spread + variance
        half = math.sqrt(spread)
        ranges[measure] = Range(max(low, expected - half), expected, expected + half)
    return SpendingEstimate(ranges, tasks)


def predict_sum(sample: Sequence[float], count: int) -> tuple[float, float]:
    """Return the expected sum of `count` further units, and the squared half width of its range."""
    n = len(sample)
    mean = statistics.fmean(sample) if n else 0.0
    if n < 2 or not count:
        return count * mean, (count * mean) ** 2
    t = float(stats.t.ppf((1 + LEVEL) / 2, n - 1))
    return count * mean, t**2 * statistics.variance(sample) * (count + count**2 / n)


def _scale_amounts(sample: Sequence[float], total: float, units: int) -> list[float]:
    """Return the units' amounts, scaled to the part's total, which includes feedback and reflections."""
    if not sum(sample):
        return [total / max(units, 1)] * max(units, 1)
    missing = [0.0] * (units - len(sample))  # units whose replies were known already
    return [amount * total / sum(sample) for amount in [*sample, *missing]]


def list_unit_usage(session: Session, names: Sequence[str]) -> list[dict[str, float | None]]:
    """Return the usage of these runs' trials and verdicts, one sum per task."""
    found: dict[str, list[dict[str, float | None]]] = defaultdict(list)
    record, body, task, verdict = tables.Trajectory, tables.TrajectoryBody, tables.Task, tables.Verdict
    for name in names:
        run = runs.get(session, name)
        trials = (
            select(task.task_key, body.body)
            .join(record, col(record.task_id) == col(task.id))
            .join(body, col(body.trajectory_id) == col(record.id))
            .where(record.run_id == run.id, col(record.carried_over).is_(False))
        )
        for key, text in session.exec(trials):
            found[key].append(sum_usage([from_json(text)]))
        verdicts = (
            select(task.task_key, verdict)
            .join(record, col(record.task_id) == col(task.id))
            .join(verdict, col(verdict.trajectory_id) == col(record.id))
            .where(record.run_id == run.id)
        )
        for key, row in session.exec(verdicts):
            found[key].append({measure: getattr(row, measure) for measure in MEASURES[:-1]})
    return [
        {measure: sum(one[measure] or 0.0 for one in parts) for measure in MEASURES[:-1]} for parts in found.values()
    ]


def sum_used(every: Sequence[Spending]) -> dict[str, float | None]:
    """Return the total usage of several reproductions; a total is None if one of its parts is unknown."""
    parts = [used for one in every for used in one.used().values()]
    return {
        measure: None if any(part[measure] is None for part in parts) else sum(part[measure] or 0 for part in parts)
        for measure in MEASURES[:-1]
    }
