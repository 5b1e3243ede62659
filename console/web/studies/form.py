"""The form of a study's design: what stands in its fields, as the mapping that the YAML would hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import combinations
from typing import Any, get_args

import streamlit as st
from pydantic import ValidationError

from console.actors import ACTORS
from console.detection.detectors import DETECTORS
from console.environments import playable
from console.studies.design import FACTORS, Design, Factor, conditions, varied
from console.studies.design.model import REPLAY, Comparison, Order
from console.web.studies import form_parts as tables
from console.web.studies.draft import start_at
from console.web.studies.form_parts import asked, checks, consent, ending, instructions, people, recruiting

Mapping = dict[str, Any]

_OPEN = 3
"""So many groups of fields stand open; the others fold away."""
_LEVELS = {"nl": "nl: in words"}
_COMPARISONS = {"within": "everybody has every condition", "between": "everybody has one condition"}


def show_form(draft: Mapping, archives: Sequence[str]) -> tuple[Mapping, dict[str, Callable[[str], object]]]:
    """Draws the form with the draft in it; the design as it stands there, and for each field where its error goes."""
    parts: Mapping = {}
    slots: dict[str, Callable[[str], object]] = {}
    basis = partial(_basis, archives=archives)
    groups: list[Callable[[Mapping], Mapping]] = [basis, _comparison, people, consent, instructions, asked, checks]
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
    drawn = seed.number_input("Seed", 0, 2**53 - 1, key=start_at("seed", draft["seed"]), help="The same seed, the same")
    actor, where = st.columns(2)
    who = actor.selectbox(
        "Who acts", [*ACTORS, REPLAY], format_func=_acting, key=start_at("actor", draft["source"]["actor"])
    )
    with where:
        source = {"actor": who, **_place(who, draft["source"], archives)}
    counts = st.columns(3)
    tasks = counts[0].number_input("Tasks of each condition", 1, 10_000, key=start_at("tasks", draft["tasks"]))
    trials = counts[1].number_input("Trials of each task", 1, 20, key=start_at("trials", draft["trials"]))
    budget = counts[2].text_input(
        "Inspections",
        key=start_at("budget", draft["budget"] or ""),
        placeholder="no limit",
        help="Per participant, condition and trial: a number such as 10, or a share of the first trial such as 50%",
    )
    free = st.toggle("Inspections of halted trials cost nothing", key=start_at("halted_free", draft["halted_free"]))
    sizes = {"tasks": tasks, "trials": trials, "budget": budget or None, "halted_free": free}
    return {"name": said, "source": source, **sizes, "seed": drawn}


def _place(actor: str, source: Mapping, archives: Sequence[str]) -> Mapping:
    if actor == REPLAY:
        named = [source["run"]] if source.get("run") else []
        options = list(dict.fromkeys([*named, *archives]))
        run = st.selectbox("Run", options, key=start_at("source-run", named[0] if named else None))
        return {"run": run}
    options = list(dict.fromkeys([*playable(), *filter(None, [source.get("environment")])]))
    found = source.get("environment") or options[0]
    return {"environment": st.selectbox("Environment", options, key=start_at("environment", found))}


def _acting(name: str) -> str:
    said = ACTORS[name].description if name in ACTORS else "a log"
    return f"{name}: {said}" if said else name


def _comparison(draft: Mapping) -> Mapping:
    st.header("What is compared", anchor=False)
    how, order = st.columns(2)
    comparison = how.selectbox(
        "Participants",
        list(get_args(Comparison)),
        format_func=lambda name: f"{name}: {_COMPARISONS[name]}",
        key=start_at("comparison", draft["comparison"]),
    )
    first = order.selectbox(
        "Order", get_args(Order), key=start_at("order", draft["order"]), disabled=comparison == "between"
    )
    tasks = _tasks_met(draft, comparison)
    spelt = st.toggle("Spell each condition out", key=start_at("spelt", bool(draft.get("conditions"))))
    given = (
        {"conditions": tables.conditions(draft.get("conditions") or _crossed(draft))}
        if spelt
        else {"factors": _factors(draft)}
    )
    stated = {"estimands": _estimands(draft["estimands"], given)}
    return {"comparison": comparison, "order": first, **tasks, **given, **stated}


def _tasks_met(draft: Mapping, comparison: str) -> Mapping:
    """Whether conditions within participants share their tasks, and how long people wait in between."""
    between = comparison == "between"
    left, right = st.columns(2, vertical_alignment="bottom")
    same = left.toggle(
        "The same tasks in every condition", key=start_at("same_tasks", draft["same_tasks"]), disabled=between
    )
    hours = right.number_input(
        "Wash-out between conditions, hours",
        0.0,
        2_160.0,
        step=1.0,
        key=start_at("washout", draft["washout_hours"]),
        disabled=between,
    )
    return {"same_tasks": same and not between, "washout_hours": 0.0 if between else hours}


_MEASURE_NAMES = {
    "success": "solved by the last trial",
    "gain": "solved by the last trial, less trial 0",
    "right": "right decisions",
}
_CORRECTION_NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "none": "none"}


def _estimands(stated: Mapping, given: Mapping) -> Mapping:
    """What is tested first, and how; interactions are of factors that vary alone."""
    st.caption("Tested first: the effect of each factor on one measure, as one family of tests. All else is secondary.")
    what, how, level, margin = st.columns([3, 2, 1, 1])
    found = {
        "measure": what.selectbox(
            "Primary measure",
            list(_MEASURE_NAMES),
            format_func=_MEASURE_NAMES.__getitem__,
            key=start_at("measure", stated["measure"]),
        ),
        "correction": how.selectbox(
            "Correction",
            list(_CORRECTION_NAMES),
            format_func=_CORRECTION_NAMES.__getitem__,
            key=start_at("correction", stated["correction"]),
        ),
        "alpha": level.number_input("Level", 0.0, 0.5, key=start_at("alpha", stated["alpha"]), format="%.3f"),
        "equivalence": margin.number_input(
            "No difference",
            0.0,
            1.0,
            key=start_at("equivalence", stated["equivalence"] or 0.0),
            help="The largest difference that counts as none; 0 makes no test of equivalence",
        )
        or None,
    }
    pairs = [list(pair) for pair in combinations(_varying(given), 2)]
    before = [list(pair) for pair in stated["interactions"]]
    wanted = st.toggle(
        "Also test whether one factor's effect depends on another's",
        key=start_at("interactions", bool(before)),
        disabled=not pairs,
    )
    kept = [pair for pair in before if sorted(pair) in [sorted(known) for known in pairs]]
    return {**found, "interactions": (kept or pairs) if wanted and pairs else []}


def _varying(given: Mapping) -> list[str]:
    """The factors with several levels, crossed or spelt out."""
    if "factors" in given:
        return [name for name, levels in given["factors"].items() if len(levels) > 1]
    rows = [one["levels"] for one in given["conditions"]]
    return [name for name, each in FACTORS.items() if len({row.get(name, each.default) for row in rows}) > 1]


def _crossed(draft: Mapping) -> list[Mapping]:
    """The conditions that the draft's factors make, to begin with where they are to be spelt out."""
    try:
        design = Design.model_validate({**draft, "name": "draft", "conditions": []})
    except ValidationError:
        return []
    differ = varied(design)
    return [
        {"name": arm.name, "levels": {name: level for name, level in arm.levels.items() if _told(name, level, differ)}}
        for arm in conditions(design)
    ]


def _told(name: str, level: str, differ: Collection[str]) -> bool:
    return name in differ or level != FACTORS[name].default


def _factors(draft: Mapping) -> dict[str, list[str]]:
    st.caption("Choose several levels to compare them; the conditions are all their combinations.")
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
    return st.pills(factor.title, factor.levels, selection_mode="multi", key=key, format_func=_level)


def _level(name: str) -> str:
    return _LEVELS.get(name, name)
