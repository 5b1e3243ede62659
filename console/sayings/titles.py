"""What the columns of a result's table are called where people read them."""

from __future__ import annotations

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
