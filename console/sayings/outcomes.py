"""What a table of results says, in one sentence worked out of its numbers; what it cannot say, and why."""

from __future__ import annotations

import pandas as pd

from console.sayings.numbers import signed

ALPHA = 0.05
TENTATIVE = 0.667
"""Alpha below which Krippendorff (2004) draws no conclusions, not even tentative ones."""

_SAME = 1e-9


def of_success(table: pd.DataFrame) -> str:
    """Which condition solved most after the last trial, and how far that is from the first trial."""
    if table.empty:
        return "No trial is over yet, so nothing can be counted."
    last = table[table["trial"] == table["trial"].max()].sort_values("mean", ascending=False)
    best = last.iloc[0]
    first = table[(table["trial"] == table["trial"].min()) & (table["condition"] == best["condition"])].iloc[0]
    spread = f" ± {best['sd']:.1%}" if pd.notna(best["sd"]) else ""
    said = (
        f"After trial {best['trial']}, {best['condition']} has solved {best['mean']:.1%}{spread} of its tasks "
        f"(mean ± SD over {best['participants']}), from {first['mean']:.1%} in trial {first['trial']}"
    )
    others = last[last["condition"] != best["condition"]]
    if others.empty:
        return f"{said}."
    level = others[(others["mean"] - best["mean"]).abs() < _SAME]
    if len(level):
        return f"{said}; {' and '.join(level['condition'])} {'stands' if len(level) == 1 else 'stand'} level with it."
    return f"{said}; the least is {others.iloc[-1]['mean']:.1%}, of {others.iloc[-1]['condition']}."


def of_differences(table: pd.DataFrame) -> str:
    """How many pairs of conditions differ after Holm's correction, and the largest difference."""
    if table.empty:
        return "There are not two conditions to compare yet."
    tested = table[table["test"] == table["test"].iloc[0]]
    found = tested[tested["p_holm"] < ALPHA]
    named = f"{table['test'].iloc[0]}, Holm over {len(tested)} pair" + ("" if len(tested) == 1 else "s")
    if tested["difference"].isna().all():
        return f"Nothing can be compared: {tested['note'].iloc[0]}"
    most = tested.loc[tested["difference"].abs().idxmax()]
    about = (
        f"{most['first']} less {most['second']} is {signed(most['difference'])} "
        f"({signed(most['low'])} to {signed(most['high'])})"
    )
    if len(found):
        return f"{len(found)} of {len(tested)} pairs differ ({named}, p < {ALPHA}). The largest: {about}."
    return f"No pair differs at {ALPHA} ({named}). The largest difference: {about}."


def of_agreement(table: pd.DataFrame) -> str:
    """How far people agree beyond chance, else why that cannot be told."""
    if table.empty:
        return "No checkpoint has labels of two reviewers yet."
    who = table["reviewers"].iloc[0]
    rows = table[table["reviewers"] == who].set_index("measure")
    if "alpha" not in rows.index or pd.isna(rows.loc["alpha", "value"]):
        return f"How far {who} agree beyond chance cannot be told: {rows['note'].iloc[-1]}"
    alpha = rows.loc["alpha"]
    span = f" ({alpha['low']:.2f} to {alpha['high']:.2f})" if pd.notna(alpha["low"]) else ""
    verdict = "enough for tentative conclusions" if alpha["value"] >= TENTATIVE else "too little to rest a label on"
    return (
        f"Krippendorff's alpha of {who} is {alpha['value']:.2f}{span} on {alpha['n']:,} shared checkpoints: {verdict} "
        f"(Krippendorff asks for {TENTATIVE})."
    )
