"""The lease of the item on the page: extended while its reviewer writes, told when it has run out."""

from __future__ import annotations

import streamlit as st

from console.database import now_ms, reading, review_queue
from console.errors import ConsoleError
from console.review.decisions import claim_of
from console.web.review.actions import named
from console.web.sign_in import current_identity
from console.web.widgets.messages import show_problem
from storage.errors import StorageError
from storage.queue import Claim

_LOOK_EVERY_S = 30
_ACTIVE_MS = 120_000


@st.fragment(run_every=_LOOK_EVERY_S)
def watch(claim: Claim, lease_ms: int) -> None:
    """Looks at the lease every half minute; draws nothing while it holds."""
    left = claim.lease_until_ms - now_ms()
    if left > lease_ms / 2:
        return
    hat = current_identity()
    active = now_ms() - st.session_state.get("active_ms", 0) < _ACTIVE_MS
    try:
        with reading() as session:
            held = claim_of(session, claim.item_id, hat.name if hat else "")
        if held.lease_until_ms <= now_ms():
            _tell_lapsed(claim.item_id)
        elif active and held.lease_until_ms - now_ms() < lease_ms / 2:
            review_queue().extend(
                item_id=claim.item_id,
                reviewer=hat.name if hat else "",
                token=held.token,
                now_ms=now_ms(),
                lease_ms=lease_ms,
            )
    except (ConsoleError, StorageError):
        _tell_lapsed(claim.item_id)


def _tell_lapsed(item: int) -> None:
    show_problem(
        f"Your hold on {named(item)} has run out, so the queue has it back. Your words are saved; "
        "reload the page to take it up again."
    )
