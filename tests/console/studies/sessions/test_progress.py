"""The board tells where everybody is."""

import pytest

from console.database import now_ms, reading
from console.errors import Refused
from console.studies.sessions import joining, lifecycle, progress, steps


@pytest.fixture
def look():
    """A function that reads the board, by code."""

    def read():
        with reading() as session:
            return {row.code: row for row in progress.read_board(session, lifecycle.get(session, "pilot"))}

    return read


def test_everybody_stands_where_they_are(study, walk, look):
    made = study(consent={"text": "Agreed?"}, tasks=8, factors={"feedback": ("nl", "binary")})
    began_ms = now_ms()
    reading_consent, working, shy = (joining.join(made.join_code) for _ in range(3))
    joining.consent(shy.id, False)
    joining.consent(working.id, True)
    joining.finish_instructions(working.id)
    assert look()[working.code].stage == "introduction"
    place = walk(working.id, stop=lambda place: place.kind == "review" and place.item == 2)
    rows = look()
    assert rows[reading_consent.code].stage == "consent"
    assert shy.code not in rows
    mine = rows[working.code]
    assert (mine.stage, mine.number, mine.conditions, mine.trials) == ("review", 1, 2, 2)
    assert (mine.decided, mine.trial) == (1, place.trial)
    assert (mine.budget_cap, mine.budget_cap - mine.budget_left) == (2, place.meter[1])
    assert mine.waiting >= 1 or mine.budget_left == 0
    assert mine.last_seen_ms >= began_ms
    assert mine.run == "pilot P02 1"
    assert mine.condition == place.assignment.condition
    assert sum(row.stage == "free" for row in rows.values()) == 2


@pytest.mark.at_length
def test_who_is_through_is_finished(study, walk, look):
    made = study(factors={})
    person = joining.join(made.join_code)
    walk(person.id)
    mine = look()[person.code]
    assert (mine.stage, mine.number, mine.conditions, mine.waiting) == ("finished", 1, 1, 0)
    assert mine.completion_code
    assert steps.find_position(person.id).completion_code == mine.completion_code


def test_agents_that_cannot_go_on_say_why_to_the_researcher_alone(study, look):
    made = study(tasks=6, factors={"detector": ("direct",)})
    person = joining.join(made.join_code)
    joining.finish_instructions(person.id)
    with pytest.raises(Refused, match="could not continue") as told:
        steps.begin(person.id)
    assert "direct" not in str(told.value)
    assert steps.find_position(person.id).kind == "introduction"
    mine = look()[person.code]
    assert mine.stage == "agents_working"
    assert "direct" in mine.problem
