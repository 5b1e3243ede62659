"""A classifier that is given all that a participant's browser received before an answer learns nothing from it.

Seeded items and the study's own are compared within a round where the detector says the same of them and the same is
right, in this trial and those before: what is left is what would tell. Conditions that are blind are compared over the
same action: which actions a detector flags, and in what order, is the condition itself, so the place of the item is
left out there.
"""

import re
import time
from itertools import count, islice

import pytest

from console.database import now_ms, review_queue
from console.errors import BadInput
from console.review import decisions
from console.studies.sessions import joining, steps
from tests.blindness import cell, read_frames, told
from tests.participant_frames import Tab, streamlit_runtime

NAMES = count()
CHANCE = 0.02
"""Below it is called told. Times differ from run to run, so what falls below by chance is walked and judged again."""
CHECKS = {"known_good": 1, "known_bad": 1, "unflagged_good": 1, "unflagged_bad": 1, "audited": 0.6}


def received(tab):
    """What came before the answer."""
    began = time.perf_counter()
    frames = tab.frames()
    return read_frames(frames, time.perf_counter() - began)


def walked(study, people, answer):
    """The rows of so many participants: who, what is compared, the label, what was received."""
    rows = []
    with streamlit_runtime():
        for _ in range(people):
            person = joining.join(study.join_code)
            joining.finish_instructions(person.id)
            rows += _of_person(person, answer)
    return rows


def _of_person(person, answer):
    tab, before, last = Tab(person.secret), {}, (None, 0)
    while True:
        # The first rendering of an item, which claims it.
        text, numbers = received(tab)
        place = steps.find_position(person.id)
        if place.kind == "finished":
            return
        if place.kind not in ("review", "probe"):
            (steps.begin if place.kind == "introduction" else steps.hand_over)(person.id)
            continue
        key, here = cell(place.claim.item_id)
        before[key] = (*before.get(key, ()), here)
        round_, left = (place.condition, place.trial), numbers[4]
        numbers.append(last[1] - left if last[0] == round_ else 1)
        last = round_, left
        yield {
            "person": person.code,
            "task": key,
            "cell": before[key],
            "place": place,
            "round": (place.condition, place.trial),
            "text": text,
            "numbers": numbers,
        }
        answer(place)


def reject(place):
    """Turns everything down in the same words, so that all of it comes again."""
    words = "" if place.run.feedback_mode == "binary" else "look again"
    answer = decisions.ReviewDecision("respond" if place.claim.kind == "halted" else "reject", words)
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, answer, now_ms())


def seeded_rows(study, studies, people):
    """Participants of so many studies, whose tasks are others in each."""
    rows = []
    for seed, made in islice(_with_enough_to_seed(study, people), studies):
        rows += [row | {"study": seed, "seeded": row["place"].kind == "probe"} for row in walked(made, people, reject)]
    return rows


def _with_enough_to_seed(study, people):
    """Studies seed by seed, without those that are refused: their tasks leave too little of a kind for the checks."""
    for seed in count():
        try:
            made = study(
                f"pilot {next(NAMES)}", seed=seed, tasks=10, trials=2, budget="4", participants={"human": people},
                factors={}, checks=CHECKS,
            )  # fmt: skip
            yield seed, made
        except BadInput as refusal:
            if "outside the study's own tasks" not in str(refusal):
                raise


def judge_seeded(rows, **more):
    """p for telling seeded items from the study's own."""
    return told(
        rows,
        lambda row: row["seeded"],
        group=lambda row: row["study"],
        stratum=lambda row: (row["study"], row["person"], row["round"], row["cell"]),
        block=lambda row: (row["study"], row["cell"][0]),
        unit=lambda row: (row["study"], row["task"]),
        **more,
    )


def look_at_seeded(walk):
    """Nothing tells; a number that went with where an item is from would be found, and so would its words."""
    rows, again = walk(), walk
    seeded = [row for row in rows if row["seeded"]]
    assert {len(row["cell"]) for row in seeded} == {1, 2}, "seeded items stand in every trial"
    assert {row["cell"][0][1] for row in seeded} == {True, False}, "flagged and not"
    assert {row["numbers"][-1] for row in rows} == {1}, "the meter moves by one with every item"
    assert judge_seeded(rows) > CHANCE or judge_seeded(again()) > CHANCE
    assert judge_seeded(rows, leak=lambda row: row["place"].claim.item_id % 7 + 10 * row["seeded"]) < CHANCE
    told_by_a_word = [row | {"text": row["text"] + " probe" * row["seeded"]} for row in rows]
    assert judge_seeded(told_by_a_word) < CHANCE


@pytest.mark.at_length
def test_a_browser_cannot_tell_seeded_items_and_a_planted_leak_is_found(study):
    look_at_seeded(lambda: seeded_rows(study, studies=4, people=1))


def blind_rows(study, studies, people):
    """Participants under two detectors of which the page shows nothing."""
    hidden = dict.fromkeys(("score", "explanation", "detector_name", "highlights"), ("hidden",))
    rows = []
    for seed in range(studies):
        made = study(
            f"blind {next(NAMES)}", seed=seed, tasks=8, trials=1, budget=None, participants={"human": people},
            comparison="between", factors={"detector": ("rules", "random"), **hidden},
        )  # fmt: skip
        rows += [row | {"study": seed} for row in walked(made, people, reject)]
    return rows


def judge_blind(rows, **more):
    """p for telling the detector; the item's number, the meter and the order of ids are left out."""
    return told(
        [row | {"text": re.sub(r"Item \d+", "Item", row["text"])} for row in rows],
        lambda row: row["place"].run.detector == "rules",
        group=lambda row: row["study"],
        stratum=lambda row: (row["study"], row["task"]),
        block=lambda row: row["study"],
        unit=lambda row: row["person"],
        drop=(4, 5, 7),
        **more,
    )


def look_at_blind(walk):
    """Nothing tells the condition; its number would be found."""
    rows, again = walk(), walk
    assert {row["place"].run.detector for row in rows} == {"rules", "random"}
    assert judge_blind(rows) > CHANCE or judge_blind(again()) > CHANCE
    assert judge_blind(rows, leak=lambda row: row["place"].run.detector == "rules") < CHANCE


@pytest.mark.at_length
def test_a_browser_cannot_tell_a_blind_condition_and_a_planted_leak_is_found(study):
    look_at_blind(lambda: blind_rows(study, studies=5, people=4))
