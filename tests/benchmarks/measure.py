"""How the benchmarks measure on a machine that may be busy: short alternating pairs, medians with intervals, goals.

Ours and the floor run one right after the other, the order changing from pair to pair; the figure is the median of the
pairs' ratios with its 95% interval. Processor time is counted apart from wall-clock time: what computes is compared by
processor time, what waits by wall-clock time as if a processor had always been free. A goal is missed only if the whole
interval lies beyond it.
"""

from __future__ import annotations

import gc
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np
from scipy.stats import binom

Work = Callable[[], object]
Goals = Mapping[str, Sequence[object]]
LOOP_ROUNDS = 130_000
"""Rounds of the calibrated loop, so many that it takes LOOP_S on a quiet core (3.8 ms for 100,000)."""
LOOP_S = 0.005
"""The unit of the limits in seconds: what the loop takes where they hold as written."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A median with its 95% interval, `n` values."""

    value: float
    low: float
    high: float
    n: int

    def inverted(self) -> Figure:
        """Return one over the figure: the floor in units of ours."""
        return Figure(1 / self.value, 1 / self.high, 1 / self.low, self.n)

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}}, n {self.n})"


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of one piece of work.

    `wall` is wall-clock time, `processor` the processor time of all threads, and `queued` the time in which the calling
    thread could have run but no processor was free (0 if the system does not tell). `share` is the part of the time
    in which the calling thread could run that it ran.
    """

    wall: float
    processor: float
    queued: float
    share: float

    def undisturbed(self, least: float) -> float:
        """Return the wall-clock time as if a processor had always been free.

        The work waits for `least` seconds however much is computed; the rest grows as the share gets smaller.
        """
        return least + (self.wall - least) * self.share


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of measurements, ours and the floor's."""

    ours: tuple[Spent, ...]
    floor: tuple[Spent, ...]

    def computing(self) -> Figure:
        """Return our processor time in units of the floor's."""
        return self._compare(lambda spent: spent.processor)

    def elapsed(self) -> Figure:
        """Return our wall-clock time in units of the floor's; it holds what waits for the disk or another process."""
        return self._compare(lambda spent: spent.wall)

    def describe(self, name: str) -> str:
        """Return one line: the times, the share of each side that only waited, and both ratios."""
        sides = []
        for side, spent in (("ours", self.ours), ("floor", self.floor)):
            wall, processor, queued = (
                median(getattr(one, clock) for one in spent) for clock in ("wall", "processor", "queued")
            )
            waiting = max(0.0, 1 - (processor + queued) / wall)
            sides.append(f"{side} {wall * 1e3:.2f} ms, {waiting:.0%} of it waiting, {queued / wall:.0%} queued")
        return f"{name}: {'; '.join(sides)}; computing {self.computing():.3f}, elapsed {self.elapsed():.3f}"

    def _compare(self, clock: Callable[[Spent], float]) -> Figure:
        return median_of([clock(ours) / clock(floor) for ours, floor in zip(self.ours, self.floor, strict=True)])


def spend(work: Work, *, server: int | None = None) -> Spent:
    """Return what one call costs, with the processor time of the server's process (its id) if one answers."""
    queued, served = queued_s(), processor_s(server)
    wall, processor, thread = time.perf_counter(), time.process_time(), time.thread_time()
    work()
    ran, own, elapsed = time.thread_time() - thread, time.process_time() - processor, time.perf_counter() - wall
    queued = min(queued_s() - queued, elapsed)
    return Spent(elapsed, own + processor_s(server) - served, queued, ran / (ran + queued) if ran else 1.0)


def queued_s(thread: int | None = None) -> float:
    """Return the seconds that a thread of this process (its native id, or the calling one) waited for a processor."""
    waits = _schedule(thread or threading.get_native_id())
    return int(os.pread(waits, 64, 0).split()[1]) / 1e9 if waits is not None else 0.0


@cache
def _schedule(thread: int) -> int | None:
    # Kept open, because opening a file before each job of 100 microseconds would slow the job down.
    path = f"/proc/self/task/{thread}/schedstat"
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC) if os.path.exists(path) else None  # noqa: PTH110


