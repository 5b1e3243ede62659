"""Numbers as sentences and tables say them."""

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
