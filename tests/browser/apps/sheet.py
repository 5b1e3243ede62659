"""The look of a review page, with invented data that no real log holds."""

import streamlit as st

from console.review.presentation import Flag, checkpoint_presentation
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.web.widgets.hotkeys import hotkeys, key_label
from console.web.widgets.markup import show_html, style_sheets
from console.web.widgets.trajectory_view import show_presentation

st.set_page_config(page_title="sheet", page_icon="🛡️", layout="wide")
show_html(style_sheets("page", "lists", "rows", "presentation", "requirements", "timeline", "study"))
HOSTILE = (
    "![x](http://example.invalid/x.png) <img src=http://example.invalid/y onerror=document.title='hit'> :red[x] $x$"
)
st.session_state.setdefault("item", 1)


def following():
    """Moves on to the next item."""
    st.session_state["item"] += 1


item = st.session_state["item"]
seen = "page of lamps, brass, 40 cm, price $18.50. " * 14
steps = [Step("I look for it", f"search[brass lamp {number}]", f"{number}: {seen}") for number in range(28)]
steps.append(Step("", "click[no such]", "Invalid action!"))
steps.append(Step("", "click[Lamp]", HOSTILE))
shown = checkpoint_presentation(
    Checkpoint(
        "webshop",
        f"item {item}: a brass reading lamp of 50 cm with two bulbs, price lower than 20 dollars",
        "Lamp shop",
        tuple(steps),
        len(steps),
        CheckpointKind.ACTION,
        "good",
        "click[Buy Now]",
    ),
    flag=Flag("rules", 0.83, 0.5, ("50 cm was asked for and never seen.", "No number of bulbs was chosen.")),
    belief="buy a brass lamp",
)
draw_further_steps = show_presentation(shown)
with st.bottom, st.container(key="decision-bar", horizontal=True):
    st.button(key_label("Approve", "A"), key=f"approve-{item}", on_click=following)
    st.button("again", key="again")
hotkeys({"a": f"approve-{item}"}, item_id=item)
draw_further_steps()
