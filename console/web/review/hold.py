"""The hold on an item: how long it lasts, extended while its reviewer writes; once it is over, the way back to it.

A module of its own that stands alone, because it is a fragment with a clock.
"""

from __future__ import annotations

import streamlit as st

from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.language import _
from console.review import decisions
from console.web.review import actions
from console.web.review.own_items import alias, named
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain
from console.web.widgets.messages import show_problem
from storage.errors import StorageError
from storage.queue import Claim

_EVERY_S = 30
_ACTIVE_MS = 120_000
_MINUTE_MS = 60_000


@st.fragment(run_every=_EVERY_S)
def watch_hold(claim: Claim, lease_ms: int) -> None:
    """Says how long the item is held, and checks it every half minute."""
    left = claim.lease_until_ms - now_ms()
    if left <= lease_ms / 2:
        left = _looked_up(claim, lease_ms)
    if left <= 0:
        _show_over(claim.item_id)
        return
    minutes = left // _MINUTE_MS
    held = _("held for you {minutes} min more") if minutes else _("held for you less than a minute more")
    st.html(f'<p class="ia-hold">{plain(held.format(minutes=minutes))}</p>')


def _looked_up(claim: Claim, lease_ms: int) -> int:
    """How many ms of the hold are left by now, more where its reviewer has just written; none where it is gone."""
    identity = current_identity()
    reviewer = identity.name if identity else ""
    try:
        with reading() as session:
            claimed = decisions.claim_of(session, claim.item_id, reviewer)
        until_ms = claimed.lease_until_ms
        active = now_ms() - st.session_state.get("active_ms", 0) < _ACTIVE_MS
        if active and 0 < until_ms - now_ms() < lease_ms / 2:
            until_ms = review_queue().extend(
                item_id=claim.item_id, reviewer=reviewer, token=claimed.token, now_ms=now_ms(), lease_ms=lease_ms
            )
    except (ConsoleError, StorageError):
        return 0
    return until_ms - now_ms()


def _show_over(item: int) -> None:
    over = _("Your hold on {item} has run out, so the queue has it back. Your words are kept with it.")
    show_problem(over.format(item=named(item)))
    st.button(_("Open it again"), key=f"again-{alias(item)}", on_click=actions.open_again, args=(item,))
