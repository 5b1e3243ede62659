"""The tools above the Inbox's list in one line: run, search, filters, and each person's saved views."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from console.auth.people import Identity
from console.database import now_ms, reading, writing
from console.language import _, digits, gettext_noop
from console.review import inbox
from console.review.pending_items import PendingFilter
from console.web.review.own_items import by_reviewer
from console.web.run_picker import choose_run

_ONLY = {"escalated": gettext_noop("Escalated"), "mine": gettext_noop("Claimed by you")}
_LABELS = {"detector": gettext_noop("Detector"), "environment": gettext_noop("Environment")}
_FILTERS = ("find", "detector", "environment", "only", "order")
_HINT = gettext_noop("Find a task, action or reason")
_ORDERS = {
    "urgent": gettext_noop("Most urgent first"),
    "oldest": gettext_noop("Oldest first"),
    "newest": gettext_noop("Newest first"),
}
_SEVERAL = ("detector", "environment", "only")


def pick_filtered_run(names: list[str], only: str | None) -> None:
    """Draw the list of runs; the first entry selects all of them."""
    everywhere = _("All runs ({count})").format(count=digits(len(names)))
    st.session_state["run_filter"] = only or ""
    st.selectbox(
        _("Run"),
        ["", *sorted(names)],
        key="run_filter",
        format_func=lambda name: name or everywhere,
        on_change=lambda: select_run(st.session_state["run_filter"]),
        width=220,
        label_visibility="collapsed",
    )


def select_run(name: str) -> None:
    """Filter by this run; an empty name selects all runs."""
    if name:
        choose_run(name)
    else:
        st.query_params.pop("run", None)


def select_filter(
    detectors: Sequence[str], environments: Sequence[str], *, many: bool, groups: bool
) -> tuple[PendingFilter, bool]:
    """Draw the search and the filters if there is anything to choose; return the filter, and whether runs are grouped.

    `groups` is true if the list covers several runs.
    """
    asked = {name: st.query_params.get_all(name) for name in _FILTERS}
    if not (many or any(asked.values())):
        return PendingFilter(), False
    text = st.text_input(
        _("Find"), key="find", bind="query-params", placeholder=_(_HINT), label_visibility="collapsed", width=300
    )
    # Streamlit drops words that name no choice, such as those of another language.
    choices = set(map(_, _ONLY.values()))
    on = sum(name != "only" or words in choices for name in _SEVERAL for words in asked[name])
    words = _("Filters ({count} on)").format(count=digits(on)) if on else _("Filters")
    chosen: dict[str, tuple[str, ...]] = {}
    with st.popover(words, key="ia-filters"):
        only = st.pills(
            _("Show only"),
            list(_ONLY),
            key="only",
            selection_mode="multi",
            bind="query-params",
            format_func=lambda name: _(_ONLY[name]),
        )
        for name, known in {"detector": detectors, "environment": environments}.items():
            options = list(dict.fromkeys([*known, *asked[name]]))
            if len(known) > 1 or asked[name]:
                label = _(_LABELS[name])
                picked = st.multiselect(label, options, key=name, bind="query-params", placeholder=_("All"))
                chosen[name] = tuple(picked)
        order = st.selectbox(
            _("Order"), list(_ORDERS), key="order", bind="query-params", format_func=lambda name: _(_ORDERS[name])
        )
        grouped = groups and st.toggle(_("Group by run"), key="grouped", bind="query-params")
        st.button(_("Clear filters"), key="clear-filters", on_click=clear_filters, disabled=not on)
    wanted = PendingFilter(
        text, chosen.get("detector", ()), chosen.get("environment", ()), "escalated" in only, "mine" in only, order
    )
    return wanted, bool(grouped)


def clear_filters() -> None:
    """Clear every filter."""
    st.session_state["find"], st.session_state["only"] = "", []
    st.session_state["detector"], st.session_state["environment"] = [], []


def show_views(identity: Identity) -> None:
    """Draw the menu of the person's saved views: select, remove, and save the present filter."""
    with reading() as session:
        views = inbox.list_views(session, identity.name)
    with st.popover(_("Views"), key="views"):
        for number, (name, query) in enumerate(views.items()):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.button(name, key=f"view-{number}", type="tertiary", on_click=_select_view, args=(query,))
                st.space("stretch")
                st.button(_("Remove view"), key=f"drop-view-{number}", on_click=_remove, args=(name,))
        st.text_input(_("Name of the view"), key="view-name", placeholder=_("my refunds"))
        st.button(_("Save view"), key="save-view", on_click=_save)
        st.caption(_("A view stores the run, the search, the filters and the order. Only you see your views."))


def _select_view(query: dict[str, list[str]]) -> None:
    select_run(query.get("run", [""])[0])
    for name in _SEVERAL:
        st.session_state[name] = query.get(name, [])
    st.session_state["find"] = query.get("find", [""])[0]
    st.session_state["order"] = query.get("order", ["urgent"])[0]
    st.session_state["grouped"] = query.get("grouped") == ["true"]


@by_reviewer
def _save(identity: Identity) -> None:
    state = st.session_state
    shown = {"run": st.query_params.get_all("run"), "find": list(filter(None, [state.get("find")]))}
    shown |= {name: list(state.get(name) or []) for name in _SEVERAL}
    shown |= {"order": [order] if (order := state.get("order", "urgent")) != "urgent" else []}
    shown |= {"grouped": ["true"] if state.get("grouped") else []}
    query = {name: values for name, values in shown.items() if values}
    with writing() as session:
        inbox.save_view(session, identity.name, state["view-name"], query, now_ms())
    st.session_state["view-name"] = ""


@by_reviewer
def _remove(identity: Identity, name: str) -> None:
    with writing() as session:
        inbox.remove_view(session, identity.name, name)
