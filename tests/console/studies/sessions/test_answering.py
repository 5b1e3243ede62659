"""Questionnaires at their moments, confidence right after a decision, and what a browser tells of an item's page."""

import pytest

from console.database import now_ms, reading, review_queue
from console.errors import BadInput, Refused
from console.review import decisions
from console.studies import results
from console.studies.sessions import answering, joining, steps
from console.studies.sessions.steps import keep_events
from console.studies.sessions.withdrawal import withdraw
from storage import tables

ASKED = {
    "questionnaires": {"before": ["trust"], "between": ["nasa-tlx"], "after": ["sus", "own"]},
    "instruments": [
        {
            "name": "own",
            "title": "Own",
            "items": [
                {"key": "reads", "question": "Choose 2.", "expected": "2"},
                {"key": "why", "question": "Why?", "kind": "text", "required": False},
            ],
        }
    ],
    "debriefing": {"question": "Anything else?", "text": "Thanks."},
    "confidence": 5,
    "tasks": 1,
    "trials": 1,
    "budget": None,
    "break_minutes": 5,
    "factors": {"feedback": ("nl", "binary"), "detector": ("full-validation",)},
    "participants": {"human": 1, "oracle": 1},
}


@pytest.mark.at_length
def test_everything_is_asked_once_at_its_moment(study, walk, rows):
    made = study(**ASKED)
    person = joining.join(made.join_code)
    seen = []

    def keep(place):
        seen.append(
            f"{place.kind} {place.instrument.name} {place.condition}" if place.kind == "questionnaire" else place.kind
        )
        return False

    assert walk(person.id, stop=keep).kind == "finished"
    assert seen[0] == "questionnaire trust 0"
    asked = [one for one in seen if one.startswith("questionnaire")]
    assert asked[1:] == [
        f"questionnaire {name}" for name in ("nasa-tlx 1", "nasa-tlx 2", "sus 0", "own 0", "debriefing 0")
    ]
    assert seen[seen.index("questionnaire nasa-tlx 1") + 1] == "break"
    for place, kind in enumerate(seen):
        assert (kind == "confidence") == (seen[place - 1] == "review" and place > 0)
    kept = rows(tables.QuestionnaireAnswer)
    assert {row.assignment_id is None for row in kept if row.moment == "between"} == {False}
    assert len({row.assignment_id for row in kept if row.instrument == "nasa-tlx"}) == 2
    decided = {row.id for row in rows(tables.Decision) if row.reviewer == person.code and not row.superseded}
    assert {
        row.decision_id for row in rows(tables.Confidence, tables.Confidence.participant_id == person.id)
    } == decided


def test_answers_are_checked_and_a_second_sheet_changes_nothing(study, walk, rows):
    made = study(**ASKED)
    person = joining.join(made.join_code)
    whole = dict.fromkeys(("count_on", "as_expected", "interest", "rely", "mislead", "on_guard"), "4")
    with pytest.raises(BadInput, match="Please answer: I will have to be on my guard"):
        answering.fill_in(person.id, "trust", whole | {"on_guard": ""})
    with pytest.raises(BadInput, match="Choose one of the answers offered"):
        answering.fill_in(person.id, "trust", whole | {"rely": "8"})
    assert rows(tables.QuestionnaireAnswer) == []
    answering.fill_in(person.id, "sus", whole)
    assert rows(tables.QuestionnaireAnswer) == []
    answering.fill_in(person.id, "trust", whole)
    answering.fill_in(person.id, "trust", dict.fromkeys(whole, "1"))
    assert {row.answer for row in rows(tables.QuestionnaireAnswer)} == {"4"}


def test_confidence_is_of_ones_own_decisions_on_the_designs_scale_and_asked_again_after_undo(study, walk, rows):
    made = study(**ASKED | {"undo_seconds": 60, "tasks": 2})
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "confidence")
    with pytest.raises(BadInput, match="from 1 to 5"):
        answering.store_confidence(person.id, place.answer.id, 6)
    with pytest.raises(Refused, match="did not make this decision"):
        answering.store_confidence(person.id, place.answer.id + 1_000, 3)
    answering.store_confidence(person.id, place.answer.id, 3)
    answering.store_confidence(person.id, place.answer.id, 5)
    (kept,) = rows(tables.Confidence)
    assert kept.level == 3
    following = steps.find_position(person.id)
    assert following.claim.claimed_ms >= kept.at_ms


@pytest.mark.at_length
def test_simulated_participants_are_asked_nothing(study, rows):
    from console.studies.sessions import simulated

    study(**ASKED)
    assert simulated.simulate("pilot").participants == 1
    assert rows(tables.QuestionnaireAnswer) == []
    (oracle,) = [row for row in rows(tables.Participant) if row.kind == "oracle"]
    assert oracle.stage == "finished"


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


@pytest.mark.at_length
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


@pytest.mark.at_length
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
