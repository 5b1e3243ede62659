"""Success over trials: the tasks solved up to each trial, by condition."""

from __future__ import annotations

from typing import Any

import pandas as pd

from console.analysis.statistics.success_rate import HELD, PAPER, compute_success_by_trial
from console.studies.analysis.frames import Frames, cells, groups, table
from console.studies.analysis.parts import read_analysis
from console.studies.analysis.published import describe_published, published

_COUNTS = {PAPER: "undecided run", HELD: "undecided held"}
_SAME = 1e-9


def success(frames: Frames) -> pd.DataFrame:
    """Return success over participants by condition and closed trial, counted in both ways (InferAct, Table 9)."""
    closed = frames["success"][frames["success"]["closed"].astype(bool)]
    rows = [
        {
            "reviewers": name,
            "count": said,
            "condition": row.condition,
            "trial": row.trial,
            "participants": row.participants,
            "tasks": row.tasks,
            **cells(row.mean, "mean"),
            "sd": row.sd,
            "sd_paper": row.sd_paper,
            **_pooled(row.pooled),
        }
        for name, part in groups(closed)
        for count, said in _COUNTS.items()
        for row in compute_success_by_trial(part, count)
    ]
    return table(
        rows,
        "reviewers$ count$ condition$ trial# participants# tasks# mean low high sd sd_paper "
        "pooled pooled_low pooled_high note$",
    )


def _pooled(found: Any) -> dict[str, Any]:
    low, high = found.bounds
    return {"pooled": found.value, "pooled_low": low, "pooled_high": high}


def describe_success(table: pd.DataFrame) -> str:
    """Name the condition with the most success after the last trial, and its gain since the first trial."""
    if table.empty:
        return "No trial has finished yet, so the success rate is unknown."
    last = table[table["trial"] == table["trial"].max()].sort_values("mean", ascending=False)
    best = last.iloc[0]
    first = table[(table["trial"] == table["trial"].min()) & (table["condition"] == best["condition"])].iloc[0]
    spread = f" ± {best['sd']:.1%}" if pd.notna(best["sd"]) else ""
    said = (
        f"After trial {best['trial']}, {best['condition']} has solved {best['mean']:.1%}{spread} of its tasks "
        f"(mean ± SD over {best['participants']})"
    )
    if first["trial"] != best["trial"]:
        said += f", from {first['mean']:.1%} in trial {first['trial']}"
    others = last[last["condition"] != best["condition"]]
    if others.empty:
        return f"{said}."
    level = others[(others["mean"] - best["mean"]).abs() < _SAME]
    if len(level):
        return f"{said}; {' and '.join(level['condition'])} {'is' if len(level) == 1 else 'are'} level with it."
    return f"{said}; the lowest is {others.iloc[-1]['mean']:.1%}, of {others.iloc[-1]['condition']}."


def table_9(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the form of InferAct's Table 9: one column per trial, with mean +- SD in per cent and 95% interval."""
    whose = [column for column in ("reviewers", "count", "condition") if column in shares]
    cells = [_per_cent({str(name): cell for name, cell in row.items()}) for row in shares.to_dict("records")]
    flat = shares[[*whose, "participants"]].assign(trial=[f"trial {n}" for n in shares["trial"]], cell=cells)
    trials = list(dict.fromkeys(flat["trial"]))
    wide = flat.pivot_table(index=whose, columns="trial", values="cell", aggfunc="first", sort=False)
    wide = wide[trials].astype(object).where(wide[trials].notna(), None)
    wide.insert(0, "participants", flat.groupby(whose)["participants"].max())
    return wide.reset_index().rename_axis(columns=None)


def _per_cent(row: dict[str, Any]) -> str:
    spread = "" if pd.isna(row["sd"]) else f" ± {100 * row['sd']:.1f}"
    reach = "" if pd.isna(row["low"]) else f" ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
    return f"{100 * row['mean']:.1f}{spread}{reach}"


ANALYSIS = read_analysis(
    "success",
    {"success": success, "published": published},
    sentences={"success": describe_success, "published": describe_published},
    views={"success": table_9},
)
