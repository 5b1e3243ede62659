"""Tables as a person reads them: few digits, dashes where nothing is known, long notes once, below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from console.analysis.charts.agreement import MEASURES
from console.studies.report.format import P_VALUES, p_value, plain, title

_NOTES = ("note", "method")
_DASH = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts: its head, whether each column holds numbers, its rows, and the notes that rows point at."""

    name: str
    head: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def table(name: str, frame: pd.DataFrame) -> Table:
    """The frame as texts, without columns that are empty all through."""
    notes = tuple(dict.fromkeys(text for column in _NOTES if column in frame for text in frame[column] if text))
    numbered = {text: str(place) for place, text in enumerate(notes, 1)}
    shown = [column for column in frame if len(frame) and (frame[column].notna() & (frame[column] != "")).any()]
    texts = [
        [numbered.get(cell, "") if column in _NOTES else text(cell, str(column)) for cell in frame[column]]
        for column in shown
    ]
    return Table(
        name=name,
        head=tuple(title(str(column)) for column in shown),
        numeric=tuple(column not in _NOTES and pd.api.types.is_numeric_dtype(frame[column]) for column in shown),
        rows=tuple(zip(*texts, strict=True)),
        notes=notes,
    )


def text(cell: Any, column: str = "") -> str:
    """One cell: three decimals for what is no whole number."""
    if pd.isna(cell):
        return _DASH
    if isinstance(cell, float):
        if column in P_VALUES:
            return p_value(cell)
        return f"{cell:,.0f}" if cell.is_integer() and abs(cell) > 1 else f"{plain(cell):.3f}"
    if column == "measure":
        return MEASURES.get(str(cell), str(cell))
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def table_9(success: pd.DataFrame) -> pd.DataFrame:
    """Success as InferAct's Table 9 prints it: mean +- SD in per cent, the 95% interval behind, a column per trial."""
    rows = [
        {
            "reviewers": row["reviewers"],
            "condition": row["condition"],
            "participants": row["participants"],
            "trial": f"trial {row['trial']}",
            "said": _said({str(name): cell for name, cell in row.items()}),
        }
        for row in success.to_dict("records")
    ]
    flat = pd.DataFrame(rows, columns=["reviewers", "condition", "participants", "trial", "said"])
    if flat.empty:
        return flat
    trials = list(dict.fromkeys(flat["trial"]))
    wide = flat.pivot_table(index=["reviewers", "condition"], columns="trial", values="said", aggfunc="first")
    most = flat.groupby(["reviewers", "condition"])["participants"].max()
    wide = wide[trials].astype(object).where(wide[trials].notna(), None)
    wide.insert(0, "participants", most)
    return wide.reset_index().rename_axis(columns=None)


def _said(row: dict[str, Any]) -> str:
    spread = "" if pd.isna(row["sd"]) else f" ± {100 * row['sd']:.1f}"
    reach = "" if pd.isna(row["low"]) else f" ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
    return f"{100 * row['mean']:.1f}{spread}{reach}"
