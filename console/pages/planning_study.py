"""What a design makes: conditions, who gets which in which order, how evenly, and the files of the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
import streamlit as st

from console.runs.export.formats import as_csv
from console.studies.design import (
    FACTORS,
    Design,
    PlannedCondition,
    allocate,
    allocation,
    conditions,
    task_count,
    varied,
)
from console.studies.design.allocation import PairCounts, promise
from console.studies.design.allocation_table import COLUMNS, rows
from console.studies.design.yaml_file import dump
from console.widgets.rows_table import show_rows

_KINDS = {"human": "person", "oracle": "oracle", "noisy": "noisy", "rules": "rules"}


def summary(design: Design, places: Sequence[PlannedCondition]) -> None:
    """The design in a sentence."""
    arms, people = len(conditions(design)), len({place.number for place in places})
    each = f"{design.tasks} tasks in each" if design.comparison == "within" else f"the same {design.tasks} tasks"
    limit = f"{design.budget} inspections a trial" if design.budget else "no limit of inspections"
    st.text(
        f"{_of(arms, 'condition')}, {_of(people, 'participant')}, {each}, {_of(design.trials, 'trial')}, {limit}; "
        f"{task_count(design):,} tasks in all."
    )


def stand_in_places(design: Design) -> tuple[PlannedCondition, ...]:
    """The allocation with stand-ins for the tasks, which are sampled when the study is created."""
    return allocate(design, [f"task {number}" for number in range(1, task_count(design) + 1)])


def show_plan(design: Design, places: Sequence[PlannedCondition]) -> None:
    """Conditions, allocation, balance."""
    st.markdown("**Conditions**")
    columns = {"name": "condition", **{name: FACTORS[name].title for name in varied(design)}}
    show_rows([{"name": arm.name, **arm.levels} for arm in conditions(design)], columns, label="Conditions")
    st.markdown("**Who gets which, in which order**")
    frame = _orders(places)
    st.dataframe(frame, hide_index=True, height="content" if len(frame) < 10 else 360, key="allocation-preview")
    with st.expander("How evenly"):
        for said in promise(design):
            st.text(said)
        titles = {"kind": "among", "what": "pairs", "least": "least", "most": "most", "even": "even"}
        show_rows(list(_evenness(places)), titles, numbers=("least", "most"), label="Balance")


def _orders(places: Sequence[PlannedCondition]) -> pd.DataFrame:
    found: dict[int, dict[str, str]] = {}
    for place in places:
        row = found.setdefault(place.number, {"participant": place.code, "kind": _KINDS[place.kind]})
        row[f"part {place.position}"] = place.condition
    return pd.DataFrame(list(found.values()))


def _evenness(places: Sequence[PlannedCondition]) -> Iterator[dict[str, str]]:
    for kind, title in _KINDS.items():
        group = [place for place in places if place.kind == kind]
        yield from ({"kind": title, **_tally(tally)} for tally in allocation(group) if group and tally.counts)


def _tally(tally: PairCounts) -> dict[str, str]:
    return {
        "what": tally.what,
        "least": str(tally.least),
        "most": str(tally.most),
        "even": "yes" if tally.even else "no",
    }


def yaml_button(design: Design) -> None:
    """The design as a YAML file."""
    st.download_button(
        "Download YAML", dump(design), f"{design.name}.yaml", "application/yaml", key="design-yaml", on_click="ignore"
    )


def allocation_button(design: Design, places: Sequence[PlannedCondition]) -> None:
    """The allocation as a CSV file, a row for each condition of each participant."""
    st.download_button(
        "Allocation (CSV)",
        lambda: as_csv(pd.DataFrame(rows(design, places), columns=[column.name for column in COLUMNS])),
        f"{design.name}-allocation.csv",
        "text/csv",
        key="allocation-csv",
        on_click="ignore",
    )


def _of(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
