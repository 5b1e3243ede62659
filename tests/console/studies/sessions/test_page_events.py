"""What a browser tells of an item's page is kept only where it can be true, of one's own item, and asked for."""

import pytest

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.studies import results
from console.studies.sessions import joining, steps
from console.studies.sessions.steps import keep_events
from console.studies.sessions.withdrawal import withdraw
from storage import tables

AWAY = {"kind": "away", "ms": 10, "lasted_ms": 900}
KEY = {"kind": "key", "detail": "x", "ms": 30}
STRANGE = [
    "text",
    {"kind": "typed", "ms": 1},
    {"kind": "key", "detail": "my whole password", "ms": 1},
    {"kind": "key", "detail": "x", "ms": -1},
    {"kind": "away", "ms": 1, "lasted_ms": 10**12},
    {"kind": "away", "ms": True},
    {"kind": "away", "ms": "1"},
]


@pytest.mark.parametrize(("traced", "kinds"), [(False, ["away"]), (True, ["away", "key"])])
def test_a_trace_is_kept_only_where_the_design_asks_for_it(study, walk, rows, traced, kinds):
    made = study(interaction_trace=traced, tasks=1, trials=1, factors={"detector": ("full-validation",)})
    person, other = joining.join(made.join_code), joining.join(made.join_code)
    item = walk(person.id, stop=lambda place: place.kind == "review").claim.item_id
    assert keep_events(person.secret, {"item": item, "events": [AWAY, KEY, *STRANGE]})
    assert [row.kind for row in rows(tables.PageEvent)] == kinds
    assert not keep_events(other.secret, {"item": item, "events": [AWAY]})
    assert not keep_events("made-up", {"item": item, "events": [AWAY]})
    assert not keep_events(person.secret, {"item": 10**30, "events": [AWAY]})
    assert not keep_events(person.secret, {"item": item, "events": "all"})
    assert [row.kind for row in rows(tables.PageEvent)] == kinds


MINUTE_MS = 60_000


@pytest.fixture
def held(study, walk):
    """A participant before an item, with the time at which their page got it."""
    made = study(factors={}, tasks=6)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: getattr(place, "claim", None) is not None)
    return made, place, place.claim.claimed_ms


def signals(place, *at_ms):
    for at in at_ms:
        steps.note_signal(place.participant, at)


def decided(made, place, at_ms):
    """The row of the decision that is taken then."""
    answer = decisions.ReviewDecision("reject", "look again")
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, answer, at_ms)
    with reading() as session:
        (row,) = results.decisions(session, made.id).to_dict("records")
    return row["lead_time_ms"], row["closed_ms"]


def test_a_page_that_stays_open_is_never_away(held):
    made, place, began = held
    signals(place, *range(began, began + 2 * MINUTE_MS, 10_000))
    assert decided(made, place, began + 2 * MINUTE_MS) == (2 * MINUTE_MS, 0)


def test_the_time_of_a_closed_page_is_no_decision_time(held):
    made, place, began = held
    signals(place, began, began + 10_000, began + 10_000 + 5 * MINUTE_MS, began + 20_000 + 5 * MINUTE_MS)
    assert decided(made, place, began + 20_000 + 5 * MINUTE_MS) == (20_000, 5 * MINUTE_MS)


def test_a_gap_that_began_before_the_item_counts_from_the_item_on(held):
    made, place, began = held
    signals(place, began - MINUTE_MS, began + MINUTE_MS)
    assert decided(made, place, began + MINUTE_MS + 5_000) == (5_000, MINUTE_MS)


def test_where_nothing_was_heard_yet_the_last_drawn_page_counts(study, walk):
    made = study(factors={}, tasks=6)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: getattr(place, "claim", None) is not None)
    later = now_ms() + 3 * MINUTE_MS
    steps.note_signal(place.participant, later)
    took, closed = decided(made, place, later + 1_000)
    assert closed == pytest.approx(3 * MINUTE_MS, abs=2_000)
    assert took == pytest.approx(1_000, abs=2_000)


def test_what_is_known_of_closed_pages_goes_with_its_participant(held, rows):
    _, place, began = held
    signals(place, began, began + 5 * MINUTE_MS)
    assert [row.subject for row in rows(tables.Event, tables.Event.kind == steps.CLOSED)]
    withdraw(place.participant.id)
    kept = rows(tables.Event, tables.Event.kind == steps.CLOSED)
    assert all(row.detail in (None, "", "{}", "null") for row in kept)


def test_nobody_is_away_who_holds_nothing(study, rows):
    made = study(factors={}, tasks=6)
    person = joining.join(made.join_code)
    place = steps.find_position(person.id)
    signals(place, now_ms(), now_ms() + 5 * MINUTE_MS)
    assert rows(tables.Event, tables.Event.kind == steps.CLOSED) == []
