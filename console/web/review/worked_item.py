"""The worked item: what a newcomer sees before the first item of their own, with its answer and why.

It stands alone because its example is data of its own.
"""

from __future__ import annotations

import streamlit as st

from console.auth.identity import Identity, Role
from console.language import _, gettext_noop
from console.review.presentation import Flag, Standing, checkpoint_presentation
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.participant_stage import explained_html
from console.web.widgets.trajectory_view import presentation_html

WELCOME = "welcome"
"""The parameter of the address that asks for it."""

_EXAMPLE = Checkpoint(
    environment="webshop",
    instruction="i want a green kettle of 2 litres, and price lower than 30.00 dollars",
    opening="",
    steps=(
        Step("", "search[green kettle 2 litres]", "[B00EXAMPLE] Kettle, 2 litres, $24.50"),
        Step("", "click[B00EXAMPLE]", "colour [green] [blue]  Kettle, 2 litres  Price: $24.50  [Buy Now]"),
        Step("", "click[blue]", "You have clicked blue."),
    ),
    index=3,
    kind=CheckpointKind.ACTION,
    action="click[Buy Now]",
)
_FLAG = Flag("rules", 0.83, 0.5, ("The user asked for green; the colour that was chosen last is blue.",))
_WHY = gettext_noop(
    "The price and the size are right, the colour is not: green was asked for and blue was chosen. So it is rejected, "
    "with the reason “wrong option” (key 2) or a few words. The agent reads them and tries again."
)


def show_first(identity: Identity | None) -> None:
    """Shows the worked item where the address asks for it, and stops the page there until its reader goes on."""
    if identity is None or identity.has(Role.PARTICIPANT) or WELCOME not in st.query_params:
        return
    st.title(_("One worked item, then yours"))
    st.caption(
        _(
            "An agent was stopped before something final, and a person says whether it may go on. Read from the top: "
            "what was asked, what the agent is about to do, what differs. Each review of an action costs one "
            "inspection of a budget."
        )
    )
    st.html(explained_html("", _("Reject"), _(_WHY), agrees=True))
    st.button(key_label(_("Go to my first item"), "Enter"), key="first-item", type="primary", on_click=_go)
    st.html(presentation_html(checkpoint_presentation(_EXAMPLE, flag=_FLAG, standing=Standing.WAITS)))
    hotkeys({"enter": "first-item"}, item_id=WELCOME, enabled=True)
    st.stop()


def _go() -> None:
    st.query_params.pop(WELCOME, None)
