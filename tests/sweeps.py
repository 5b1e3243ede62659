"""Sweeps over many equal cases: a few of them in every run, all of them with `pytest -m at_length`."""

from collections.abc import Iterable
from typing import Any

import pytest


def sweep(names: str | tuple[str, ...], cases: Iterable[Any], *, kept: int = 3, **more: Any) -> pytest.MarkDecorator:
    """Parametrise a test, as pytest does, by all cases; every run has `kept` of them, spread evenly over all."""
    every, has_several = list(cases), not isinstance(names, str) or "," in names
    usual = {round(place * (len(every) - 1) / max(kept - 1, 1)) for place in range(kept)}
    marked = [case if place in usual else _at_length(case, has_several) for place, case in enumerate(every)]
    return pytest.mark.parametrize(names, marked, **more)


def _at_length(case: Any, has_several: bool) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=(*case.marks, pytest.mark.at_length))
    return pytest.param(*(case if has_several else (case,)), marks=pytest.mark.at_length)
