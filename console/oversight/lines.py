"""One line of the oversight curve: a detector's flagged items in one order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from console.analysis.statistics import oversight

CHANCE = "random"
"""The order that stands for all: its line is their mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One detector's flagged items in one order: which are caught when inspected, and which were put right."""

    detector: str
    policy: str
    caught: NDArray[np.bool_]
    corrected: NDArray[np.float64]
    positives: int

    @property
    def right(self) -> NDArray[np.int64]:
        """How many have been put right by each inspection, as far as anything was tried again."""
        return oversight.caught(self.corrected == 1)

    @property
    def tried_again(self) -> bool:
        """Whether any of the items was."""
        return bool(np.isfinite(self.corrected).any())

    def values(self, at: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What is caught and what is put right after each number of inspections."""
        if self.policy == CHANCE:
            n = self.caught.size
            return oversight.by_chance(n, self.positives, at), oversight.by_chance(n, int(self.right[-1]), at)
        return oversight.caught(self.caught)[at].astype(np.float64), self.right[at].astype(np.float64)

    def points(self) -> pd.DataFrame:
        """The line itself, in a few hundred points."""
        at = oversight.thinned(self.caught.size)
        caught, right = self.values(at)
        frame = pd.DataFrame(
            {
                "detector": self.detector,
                "policy": self.policy,
                "inspections": at,
                "caught": caught,
                "low": np.nan,
                "high": np.nan,
                "corrected": right if self.tried_again else np.nan,
            }
        )
        if self.policy != CHANCE:
            return frame
        low, high = oversight.chance_interval(self.caught.size, self.positives, at)
        return frame.assign(low=low, high=high)

    def told(self, spent: int, further: int) -> dict[str, Any]:
        """What it amounts to after so many inspections, and so many more."""
        n = self.caught.size
        at = np.array([min(spent, n), min(spent + further, n)])
        (now, then), (right, _) = self.values(at)
        by_luck = 0.0 if 0 < self.positives < n else None
        curve = oversight.caught(self.caught)
        return {
            "detector": self.detector,
            "policy": self.policy,
            "flagged": n,
            "misaligned": self.positives,
            "spent": int(at[0]),
            "caught": float(now),
            "corrected": float(right) if self.tried_again else None,
            "more": float(then - now),
            "area": by_luck if self.policy == CHANCE else oversight.normalised_area(curve, self.positives),
        }
