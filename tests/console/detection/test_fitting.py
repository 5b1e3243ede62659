"""Fitted curves and the majority label of a checkpoint."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import literal, select, union_all

from console.database import reading
from console.detection.fitting import CURVES, find_majority_labels, fit_curve
from console.errors import Refused, Unknown

LABELS = {1: ("misaligned",), 2: ("misaligned", "aligned", "aligned"), 3: ("aligned", "misaligned")}


def labels():
    rows = [(key, 2, "action", label, f"task {key}") for key, votes in LABELS.items() for label in votes]
    return union_all(*(select(*map(literal, row)) for row in rows))


@pytest.mark.parametrize(("tie", "third"), [(None, {}), (True, {(3, 2, "action"): (True, "task 3")})])
def test_most_votes_decide_and_half_and_half_is_what_the_caller_says(tie, third):
    with reading() as session:
        found = find_majority_labels(session, labels(), tie=tie)
    assert found == {(1, 2, "action"): (True, "task 1"), (2, 2, "action"): (False, "task 2"), **third}


def overconfident(count, seed=3):
    """Scores that promise too much: log odds three times too large; (scores, labels, tasks)."""
    draw = random.Random(seed)
    odds = [draw.uniform(-2, 2) for _ in range(count)]
    bad = [draw.random() < 1 / (1 + math.exp(-value)) for value in odds]
    return [1 / (1 + math.exp(-3 * value)) for value in odds], bad, [f"t{number}" for number in range(count)]


def brier(shares, bad):
    return sum((share - truth) ** 2 for share, truth in zip(shares, bad, strict=True)) / len(bad)


@pytest.mark.parametrize("kind", CURVES)
def test_probabilities_are_truer_than_scores_on_tasks_never_seen(kind):
    scores, bad, tasks = overconfident(600)
    curve, held_out = fit_curve(kind, scores, bad, tasks)
    assert brier(held_out, bad) < brier(scores, bad) - 0.01
    assert all(0 <= curve.of(score) <= 1 for score in (0.0, 0.3, 1.0))


@pytest.mark.at_length
def test_platt_finds_the_stretch():
    curve, _ = fit_curve("platt", *overconfident(4_000))
    assert curve.slope == pytest.approx(1 / 3, abs=0.05)
    assert curve.intercept == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("kind", CURVES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1_000), scores=st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_a_higher_score_never_gets_a_lower_probability(kind, seed, scores):
    curve, _ = fit_curve(kind, *overconfident(60, seed))
    shares = [curve.of(score) for score in sorted(scores)]
    assert shares == sorted(shares)


def test_few_labels_are_refused_with_what_is_needed():
    scores, bad, tasks = overconfident(29)
    with pytest.raises(Refused, match=r"There are 29 labels.*at least 30"):
        fit_curve("platt", scores, bad, tasks)
    scores, _, tasks = overconfident(60)
    with pytest.raises(Refused, match="8 of each kind"):
        fit_curve("platt", scores, [False] * 60, tasks)
    with pytest.raises(Refused, match="10 tasks"):
        fit_curve("platt", *overconfident(60)[:2], ["t1"] * 60)
    with pytest.raises(Unknown, match="platt, isotonic"):
        fit_curve("magic", *overconfident(60))
