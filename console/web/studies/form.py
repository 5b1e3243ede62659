"""The form for a study's design, which returns the same mapping as the YAML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, get_args

import streamlit as st
from pydantic import ValidationError

from console.actors import ACTORS
from console.detection.detectors import DETECTORS
from console.environments import list_playable
from console.studies.design import FACTORS, Design, Factor, conditions, varied_factors
from console.studies.design.model import REPLAY, Order
from console.web.studies import form_parts as tables
from console.web.studies.draft import start_at
from console.web.studies.form_parts import (
    WORDS,
    checks,
    choose,
    consent,
    ending,
    instructions,
    measures,
    people,
    recruiting,
)

Mapping = dict[str, Any]

_OPEN = 3
"""The number of field groups that are shown with a border; the other groups are expanders."""


def show_form(draft: Mapping, archives: Sequence[str]) -> tuple[Mapping, dict[str, Callable[[str], object]]]:
    """Draw the form with the draft; return the design and, by field, a function that shows an error at the field."""
    parts: Mapping = {}
    slots: dict[str, Callable[[str], object]] = {}
    basis = partial(_basis, archives=archives)
    groups: list[Callable[[Mapping], Mapping]] = [basis, _comparison, people, consent, instructions, measures, checks]
    groups += [ending, recruiting]
    for place, draw in enumerate(groups):
        with st.container(border=place < _OPEN):
            part = draw(draft)
            slot = st.empty()
        parts |= part
        slots |= dict.fromkeys(part, slot.html)
    slots |= dict.fromkeys(("factors", "conditions"), slots["comparison"])
    return {name: value for name, value in parts.items() if value is not None}, slots


def _basis(draft: Mapping, *, archives: Sequence[str]) -> Mapping:
    st.header("The study", anchor=False)
    name, seed = st.columns([3, 1])
    said = name.text_input("Name", key=start_at("name", draft["name"]), max_chars=40, placeholder="e.g. pilot")
    drawn = seed.number_input(
        "Seed", 0, 2**53 - 1, key=start_at("seed", draft["seed"]), help="The same seed gives the same tasks"
    )
    actor, where = st.columns(2)
    actors = {name: f"{name}: {one.description}" if one.description else name for name, one in ACTORS.items()}
    actors[REPLAY] = f"{REPLAY}: a recorded run"
    who = choose(actor, "Agent", actors, "actor", draft["source"]["actor"])
    with where:
        source = {"actor": who, **_place(who, draft["source"], archives)}
    counts = st.columns(3)
    tasks = counts[0].number_input("Tasks per condition", 1, 10_000, key=start_at("tasks", draft["tasks"]))
    trials = counts[1].number_input("Trials per task", 1, 20, key=start_at("trials", draft["trials"]))
    budget = counts[2].text_input(
        "Inspections",
        key=start_at("budget", draft["budget"] or ""),
        placeholder="no limit",
        help="Per participant, condition and trial: a number such as 10, or a share of the first trial such as 50%",
    )
    free = st.toggle("Inspections of halted trials are free", key=start_at("halted_free", draft["halted_free"]))
    sizes = {"tasks": tasks, "trials": trials, "budget": budget or None, "halted_free": free}
    return {"name": said, "source": source, **sizes, "seed": drawn}


def _place(actor: str, source: Mapping, archives: Sequence[str]) -> Mapping:
    if actor == REPLAY:
        named = [source["run"]] if source.get("run") else []
        options = list(dict.fromkeys([*named, *archives]))
        run = st.selectbox("Run", options, key=start_at("source-run", named[0] if named else None))
        return {"run": run}
    options = list(dict.fromkeys([*list_playable(), *filter(None, [source.get("environment")])]))
    found = source.get("environment") or options[0]
    return {"environment": st.selectbox("Environment", options, key=start_at("environment", found))}


def _comparison(draft: Mapping) -> Mapping:
    st.header("Comparison", anchor=False)
    how, order = st.columns(2)
    comparison = choose(how, "Participants", WORDS["comparisons"], "comparison", draft["comparison"])
    first = order.selectbox(
        "Order of conditions",
        get_args(Order),
        format_func=WORDS["orders"].__getitem__,
        key=start_at("order", draft["order"]),
        disabled=comparison == "between",
    )
    because = ""
    if first == "fixed" and comparison == "within":
        because = st.text_input(
            "Reason for the fixed order",
            help="With a fixed order, an effect of order looks like an effect of the conditions. The plan states "
            "your reason.",
            key=start_at("because", draft.get("fixed_order_because", "")),
            max_chars=400,
        )
    tasks = _tasks_met(draft, comparison)
    spelt = st.toggle("List each condition", key=start_at("spelt", bool(draft.get("conditions"))))
    given = (
        {"conditions": tables.conditions(draft.get("conditions") or _cross_factors(draft))}
        if spelt
        else {"factors": _factors(draft)}
    )
    stated = {"estimands": _estimands(draft["estimands"], given)}
    return {"comparison": comparison, "order": first, "fixed_order_because": because, **tasks, **given, **stated}


def _tasks_met(draft: Mapping, comparison: str) -> Mapping:
    """Draw the fields for shared tasks and for the wash-out between conditions."""
    between = comparison == "between"
    left, right = st.columns(2, vertical_alignment="bottom")
    same = left.toggle(
        "Same tasks in every condition", key=start_at("same_tasks", draft["same_tasks"]), disabled=between
    )
    label, hours = "Wash-out between conditions (hours)", draft["washout_hours"]
    hours = tables.measure(right, label, 2_160.0, "washout", hours, 1.0, disabled=between)
    return {"same_tasks": same and not between, "washout_hours": 0.0 if between else hours}


def _estimands(stated: Mapping, given: Mapping) -> Mapping:
    """Draw the fields of the primary tests; offer interactions only if at least two factors vary."""
    st.caption("Primary tests: the effect of each factor on one measure, as one family. All other tests are secondary.")
    what, how, level, margin = st.columns([4, 3, 2, 3])
    found = {
        "measure": choose(what, "Primary measure", WORDS["measures"], "measure", stated["measure"]),
        "correction": choose(how, "Correction", WORDS["corrections"], "correction", stated["correction"]),
        "alpha": tables.measure(level, "Alpha", 0.5, "alpha", stated["alpha"], 0.01),
        "equivalence": tables.measure(
            margin,
            "Equivalence margin",
            1.0,
            "equivalence",
            stated["equivalence"] or 0.0,
            0.01,
            help="The largest difference that counts as equivalent; 0 disables the equivalence test",
        )
        or None,
    }
    pairs = [list(pair) for pair in combinations(_varying(given), 2)]
    before = [list(pair) for pair in stated["interactions"]]
    wanted = st.toggle(
        "Also test interactions of factors", key=start_at("interactions", bool(before)), disabled=not pairs
    )
    kept = [pair for pair in before if sorted(pair) in [sorted(known) for known in pairs]]
    return {**found, "interactions": (kept or pairs) if wanted and pairs else []}


def _varying(given: Mapping) -> list[str]:
    """Return the factors with several levels."""
    if "factors" in given:
        return [name for name, levels in given["factors"].items() if len(levels) > 1]
    rows = [one["levels"] for one in given["conditions"]]
    return [name for name, each in FACTORS.items() if len({row.get(name, each.default) for row in rows}) > 1]


def _cross_factors(draft: Mapping) -> list[Mapping]:
    """Return the crossed conditions of the draft's factors, to prefill the list of conditions."""
    try:
        design = Design.model_validate({**draft, "name": "draft", "conditions": []})
    except ValidationError:
        return []
    differ = varied_factors(design)
    return [
        {
            "name": arm.name,
            "levels": {
                name: level for name, level in arm.levels.items() if name in differ or level != FACTORS[name].default
            },
        }
        for arm in conditions(design)
    ]


def _factors(draft: Mapping) -> dict[str, list[str]]:
    st.caption("Select several levels of a factor to compare them. The conditions are all combinations.")
    left, right = st.columns(2)
    found = {}
    for place, factor in enumerate(FACTORS.values()):
        with (left, right)[place % 2]:
            levels = _levels(factor, list(draft["factors"].get(factor.name) or [factor.default]))
        if levels and levels != [factor.default]:
            found[factor.name] = levels
    return found


def _levels(factor: Factor, chosen: list[str]) -> list[str]:
    key = start_at(f"factor-{factor.name}", chosen)
    if factor.levels is None:
        options = list(dict.fromkeys([*DETECTORS, *chosen, *st.session_state[key]]))
        return st.multiselect(factor.title, options, key=key, accept_new_options=True)
    return st.pills(factor.title, factor.levels, selection_mode="multi", key=key, format_func=tables.name_level)
