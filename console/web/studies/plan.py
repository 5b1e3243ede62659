"""A study's plan: conditions, allocation, power, and the preregistration files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from console.database import reading
from console.errors import BadInput
from console.language import counted
from console.runs.export.formats import as_csv
from console.studies.design import FACTORS, Design, PlannedCondition, balance, conditions, task_count, varied_factors
from console.studies.design.allocation import Known, block_rows, describe_blocks, promise
from console.studies.design.giveaways import find_giveaways
from console.studies.design.power import Assumptions, Power, power
from console.studies.design.preregistration import ALLOCATION_COLUMNS, allocation_rows, preregistration
from console.studies.design.yaml_file import dump
from console.studies.sessions import lifecycle
from console.web.flash import refusals_shown
from console.web.runs.new_run import show_progress
from console.web.studies.form_parts import WORDS, name_level
from console.web.widgets.chart import download
from console.web.widgets.tables import show_grid, show_rows
from storage import tables

_SETTING = re.compile(rf"`({'|'.join(FACTORS)}): (\w+)`")


def summary(design: Design, places: Sequence[PlannedCondition]) -> None:
    """Draw a summary of the design as a sentence."""
    arms, people = len(conditions(design)), len({place.number for place in places})
    own = design.comparison == "within" and not design.same_tasks
    each = f"{counted(design.tasks, 'task')} in each" if own else f"the same {counted(design.tasks, 'task')}"
    limit = "no inspection limit"
    if design.budget:
        share = f"{design.budget} of the first trial's completed trajectories inspected"
        most = share if design.budget.endswith("%") else counted(int(design.budget), "inspection")
        limit = f"at most {most} per trial"
    st.text(
        f"{counted(arms, 'condition')}, {counted(people, 'participant')}, {each}, "
        f"{counted(design.trials, 'trial')}, {limit}; {counted(task_count(design), 'task')} in total."
    )


def show_plan(design: Design, places: Sequence[PlannedCondition], known: Known | None = None) -> None:
    """Draw the conditions, the allocation and its balance; if `known`, also the differences between task blocks."""
    if found := find_giveaways(design):
        said = _SETTING.sub(lambda one: f"“{FACTORS[one[1]].title}: {one[2]}”", "\n\n".join(found))
        st.warning(said.replace("`", ""))
    st.markdown("**Conditions**")
    columns = {"name": "Condition", **{name: FACTORS[name].title for name in varied_factors(design)}}
    levels = [(arm.name, {name: name_level(level) for name, level in arm.levels.items()}) for arm in conditions(design)]
    show_rows([{"name": name} | named for name, named in levels], columns, label="Conditions")
    st.markdown("**Allocation and order**")
    frame = _orders(places)
    show_grid(frame, "Allocation", height="content" if len(frame) < 12 else 370, key="allocation-preview")
    with st.expander("Balance"):
        for said in (*promise(design), *(describe_blocks(places, known) if known is not None else ())):
            st.text(said)
        titles = {"kind": "Among", "what": "Pairs", "least": "Least", "most": "Most", "even": "Even"}
        show_rows(list(tabulate_evenness(places)), titles, numbers=("least", "most"), label="Balance")
        if known:
            _show_blocks(places, known)


def _show_blocks(places: Sequence[PlannedCondition], known: Known) -> None:
    titles = {"block": "Block", "tasks": "Tasks", "solved": "Solved at trial 0", "score": "Mean score"}
    titles["steps"] = "mean steps"
    found = [
        {
            "block": row["block"],
            "tasks": f"{row['tasks']:,}",
            "solved": f"{row['solved']:,}",
            "score": "" if row["score"] is None else f"{row['score']:.3f}",
            "steps": f"{row['steps']:.2f}",
        }
        for row in block_rows(places, known)
    ]
    show_rows(found, titles, numbers=("tasks", "solved", "score", "steps"), label="Blocks before the first review")


def _orders(places: Sequence[PlannedCondition]) -> pd.DataFrame:
    found: dict[int, dict[str, str]] = {}
    for place in places:
        row = found.setdefault(place.number, {"Participant": place.code, "Kind": WORDS["kinds"][place.kind]})
        row[f"Part {place.position}"] = place.condition
    return pd.DataFrame(list(found.values()))


def tabulate_evenness(places: Sequence[PlannedCondition]) -> Iterator[dict[str, str]]:
    """Yield the least and most frequent pairs of conditions, positions and tasks within each balanced group."""
    groups: defaultdict[tuple[str, str], list[PlannedCondition]] = defaultdict(list)
    for place in places:
        # A dry run gives people's places to simulated reviewers, but the allocation is balanced within each rule.
        groups[place.kind, str(place.rule)].append(place)
    for (kind, _rule), group in groups.items():
        codes = " to ".join(dict.fromkeys((group[0].code, group[-1].code)))
        for tally in balance(group):
            if tally.counts:
                even = "yes" if tally.even else "no"
                yield {
                    "kind": f"{WORDS['kinds'][kind]}, {codes}",
                    "what": tally.what,
                    "least": f"{tally.least}",
                    "most": f"{tally.most}",
                    "even": even,
                }


def yaml_button(design: Design) -> None:
    """Draw the download of the design as YAML."""
    download("Download YAML", partial(dump, design), f"{design.name}.yaml", "application/yaml", "design-yaml")


_RESULT = "study_power"


def show_power(design: Design) -> None:
    """Draw the power analysis: simulated studies of this design for several numbers of participants."""
    with st.expander("Power analysis with simulated participants", key="power", on_change="rerun"):
        if not varied_factors(design):
            st.caption("Power analysis needs at least two conditions.")
            return
        with st.form("power", border=False):
            assumed = _assumptions(design)
            numbers, times = st.columns(2)
            people = design.participants.human or 4
            counts = numbers.text_input("Participants", f"{people}, {2 * people}, {4 * people}", key="power-n")
            runs = times.number_input("Simulated studies per number", 50, 5_000, 200, 50, key="power-runs")
            sent = st.form_submit_button("Estimate power")
        if sent:
            _simulate(design, assumed, counts, int(runs))
        _result(design)


def _assumptions(design: Design) -> Assumptions:
    usual = Assumptions()
    first, second, third = st.columns(3, vertical_alignment="bottom")
    fourth, fifth, sixth = st.columns(3, vertical_alignment="bottom")
    return Assumptions(
        factor=first.selectbox("Effect of", list(varied_factors(design)), key="power-factor"),
        start=second.number_input(
            "Solved at the last trial", 0.01, 0.99, usual.start, 0.01, key="power-start", help="At its first level"
        ),
        effect=third.number_input("Effect at its last level", -0.9, 0.9, usual.effect, 0.01, key="power-effect"),
        participant_sd=fourth.number_input(
            "SD of people (logits)", 0.0, 10.0, usual.participant_sd, 0.1, key="power-sd"
        ),
        effect_sd=fifth.number_input("SD of the effect (logits)", 0.0, 10.0, usual.effect_sd, 0.05, key="power-own"),
        task_sd=sixth.number_input("SD of tasks (logits)", 0.0, 10.0, usual.task_sd, 0.1, key="power-tasks"),
    )


@refusals_shown()
def _simulate(design: Design, assumed: Assumptions, counts: str, simulations: int) -> None:
    found = power(
        design,
        assumed,
        participants=_numbers(counts),
        simulations=simulations,
        seed=design.seed,
        progress=show_progress("simulated studies"),
    )
    st.session_state[_RESULT] = {
        "design": design.model_dump_json(),
        "assumed": asdict(assumed),
        "powers": [asdict(one) for one in found],
    }
    st.rerun()


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdecimal() for part in parts):
        raise BadInput(f"Participants: {text!r} is not a list of numbers. Enter numbers such as 4, 8, 12.")
    return [int(part) for part in parts]


def _result(design: Design) -> None:
    kept = _latest_power(design)
    if not kept:
        return
    powers, assumed = kept
    rows = [
        {
            "n": f"{one.participants:,}",
            "power": f"{one.power:.2f}",
            "interval": f"{one.low:.2f} to {one.high:.2f}",
            "width": "" if one.half_width is None else f"± {one.half_width:.2f}",
        }
        for one in powers
    ]
    titles = {"n": "participants", "power": "power", "interval": "95% interval", "width": "interval of the effect"}
    show_rows(rows, titles, numbers=tuple(titles), label="Power")
    enough = [one.participants for one in powers if one.power >= 0.8]
    verdict = f"{min(enough)} participants reach 0.80" if enough else "No number reaches 0.80"
    last = assumed.start + assumed.effect
    st.text(f"{verdict}, if {assumed.start:.0%} of the tasks are solved at the first level and {last:.0%} at the last.")


def _latest_power(design: Design) -> tuple[list[Power], Assumptions] | None:
    """Return the latest power analysis with its assumptions, or None if there is none for this design."""
    found: dict[str, Any] | None = st.session_state.get(_RESULT)
    if not found or found["design"] != design.model_dump_json():
        return None
    return [Power(**one) for one in found["powers"]], Assumptions(**found["assumed"])


def _preregistration(design: Design, places: Sequence[PlannedCondition], known: Known) -> str:
    powers, assumed = _latest_power(design) or ([], None)
    return preregistration(design, places, powers, assumed, known)


def show(study: tables.Study) -> None:
    """Draw the design, its plan and its files."""
    design = lifecycle.design_of(study)
    with reading() as session:
        places = lifecycle.list_places(session, study)
        known = lifecycle.known_properties(session, design, places)
    summary(design, places)
    with st.container(horizontal=True):
        yaml_button(design)
        names, text = [one.name for one in ALLOCATION_COLUMNS], partial(_preregistration, design, places, known)
        table = pd.DataFrame(allocation_rows(design, places), columns=names)
        download(
            "Allocation (CSV)", partial(as_csv, table), f"{design.name}-allocation.csv", "text/csv", "allocation-csv"
        )
        named = f"{design.name}-preregistration.md"
        download("Preregistration", text, named, "text/markdown", "preregistration-md")
    show_plan(design, places, known)
    show_power(design)
    with st.expander("Preregistration", key="preregistration", on_change="rerun") as shown:
        if shown.open:
            st.code(text(), language=None, wrap_lines=True)
    with st.expander("Design as YAML"):
        st.code(dump(design), language="yaml", wrap_lines=True)
