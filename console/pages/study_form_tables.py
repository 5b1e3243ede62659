"""The parts of a design's form that are tables with a row for each: conditions, questions, simulated reviewers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from console.pages.drafting import key_of
from console.studies.design import FACTORS
from console.studies.design.model import IntakeQuestion, Noisy

Rows = list[dict[str, Any]]


def conditions(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Conditions spelt out; an empty cell is the factor's default level."""
    st.caption("A row for each condition. An empty cell stands for the factor's usual level.")
    columns: dict[str, Any] = {"name": st.column_config.TextColumn("name", required=True)}
    for factor in FACTORS.values():
        title = factor.name.replace("_", " ")
        columns[factor.name] = (
            st.column_config.SelectboxColumn(title, options=list(factor.levels), help=factor.title)
            if factor.levels
            else st.column_config.TextColumn(title, help=factor.title)
        )
    rows = _edited("conditions", [{"name": one["name"], **one["levels"]} for one in given], columns)
    return [{"name": row.pop("name", ""), "levels": row} for row in rows]


def questions(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Questions to each participant; the choices of a row stand one after the other with `|` between them."""
    st.caption("Questions, asked once. The choices of a question stand with | between them: never | weekly | daily")
    columns = {
        "key": st.column_config.TextColumn("column in the data", required=True),
        "question": st.column_config.TextColumn("question", required=True, width="large"),
        "kind": st.column_config.SelectboxColumn("answer", options=["choice", "number", "text"], default="choice"),
        "choices": st.column_config.TextColumn("choices"),
        "required": st.column_config.CheckboxColumn("required", default=False),
    }
    rows = _edited("questions", [{**one, "choices": " | ".join(one["choices"])} for one in given], columns)
    return [_whole(IntakeQuestion, {**row, "choices": _choices(row.get("choices", ""))}) for row in rows]


def noisy(given: Sequence[Mapping[str, Any]]) -> Rows:
    """Simulated reviewers with their error rates and their pace."""
    number = st.column_config.NumberColumn
    columns = {
        "count": number("how many", min_value=0, step=1, default=1, required=True),
        "false_accept": number("misaligned that pass", min_value=0, max_value=1, step=0.01, default=0.1),
        "false_reject": number("aligned turned down", min_value=0, max_value=1, step=0.01, default=0.1),
        "seconds_per_item": number("seconds per item", min_value=0, step=1, default=30),
    }
    return [_whole(Noisy, row) for row in _edited("noisy", given, columns)]


def _edited(field: str, given: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> Rows:
    """The rows as they stand in the editor, without their empty cells and without empty rows."""
    key = key_of(field)
    begun = f"{key}-begun"
    # The editor keeps changes against the table that it began with, so that table must stay while it is shown.
    if key not in st.session_state or begun not in st.session_state:
        st.session_state[begun] = [dict(row) for row in given]
    frame = pd.DataFrame(st.session_state[begun], columns=list(columns), dtype=object)
    frame = frame.where(frame.notna(), None)
    shown = st.data_editor(frame, key=key, num_rows="dynamic", column_config=columns, hide_index=True)
    rows = [{str(name): cell for name, cell in row.items() if _filled(cell)} for row in shown.to_dict("records")]
    return [row for row in rows if row]


def _filled(cell: Any) -> bool:
    return cell is not None and cell != "" and not (isinstance(cell, float) and pd.isna(cell))


def _choices(text: str) -> list[str]:
    return [choice.strip() for choice in text.split("|") if choice.strip()]


def _whole(part: Callable[..., Any], row: dict[str, Any]) -> dict[str, Any]:
    """The row, numbers that came back as floats made whole where the field is a count."""
    return {name: int(cell) if name == "count" else cell for name, cell in row.items()}
