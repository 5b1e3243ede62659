"""Bulk actions on items of the Inbox, with undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from console.auth import people
from console.auth.audit_log import acting
from console.auth.people import Identity, Role
from console.database import reading, review_queue
from console.language import _, digits, gettext_noop
from console.review import bulk
from console.review.bulk import BulkResult
from console.review.decision_details import MAX_NOTE
from console.review.pending_items import PendingItem
from console.review.presentation import preview
from console.web.review.own_items import by_reviewer
from console.web.sign_in import by_browser
from console.web.widgets.markup import show_html
from console.web.widgets.messages import done_html, show_problem

_DONE = {
    bulk.ASSIGN: gettext_noop("Items assigned: {count}."),
    bulk.ESCALATE: gettext_noop("Items escalated: {count}."),
    bulk.RELEASE: gettext_noop("Claims released: {count}."),
    bulk.CLOSE: gettext_noop("Items closed: {count}."),
}
_LABEL_CHARS = 60


def show_bulk_bar(rows: Sequence[PendingItem], identity: Identity) -> None:
    """Draw the menu of bulk actions on these items."""
    if len(rows) < 2:
        return
    with st.popover(_("Bulk actions"), key="bulk"):
        labels = {row.item.id or 0: f"{row.item.id} · {preview(row.instruction, _LABEL_CHARS)}" for row in rows}
        everything: bool = st.checkbox(_("All shown items ({count})").format(count=digits(len(labels))), key="bulk-all")
        hint = _("Choose items")
        chosen = st.multiselect(
            _("Items"), list(labels), format_func=lambda id: labels.get(id, str(id)), placeholder=hint, key="bulk-items"
        )
        items = tuple(labels) if everything else tuple(chosen)
        off = not items
        st.text_input(_("Note"), key="bulk-note", max_chars=MAX_NOTE, placeholder=_("Why are you unsure?"))
        st.button(_("Escalate items"), key="bulk-escalate", disabled=off, on_click=_escalate, args=(items,))
        st.caption(_("Each escalation uses one inspection."))
        with st.container(horizontal=True):
            st.button(_("Release claims"), key="bulk-release", disabled=off, on_click=_release, args=(items,))
            st.button(_("Close expired"), key="bulk-close", disabled=off, on_click=_close, args=(items,))
        if identity.has(Role.RESEARCHER):
            _show_assignment(items)


def _show_assignment(items: Sequence[int]) -> None:
    with reading() as session:
        names = [person.name for person in people.list_people(session) if person.disabled_ms is None]
    st.selectbox(
        _("Assigned to"), ["", *names], format_func=lambda name: name or _("any reviewer"), key="bulk-assignee"
    )
    st.button(_("Assign items"), key="bulk-assign", disabled=not items, on_click=_assign, args=(items,))


def show_bulk_result() -> None:
    """Draw the result of the last bulk action, with a button that undoes the action."""
    result: BulkResult | None = st.session_state.get("bulk_result")
    if result is None:
        return
    if result.done:
        with st.container(horizontal=True, vertical_alignment="center", key="bulk-result"):
            words = _("Items restored: {count}.") if st.session_state.get("bulk_undone") else _(_DONE[result.act])
            show_html(done_html(words.format(count=digits(len(result.done)))))
            if not st.session_state.get("bulk_undone"):
                st.button(_("Undo"), key="bulk-undo", on_click=_undo)
    for item, why in result.refused.items():
        show_problem(_("Item {number}: {why}").format(number=item, why=why))


@by_reviewer
def _escalate(identity: Identity, items: Sequence[int]) -> None:
    note, roles = st.session_state.get("bulk-note") or "", sorted(map(str, identity.roles))
    _keep(lambda: bulk.escalate_items(review_queue(), items, identity.name, roles, note))


@by_reviewer
def _release(identity: Identity, items: Sequence[int]) -> None:
    _keep(lambda: bulk.release_claims(review_queue(), items, identity.name))


@by_reviewer
def _close(identity: Identity, items: Sequence[int]) -> None:
    _keep(lambda: bulk.close_items(review_queue(), items, identity.name))


@by_reviewer
def _assign(identity: Identity, items: Sequence[int]) -> None:
    if identity.has(Role.RESEARCHER):
        reviewer = st.session_state.get("bulk-assignee") or None
        _keep(lambda: bulk.assign_items(items, reviewer, identity.name))


@by_reviewer
def _undo(identity: Identity) -> None:
    result = st.session_state["bulk_result"]
    _keep(lambda: bulk.undo_bulk(review_queue(), result, identity.name), undone=True)


def _keep(act: Callable[[], BulkResult], *, undone: bool = False) -> None:
    with acting(by_browser()):
        st.session_state["bulk_result"] = act()
    st.session_state["bulk_undone"] = undone
    st.session_state["bulk-all"], st.session_state["bulk-items"] = False, []
