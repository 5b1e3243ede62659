"""Before a study begins: how likely it finds an effect, and what is registered beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from console.errors import BadInput
from console.pages.beginning import bar_of
from console.pages.said import guarded
from console.studies.design import Design, PlannedCondition, varied
from console.studies.design.power import Assumptions, Power, power
from console.studies.design.preregistration import preregistration
from console.widgets.rows_table import show_rows

_RESULT = "study_power"


def show_power(design: Design) -> None:
    """The dry run: simulated studies like this one, for several numbers of participants."""
    with st.expander("Power: a dry run with simulated participants", key="power", on_change="rerun"):
        if not varied(design):
            st.caption("One condition has nothing to be compared with.")
            return
        with st.form("power", border=False):
            assumed = _assumptions(design)
            numbers, times = st.columns(2)
            people = design.participants.human or 4
            counts = numbers.text_input("Participants", f"{people}, {2 * people}, {4 * people}", key="power-n")
            runs = times.number_input("Simulated studies of each", 50, 5_000, 200, 50, key="power-runs")
            sent = st.form_submit_button("Simulate")
        if sent:
            guarded(_simulate, design, assumed, counts, int(runs))
        _result(design)


def _assumptions(design: Design) -> Assumptions:
    usual = Assumptions()
    first, second, third = st.columns(3)
    return Assumptions(
        factor=first.selectbox("Effect of", list(varied(design)), key="power-factor"),
        start=second.number_input(
            "Solved at the last trial", 0.01, 0.99, usual.start, 0.01, key="power-start", help="Under its first level"
        ),
        effect=third.number_input("More under its last level", -0.9, 0.9, usual.effect, 0.01, key="power-effect"),
        participant_sd=first.number_input("SD of people, logits", 0.0, 10.0, usual.participant_sd, 0.1, key="power-sd"),
        effect_sd=second.number_input("SD of the effect, logits", 0.0, 10.0, usual.effect_sd, 0.05, key="power-own"),
        task_sd=third.number_input("SD of tasks, logits", 0.0, 10.0, usual.task_sd, 0.1, key="power-tasks"),
    )


def _simulate(design: Design, assumed: Assumptions, counts: str, simulations: int) -> None:
    found = power(
        design,
        assumed,
        participants=_numbers(counts),
        simulations=simulations,
        seed=design.seed,
        progress=bar_of("simulated studies"),
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
        raise BadInput(f"Participants: {text!r} is no list of numbers; write for example 4, 8, 12.")
    return [int(part) for part in parts]


def _result(design: Design) -> None:
    kept = _kept(design)
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
    verdict = f"{min(enough)} participants reach 0.80" if enough else "None of these numbers reaches 0.80"
    st.text(f"{verdict}, if {assumed.start:.0%} are solved without and {assumed.start + assumed.effect:.0%} with it.")


def _kept(design: Design) -> tuple[list[Power], Assumptions] | None:
    """The latest dry run, where it was of this very design."""
    found: dict[str, Any] | None = st.session_state.get(_RESULT)
    if not found or found["design"] != design.model_dump_json():
        return None
    return [Power(**one) for one in found["powers"]], Assumptions(**found["assumed"])


def preregistration_button(design: Design, places: Sequence[PlannedCondition]) -> None:
    """The preregistration as Markdown, the latest dry run in it."""
    st.download_button(
        "Preregistration",
        lambda: _preregistration(design, places),
        f"{design.name}-preregistration.md",
        "text/markdown",
        key="preregistration-md",
        on_click="ignore",
    )


def show_preregistration(design: Design, places: Sequence[PlannedCondition]) -> None:
    """The preregistration to read, as the plain text that the file holds."""
    with st.expander("Preregistration", key="preregistration", on_change="rerun") as shown:
        if shown.open:
            st.code(_preregistration(design, places), language=None, wrap_lines=True, height=460)


def _preregistration(design: Design, places: Sequence[PlannedCondition]) -> str:
    powers, assumed = _kept(design) or ([], None)
    return preregistration(design, places, powers, assumed)
