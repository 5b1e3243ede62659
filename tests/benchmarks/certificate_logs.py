"""The certificate on recorded runs whose truth is known, and its time on 100,000 actions that no one inspected.

`python tests/benchmarks/certificate_logs.py [--quick] [FILE...]`: of each log, `rules` flags some trajectories. Of the
others, 30 are drawn 200 times (or half of them, if they are fewer than 60). The bound for the rest and the corrected
recall are compared with the labels. The last line is the result as JSON.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sqlalchemy import insert, select
from sqlmodel import Session

from console import runs
from console.analysis.statistics.uninspected import LEVEL, Audits, bound_rest, bound_rest_always
from console.detection import certificate
from console.trajectory import Label
from storage import tables
from storage.engine import reading, writing
from tests.benchmarks.logs import DEFAULT, scores, usable
from tests.benchmarks.measure import Figure, compare, report

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
DRAWS, AUDITS = 200, 30
once, always = lru_cache(None)(bound_rest), lru_cache(None)(bound_rest_always)


def main() -> None:
    """Prints a line for each log and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two logs and 10,000 actions")
    parser.add_argument("files", nargs="*", type=Path, help="logs with labels")
    given = parser.parse_args()
    files = given.files or [DATA / name for name in (DEFAULT[:2] if given.quick else DEFAULT)]
    held, figures, logs = [], dict[str, Figure | float](), 0
    for number, path in enumerate(path for path in files if path.exists()):
        found = replay(path, np.random.default_rng([33, number]))
        if found is not None:
            logs += 1
            held.append(found)
    with tempfile.TemporaryDirectory() as folder:
        figures["certify_vs_reading"] = timed(f"sqlite:///{folder}/console.db", 10_000 if given.quick else 100_000)
    goals: dict[str, list[object]] = {"certify_vs_reading": ["<=", 3.0]}
    if held:
        least = float(stats.binom.ppf(0.05 / (2 * len(held)), DRAWS, LEVEL) / DRAWS)
        worst = np.array(held).min(axis=0)
        figures |= {
            "logs": logs,
            "once_held_least": worst[0],
            "always_held_least": worst[1],
            "recall_held_least": worst[2],
        }
        goals |= {name: [">=", least] for name in ("once_held_least", "always_held_least", "recall_held_least")}
    sys.exit(not report("certificate_logs", figures, goals))