def processor_s(process: int | None) -> float:
    """Return the seconds of processor time that the process has used, with those of its threads that have ended."""
    # The clock of clock_getcpuclockid(3), which Python does not offer; the schedstat of a thread ends with the thread.
    return 0.0 if process is None else time.clock_gettime(~process << 3 | 2)


def compare(ours: Work, floor: Work, pairs: int, *, warm_up: int = 1, collect: bool = True) -> Comparison:
    """Run both sides in alternating pairs and return their times; the first `warm_up` pairs do not count."""
    return compare_prepared(lambda: ours, lambda: floor, pairs, warm_up=warm_up, collect=collect)


def compare_prepared(
    prepare_ours: Callable[[], Work],
    prepare_floor: Callable[[], Work],
    pairs: int,
    *,
    warm_up: int = 1,
    collect: bool = True,
) -> Comparison:
    """Compare work that needs something of its own each time; preparing it and collecting garbage are not measured.

    What the benchmark itself holds is kept from the collector, which would look through it within the side that
    allocates more.
    """
    spent: dict[str, list[Spent]] = {"ours": [], "floor": []}
    sides = {"ours": prepare_ours, "floor": prepare_floor}
    for number in range(pairs + warm_up):
        ready = [(side, sides[side]()) for side in (("ours", "floor") if number % 2 else ("floor", "ours"))]
        for side, work in ready:
            if collect:
                gc.collect()
                gc.freeze()
            one = spend(work)
            if collect:
                gc.unfreeze()
            if number >= warm_up:
                spent[side].append(one)
    return Comparison(tuple(spent["ours"]), tuple(spent["floor"]))


def median_of(values: Sequence[float]) -> Figure:
    """Return the median with its 95% interval, taken from the order of the values (no distribution is assumed)."""
    ranked = sorted(values)
    count = len(ranked)
    outside = max(0, int(binom.ppf(0.025, count, 0.5)) - 1) if count else 0
    return Figure(median(ranked), ranked[outside], ranked[count - 1 - outside], count)


def ratio_of_quantiles(ours: Sequence[float], floor: Sequence[float], share: float, *, draws: int = 2_000) -> Figure:
    """Return the ratio of both sides' quantiles with its 95% interval, by resampling the pairs."""
    pairs = np.array([ours, floor])
    chosen = np.random.default_rng(0).integers(0, pairs.shape[1], (draws, pairs.shape[1]))
    drawn = np.quantile(pairs[:, chosen], share, axis=2)
    value = np.quantile(pairs, share, axis=1)
    low, high = np.quantile(drawn[0] / drawn[1], (0.025, 0.975))
    return Figure(float(value[0] / value[1]), float(low), float(high), pairs.shape[1])


def run_loop() -> int:
    """Run the calibrated loop: a fixed amount of plain Python, the unit of every absolute limit."""
    total = 0
    for number in range(LOOP_ROUNDS):
        total += number & 7
    return total


def is_missed(figure: Figure | float, sign: str, goal: float) -> bool:
    """Return whether the whole interval of the figure lies beyond its goal."""
    if isinstance(figure, Figure):
        figure = figure.high if sign == ">=" else figure.low
    return figure < goal if sign == ">=" else figure > goal


def report(benchmark: str, figures: Mapping[str, Figure | float], goals: Goals) -> bool:
    """Print a line per goal and the closing line of JSON; return whether no goal is missed."""
    missed = [name for name, (sign, goal) in goals.items() if is_missed(figures[name], str(sign), float(str(goal)))]
    for name, (sign, goal) in goals.items():
        print(f"{name:<45}{figures[name]:.3f}   goal {sign} {goal}{'   MISSED' if name in missed else ''}")
    values = {name: round(one.value, 4) if isinstance(one, Figure) else one for name, one in figures.items()}
    intervals = {
        name: [round(one.low, 4), round(one.high, 4)] for name, one in figures.items() if isinstance(one, Figure)
    }
    line = {"benchmark": benchmark, "figures": values, "intervals": intervals, "goals": dict(goals), "met": not missed}
    print(json.dumps(line))
    return not missed
