"""Remedies on the Review page: listed once the edit is open, sent by their number, drawn as text."""

import pytest
from sqlmodel import select

from console.actors import Actor, Move
from console.database import reading
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.console.trials.worlds import office
from tests.sweeps import sweep

FOUND = ["send 2", "**note** `x`", "pay({})"]


@pytest.fixture
def held(data_dir):
    """A function that starts a run of one letter, which waits with those remedies."""

    def begin(remedies=FOUND):
        async def act(view):
            return Move("I send it.", "send 1", {"remedies": remedies})

        cast = ActorAndEnvironments(Actor("stub", "Stub", act, act), {"office": office()})
        start.start_run("run", {"office": 1}, actor_and_environments=cast, detector_name="full-validation")
        engine.resume("run", actor_and_environments=cast)

    return begin


@pytest.fixture
def review(open_page):
    """The Review page half a second after its item has appeared."""

    def show():
        at = open_page("review", run="run")
        at.session_state["shown_ms"] = 0
        return at

    return show


def buttons(at):
    return {button.key: button for button in at.button if "remedy-" in (button.key or "")}


def decided():
    with reading() as session:
        return [(row.decision, row.edited_action) for row in session.exec(select(tables.Decision))]


def test_a_number_sends_the_item_back_with_that_action_instead(held, review):
    held()
    at = review()
    assert not buttons(at)
    at.button(key="edit-1").click().run()
    assert [button.label for button in buttons(at).values()] == [
        "`send 2`  `1`",
        "`**note** 'x'`  `2`",
        "`pay({})`  `3`",
    ]
    buttons(at)["remedy-1-1"].click().run()
    assert decided() == [("edit", "send 2")]


def test_another_tool_is_taken_too_since_it_was_offered_by_name(held, review):
    held()
    at = review()
    at.button(key="edit-1").click().run()
    buttons(at)["remedy-1-3"].click().run()
    assert decided() == [("edit", "pay({})")]


@sweep("remedies", ["send 2", ["send 1", 7, "", None]], kept=1)
def test_without_any_nothing_is_said_of_them(held, review, remedies):
    held(remedies)
    at = review()
    at.button(key="edit-1").click().run()
    assert not buttons(at)
    assert not any("proposed these actions" in caption.value for caption in at.caption)
