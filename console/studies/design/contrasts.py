"""The planned contrasts of a design: each with its question and the family of tests to which it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from console.studies.design.factors import FACTORS
from console.studies.design.model import Condition, Design, Measure, conditions, varied_factors

PRIMARY, SECONDARY, EXPLORATORY = "primary", "secondary", "exploratory"


@dataclass(frozen=True, slots=True)
class Contrast:
    """A weighted sum of condition means on one measure: the first level minus the second; `asks` is its question."""

    measure: Measure
    name: str
    kind: str
    weights: Mapping[str, float]
    asks: str


def planned_contrasts(design: Design) -> tuple[Contrast, ...]:
    """List the contrasts: main effects and stated interactions on the primary measure, then secondary contrasts.

    A main effect is a level minus the factor's first level, averaged over pairs of conditions with equal levels of all
    other factors. If no such pair exists, the differences between each condition and the first condition replace the
    main effect. Secondary contrasts are the same contrasts on the other measures, and all pairs of conditions on the
    primary measure.
    """
    first, arms = design.estimands.measure, conditions(design)
    main = list(_effects(design)) or list(_pairs(arms[:1], arms[1:]))
    found = [Contrast(first, name, PRIMARY, weights, _question(asks, first)) for name, weights, asks in main]
    for measure in MEASURES:
        if measure != first:
            found += [
                Contrast(measure, name, SECONDARY, weights, _question(asks, measure)) for name, weights, asks in main
            ]
    known = [dict(one.weights) for one in found if one.measure == first]
    pairs = (pair for at in range(len(arms)) for pair in _pairs(arms[at : at + 1], arms[at + 1 :]))
    for name, weights, asks in pairs:
        if weights not in known and {key: -value for key, value in weights.items()} not in known:
            found.append(Contrast(first, name, SECONDARY, weights, _question(asks, first)))
    if design.comparison == "within" and design.order == "fixed":
        found = [replace(one, asks=f"{one.asks} {_ONE_ORDER}") for one in found]
    return tuple(found)


_ONE_ORDER = "(All participants had one order, so an effect of order looks the same.)"

MEASURES: dict[Measure, str] = {
    "success": "the share of tasks solved by the last trial",
    "gain": "the share of tasks solved by the last trial minus that of trial 0",
    "right": "the share of correct decisions",
}
"""The measures that a contrast can use, as phrases."""


def _question(asks: str, measure: Measure) -> str:
    return f"{asks} {MEASURES[measure]}?"


def _effects(design: Design) -> Iterator[tuple[str, dict[str, float], str]]:
    arms = conditions(design)
    for factor, levels in varied_factors(design).items():
        for level in levels[1:]:
            weights = _main_effect(arms, factor, levels[0], level)
            if weights:
                title = f"{FACTORS[factor].title[0].lower()}{FACTORS[factor].title[1:]}"
                asks = f"Does {level} in place of {levels[0]} ({title}) change"
                yield f"{factor}: {level} - {levels[0]}", weights, asks
    for factors in design.estimands.interactions:
        yield from _interaction(arms, factors, varied_factors(design))


def _main_effect(arms: Sequence[Condition], factor: str, first: str, other: str) -> dict[str, float]:
    pairs = [
        (one.name, base.name)
        for one in arms
        for base in arms
        if one.levels[factor] == other
        and base.levels[factor] == first
        and all(one.levels[name] == base.levels[name] for name in FACTORS if name != factor)
    ]
    weights: dict[str, float] = {}
    for one, base in pairs:
        weights[one] = weights.get(one, 0.0) + 1 / len(pairs)
        weights[base] = weights.get(base, 0.0) - 1 / len(pairs)
    return weights


def _interaction(
    arms: Sequence[Condition], factors: Sequence[str], levels: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, dict[str, float], str]]:
    a, b = factors
    for one in levels[a][1:]:
        for other in levels[b][1:]:
            weights = _difference_of_differences(arms, (a, levels[a][0], one), (b, levels[b][0], other))
            if weights:
                name = f"{a} x {b}: {one} - {levels[a][0]}, under {other} - {levels[b][0]}"
                yield name, weights, f"Does the effect of {a} ({one}) depend on {b} ({other}) in"


def _difference_of_differences(
    arms: Sequence[Condition], first: tuple[str, str, str], second: tuple[str, str, str]
) -> dict[str, float]:
    (a, a0, a1), (b, b0, b1) = first, second
    signs = {(a1, b1): 1.0, (a0, b1): -1.0, (a1, b0): -1.0, (a0, b0): 1.0}
    weights: dict[str, float] = {}
    rest: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for arm in arms:
        others = tuple(arm.levels[name] for name in FACTORS if name not in (a, b))
        rest.setdefault(others, {})[arm.levels[a], arm.levels[b]] = arm.name
    whole = [cells for cells in rest.values() if signs.keys() <= cells.keys()]
    for cells in whole:
        weights |= {cells[at]: sign / len(whole) for at, sign in signs.items()}
    return weights


def _pairs(bases: Sequence[Condition], arms: Sequence[Condition]) -> Iterator[tuple[str, dict[str, float], str]]:
    for base, arm in product(bases, arms):
        name = f"{arm.name} - {base.name}"
        yield name, {arm.name: 1.0, base.name: -1.0}, f"Do {arm.name} and {base.name} differ in"


def plan_rows(design: Design) -> list[dict[str, Any]]:
    """Return the contrasts as tidy rows: one row per contrast and condition with a weight in that contrast."""
    family = {
        "correction": design.estimands.correction,
        "alpha": design.estimands.alpha,
        "equivalence": design.estimands.equivalence,
    }
    return [
        {
            "measure": one.measure,
            "contrast": one.name,
            "kind": one.kind,
            "question": one.asks,
            "condition": condition,
            "weight": weight,
            **family,
        }
        for one in planned_contrasts(design)
        for condition, weight in one.weights.items()
    ]