def replay(path: Path, draw: np.random.Generator) -> tuple[float, float, float] | None:
    """How often both bounds and the interval of the recall hold over the draws; None without unflagged trajectories."""
    cases = usable(path)
    bad = np.array([one.label is Label.MISALIGNED for one in cases])
    flagged = scores(cases, "rules") > 0.5
    unflagged = bad[~flagged]
    size = min(AUDITS, unflagged.size // 2)
    if size < 5:
        print(f"{path.name}: {unflagged.size} unflagged of {bad.size}, too few to draw from")
        return None
    recall = float(bad[flagged].sum() / max(1, bad.sum()))
    rows = np.array([one_draw(unflagged, int(bad[flagged].sum()), size, recall, draw) for _ in range(DRAWS)])
    held = rows[:, :3].mean(axis=0)
    print(
        f"{path.name}: {unflagged.size} of {bad.size} unflagged, {unflagged.mean():.1%} of these misaligned, "
        f"{size} audits: held {held[0]:.3f} at one look, {held[1]:.3f} at every look; recall {recall:.3f}, "
        f"corrected on average {rows[:, 4].mean():.3f}, interval held {held[2]:.3f}; "
        f"mean excess of one look {rows[:, 3].mean():.3f}",
        flush=True,
    )
    return float(held[0]), float(held[1]), float(held[2])


def one_draw(
    unflagged: NDArray[np.bool_], caught: int, size: int, recall: float, draw: np.random.Generator
) -> tuple[float, ...]:
    """Whether the bounds and the recall's interval hold in one draw, the excess of the bound, and the recall."""
    order = draw.permutation(unflagged.size)[:size]
    counted = np.cumsum(unflagged[order])
    total, k = int(unflagged.sum()), int(counted[-1])
    bound = once(Audits(unflagged.size, size, k))
    looks = (always(Audits(unflagged.size, n, int(counted[n - 1]))).misaligned for n in range(1, size + 1))
    every = all(most >= total - int(counted[n]) for n, most in enumerate(looks))
    flagged = certificate.FlaggedCounts(caught, caught, caught)
    figures = certificate.correct_recall(Audits(unflagged.size, size, k), flagged, LEVEL)
    low, high, value = (figures[name] or 0.0 for name in ("low", "high", "value"))
    rest = (total - k) / (unflagged.size - size)
    return bound.share >= rest, every, low - 1e-9 <= recall <= high + 1e-9, bound.share - rest, value


def timed(url: str, rows: int) -> Figure:
    """The time of a certificate of so many unflagged actions in units of one read of their rows."""
    fill(url, rows)
    with reading(url) as session:
        run = runs.get(session, "large")
        pairs = compare(lambda: _certify(session, run), lambda: _read(session, run), 15)
    print(pairs.describe(f"certificate of {rows:,} actions"))
    return pairs.computing()


def _certify(session: Session, run: tables.Run) -> None:
    certificate.certify(session, run, 1).to_dict()


def _read(session: Session, run: tables.Run) -> None:
    draw = tables.AuditDraw.__table__.c
    session.execute(select(*draw).where(draw.run_id == run.id)).all()


def fill(url: str, rows: int) -> None:
    """Fills the database with one run, 1% of whose actions are audited and decided, one in ten as misaligned."""
    from storage.migrations import migrate

    migrate(url)
    random = np.random.default_rng(34)
    numbers, levels = random.random(rows), random.random(rows)
    with writing(url) as session:
        a_run_in(session)
        fixed = {"run_id": 1, "trajectory_id": 1, "kind": "action"}
        draws = [
            {
                **fixed,
                "step": step,
                "score": float(levels[step]),
                "probability": 0.01,
                "number": float(numbers[step]),
                "at_ms": 1,
            }
            for step in range(rows)
        ]
        session.execute(insert(tables.AuditDraw), draws)
        drawn = np.flatnonzero(numbers < 0.01).tolist()
        items = [
            {**fixed, "id": at, "step": step, "trial": 0, "status": "decided", "priority": 0.5, "created_ms": 1}
            for at, step in enumerate(drawn, 1)
        ]
        session.execute(insert(tables.Item), items)
        session.execute(insert(tables.Decision), [decision(at) for at in range(1, len(drawn) + 1)])


def decision(item: int) -> dict[str, object]:
    """One decision of Ada's; every tenth calls the action misaligned."""
    kind, label = ("reject", "misaligned") if item % 10 == 0 else ("approve", "aligned")
    times = dict.fromkeys(("claimed_ms", "decided_ms", "deliverable_ms"), 1)
    return {
        "item_id": item, "reviewer": "Ada", "decision": kind, "label": label, "feedback_type": "nl",
        "action_digest": "", "submit_key": str(item), "budget_used": item, **times,
    }  # fmt: skip


def a_run_in(session: Session) -> None:
    """The run, its task and its trajectory."""
    run = runs.create(session, "large", tables.RunKind.ARCHIVE, 1, detector="rules")
    place = {"run_id": run.id, "environment": "generic"}
    task = tables.Task(task_key="t", instruction="i", instruction_digest="d", **place)
    session.add(task)
    session.flush()
    ends = {"outcome": "finished", "recorded_outcome": "finished", "n_steps": 1, "n_critical": 1, "digest": "d"}
    session.add(tables.Trajectory(task_id=task.id, trial=0, created_ms=1, **place, **ends))
    session.flush()


if __name__ == "__main__":
    main()
