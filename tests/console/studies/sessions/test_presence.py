"""Time without an open page is kept apart from the time that a decision took."""

import pytest

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.studies import results
from console.studies.sessions import joining, presence, steps
from console.studies.sessions.withdrawal import withdraw
from storage import tables

MINUTE_MS = 60_000


@pytest.fixture
def held(study, walk):
    """A participant before an item, with the time at which their page got it."""
    made = study(factors={}, tasks=6)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.claim is not None)
    return made, place, place.claim.claimed_ms


def signals(place, *at_ms):
    for at in at_ms:
        presence.note_signal(place.participant, at)


def decided(made, place, at_ms):
    """The row of the decision that is taken then."""
    answer = decisions.Answer("reject", "look again")
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
    place = walk(person.id, stop=lambda place: place.claim is not None)
    later = now_ms() + 3 * MINUTE_MS
    presence.note_signal(place.participant, later)
    took, closed = decided(made, place, later + 1_000)
    assert closed == pytest.approx(3 * MINUTE_MS, abs=2_000)
    assert took == pytest.approx(1_000, abs=2_000)


def test_what_is_known_of_closed_pages_goes_with_its_participant(held, rows):
    _, place, began = held
    signals(place, began, began + 5 * MINUTE_MS)
    assert [row.subject for row in rows(tables.Event, tables.Event.kind == presence.CLOSED)]
    withdraw(place.participant.id)
    kept = rows(tables.Event, tables.Event.kind == presence.CLOSED)
    assert all(row.detail in (None, "", "{}", "null") for row in kept)


def test_nobody_is_away_who_holds_nothing(study, rows):
    made = study(factors={}, tasks=6)
    person = joining.join(made.join_code)
    place = steps.where(person.id)
    signals(place, now_ms(), now_ms() + 5 * MINUTE_MS)
    assert rows(tables.Event, tables.Event.kind == presence.CLOSED) == []
