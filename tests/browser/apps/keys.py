"""Buttons that log their presses, a text field with drafts, a dialog; every key of the review page."""

import time

import streamlit as st

from console.web.widgets.hotkeys import hotkeys, key_label

state = st.session_state
state.setdefault("log", [])
state.setdefault("item", 1)
state.setdefault("drafts", [])


def press(name, item):
    """Notes what was pressed on which item; a decision moves on to the next."""
    words = state.get(f"words-{item}", "")
    state.log.append(f"{name}:{item}" + (f":{words}" if name == "submit" else ""))
    if name in ("approve", "reject", "submit"):
        state.item = item + 1


def start_over():
    """Back to the first item, nothing noted, nothing written, every key on."""
    state.log, state.item, state.drafts, state.moved = [], 1, [], False
    state["name"], state["words-1"], state["tick"], state["keys-on"] = "", "", False, True


def move():
    """The bar stands one place lower from now on, and this run of the page takes its time."""
    state.moved = state.moving = True


@st.dialog("Help")
def help_dialog():
    """A dialog with one key of its own."""
    st.write("keys")
    st.button("Confirm", key="confirm", on_click=press, args=("confirm", state.item))


item = state.item
st.text_input("name", key="name")
st.checkbox("tick", key="tick")
names = ("approve", "reject", "edit", "skip", "undo", "next", "previous", "submit")
with st.container(horizontal=True):
    for name in names:
        disabled = name == "undo" and bool(state.get("tick"))
        st.button(key_label(name, name[0]), key=f"{name}-{item}", on_click=press, args=(name, item), disabled=disabled)
if st.button("help", key="help"):
    help_dialog()
st.toggle("keys", value=True, key="keys-on")
if state.get("moved"):
    st.bottom.container(key="above-the-bar")
with st.bottom, st.container(key="bar"):
    st.text_area("words", key=f"words-{item}")
    hotkeys(
        {
            "a": f"approve-{item}",
            "x": f"reject-{item}",
            "e": f"edit-{item}",
            "s": f"skip-{item}",
            "u": f"undo-{item}",
            "j": f"next-{item}",
            "arrowright": f"next-{item}",
            "k": f"previous-{item}",
            "arrowleft": f"previous-{item}",
            "ctrl+enter": f"submit-{item}",
            "?": "help",
            "z": "!Nothing to decide on here.",
        },
        item_id=item,
        enabled=state["keys-on"],
        draft_keys=[f"words-{item}"],
        on_draft=lambda item, _key, text: state.drafts.append([item, text]),
    )
with st.container(key="log"):
    st.text(" ".join(state.log) or "nothing")
st.button("refresh", key="refresh")
st.button("start over", key="start-over", on_click=start_over)
with st.container(key="drafts"):
    st.json(state.drafts)
st.button("move", key="move", on_click=move)
if state.pop("moving", False):
    time.sleep(1.5)
