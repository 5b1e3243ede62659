"""Stacking: one probability out of several detectors' scores and a checkpoint's features, learnt from labels.

Logistic regression on the scores' log odds and, with a tenth of their weight, on the features; every figure about it is
cross-validated over tasks, so that no task is scored by what was learnt from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from console.detection.detectors.shared.features import FEATURES, features
from console.errors import BadInput, Refused
from console.trajectory.checkpoints import Checkpoint

MIN_LABELS, MIN_OF_EACH, FOLDS = 30, 8, 5
_FEATURE_WEIGHT = 0.1
_NEAREST = 1e-4
"""A score of 0 or 1 counts as this far from it."""


@dataclass(frozen=True, slots=True)
class LabelledCheckpoint:
    """A labelled checkpoint with its detectors' scores; cases of one `task` are kept together."""

    scores: Mapping[str, float]
    checkpoint: Checkpoint
    misaligned: bool
    task: str


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack, a fitted combination of the detectors `inputs`; it was learnt from so many labels.

    `traits` are the names of the features, as the files of stacks call them.
    """

    inputs: tuple[str, ...]
    traits: tuple[str, ...]
    centres: tuple[float, ...]
    spreads: tuple[float, ...]
    weights: tuple[float, ...]
    intercept: float
    labels: int
    misaligned: int

    def probability(self, scores: Mapping[str, float], checkpoint: Checkpoint) -> float:
        """P(misaligned) of a checkpoint that the inputs scored so."""
        return 1 / (1 + math.exp(-self.intercept - sum(self.shares(scores, checkpoint).values())))

    def shares(self, scores: Mapping[str, float], checkpoint: Checkpoint) -> dict[str, float]:
        """What each input and feature adds to the log odds, against its mean over the labelled cases."""
        row = _row(self.inputs, scores, checkpoint)
        parts = zip(row, self.centres, self.spreads, self.weights, strict=True)
        added = [weight * (value - centre) / spread for value, centre, spread, weight in parts]
        return dict(zip((*self.inputs, *self.traits), added, strict=True))

    def to_json(self) -> bytes:
        """The stack as a file keeps it."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2)


def from_json(text: bytes) -> Stack:
    """The stack that `to_json` wrote; raises BadInput where it is another form or has other features."""
    try:
        kept: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in orjson.loads(text).items()
        }
        stack = Stack(**kept)
    except (orjson.JSONDecodeError, AttributeError, TypeError) as broken:
        raise BadInput(f"This is no fitted stack ({broken}); fit it again.") from broken
    if stack.traits != tuple(FEATURES):
        raise BadInput("The stack was fitted to other traits than there are now; fit it again.")
    return stack


def fit(cases: Sequence[LabelledCheckpoint], inputs: Sequence[str], seed: int = 0) -> tuple[Stack, list[float]]:
    """The stack, and each case's probability by one that never saw its task; raises Refused for too few labels."""
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    check_labels([case.misaligned for case in cases], [case.task for case in cases])
    rows = [_row(inputs, case.scores, case.checkpoint) for case in cases]
    bad, tasks = [case.misaligned for case in cases], [case.task for case in cases]
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
    held_out = cross_val_predict(_model(len(inputs)), rows, bad, groups=tasks, cv=folds, method="predict_proba")[:, 1]
    fitted = _model(len(inputs)).fit(rows, bad)
    scale, regression = fitted[0], fitted[-1]
    stack = Stack(
        inputs=tuple(inputs),
        traits=tuple(FEATURES),
        centres=tuple(map(float, scale.mean_)),
        spreads=tuple(map(float, scale.scale_)),
        weights=tuple(float(w) * share for w, share in zip(regression.coef_[0], _parts(len(inputs)), strict=True)),
        intercept=float(regression.intercept_[0]),
        labels=len(bad),
        misaligned=sum(bad),
    )
    return stack, [float(share) for share in held_out]


def check_labels(bad: Sequence[bool], tasks: Sequence[str]) -> None:
    """Raises Refused where the labels are too few to learn from and to test on."""
    least = min(sum(bad), len(bad) - sum(bad))
    if len(bad) < MIN_LABELS or least < MIN_OF_EACH or len(set(tasks)) < 2 * FOLDS:
        raise Refused(
            f"There are {len(bad)} labels, {sum(bad)} of them misaligned, of {len(set(tasks))} tasks; at least "
            f"{MIN_LABELS} are needed, {MIN_OF_EACH} of each kind, of {2 * FOLDS} tasks. Review more items first."
        )


def log_odds(score: float) -> float:
    """The log odds of a score: ln(p / (1 - p)), 0 and 1 moved in a little."""
    share = min(max(score, _NEAREST), 1 - _NEAREST)
    return math.log(share / (1 - share))


def _row(inputs: Sequence[str], scores: Mapping[str, float], checkpoint: Checkpoint) -> list[float]:
    return [*(log_odds(scores[name]) for name in inputs), *features(checkpoint).values()]


def _parts(inputs: int) -> list[float]:
    return [1.0] * inputs + [_FEATURE_WEIGHT] * len(FEATURES)


def _model(inputs: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    weigh = FunctionTransformer(_weighed, kw_args={"parts": _parts(inputs)})
    return make_pipeline(StandardScaler(), weigh, LogisticRegression(max_iter=1_000))


def _weighed(rows: Any, parts: Sequence[float]) -> Any:
    return rows * parts
