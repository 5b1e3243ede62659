"""Numbers as sentences and tables say them.

What the columns of a result's table are called where people read them.
"""

from __future__ import annotations

import pandas as pd

P_VALUES = ("p", "p_holm")
"""The columns that hold p-values."""

_DIGITS = 3


def plain(value: float, digits: int = _DIGITS) -> float:
    """The value with that many digits, a zero without a sign."""
    return round(value, digits) + 0.0


def signed(value: float) -> str:
    """A difference with its sign, none on a zero, a dash where it is not known."""
    if pd.isna(value):
        return "–"
    told = plain(value)
    return f"{told:+.3f}" if told else f"{told:.3f}"


def p_value(value: float) -> str:
    """A p-value with three digits; smaller ones are only said to be smaller."""
    if pd.isna(value):
        return "–"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


_TITLES = {
    "p_holm": "p (Holm)",
    "bin_low": "score from",
    "bin_high": "score to",
    "overridden": "against",
    "effect": "effect size",
    "effect_low": "its low",
    "effect_high": "its high",
    "tied": "left out as tied",
    "sd_residual": "SD of residuals",
    "sd_participant": "SD of participants",
    "sd": "SD",
    "sd_paper": "SD (n)",
    "low": "95% low",
    "high": "95% high",
    "kappa": "Cohen's kappa",
    "more": "ten more",
}


def title(column: str) -> str:
    """The column's heading."""
    return _TITLES.get(column, column.replace("_", " "))
