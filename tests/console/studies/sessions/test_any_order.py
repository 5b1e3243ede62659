"""Whatever two impatient tabs do in whatever order, the study stays sound and can be finished."""

import random

import pytest

from console.database import database_url, now_ms, review_queue
from console.errors import ConsoleError
from console.review import decisions
from console.studies.sessions import joining, lifecycle, steps
from storage import tables
from storage.check import check
from storage.errors import StorageError

DESIGN = {
    "tasks": 4,
    "trials": 2,
    "practice": 1,
    "checks": {"attention": 1, "known_good": 1},
    "break_minutes": 1,
    "factors": {"feedback": ("nl", "none", "binary")},
}
FAR_MS = 3_600_000


def decide(person, place, chance):
    if place.kind in ("review", "probe", "practice"):
        halted = place.claim.kind == "halted"
        decision = "respond" if halted else chance.choice(("approve", "reject", "escalate"))
        words = "" if place.run.feedback_mode == "binary" or decision == "approve" else "again, please"
        decisions.submit(
            review_queue(), place.run, place.claim, person.code, decisions.ReviewDecision(decision, words), now_ms()
        )


def skip(person, place, chance):
    if getattr(place, "claim", None):
        claim = place.claim
        review_queue().skip(item_id=claim.item_id, reviewer=person.code, token=claim.token, now_ms=now_ms())


STEPS = {
    "decide": decide,
    "skip": skip,
    "acknowledge": lambda person, place, chance: steps.acknowledge(person.id),
    "begin": lambda person, place, chance: steps.begin(person.id),
    "hand over": lambda person, place, chance: steps.hand_over(person.id),
    "end break": lambda person, place, chance: steps.end_break(person.id),
    "pause": lambda person, place, chance: lifecycle.pause("pilot"),
    "go on": lambda person, place, chance: lifecycle.open_study("pilot"),
    "go away": lambda person, place, chance: review_queue().sweep(now_ms=now_ms() + FAR_MS),
}
OFTEN = [*STEPS, "undo", *["decide"] * 8, *["go on"] * 2, *["hand over"] * 2]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.at_length) for seed in (1, 2, 3))])
def test_any_order_of_steps_leaves_a_sound_study(study, walk, rows, undo, seed):
    chance = random.Random(seed)
    made = study(**DESIGN)
    person = joining.join(made.join_code)
    refusals = []
    for _ in range(60):
        place = steps.find_position(person.id)
        try:
            step = chance.choice(OFTEN)
            undo(person) if step == "undo" else STEPS[step](person, place, chance)
        except (ConsoleError, StorageError) as refusal:
            refusals.append(str(refusal))
    assert all(sentence.endswith(".") for sentence in refusals), refusals
    lifecycle.open_study("pilot")
    assert walk(person.id).kind == "finished"
    assert check(database_url()) == []
    budgets = [row for row in rows(tables.Budget) if row.cap is not None]
    assert all(row.used <= row.cap for row in budgets)
    trials = [(row.task_id, row.trial) for row in rows(tables.Trajectory)]
    assert len(trials) == len(set(trials))
    assert {row.outcome for row in rows(tables.Trajectory) if row.source == "{}"} <= {
        "succeeded",
        "failed",
        "halted",
        "rejected",
        "paused",
        "finished",
    }
    held = [row for row in rows(tables.Trajectory) if row.outcome == "paused"]
    probed = {row.task_id for row in held}
    arms = {row.run_id for row in rows(tables.Assignment)}
    assert not any(row.run_id in arms for row in rows(tables.Task) if row.id in probed)
