"""A classifier that is given all that a participant's browser received before an answer learns nothing from it.

Seeded items and the study's own are compared where the detector says the same of them and the same is right, in this
trial and those before: what is left is what would tell. Conditions that are blind are compared over the same action:
which actions a detector flags, and in what order, is the condition itself, so the place of the item is left out there.
"""

import re
import time
from functools import cache
from itertools import count, islice

import numpy as np
import pytest
from scipy.sparse import vstack
from sklearn.feature_extraction.text import HashingVectorizer
from sqlmodel import select

from console.database import now_ms, reading, review_queue
from console.errors import BadInput
from console.review import decisions
from console.review.simulated.faults import find_true_label, pending_checkpoint
from console.runs.trajectory_rows import task_spec
from console.studies.sessions import joining, steps
from console.trajectory import from_json
from storage import tables
from tests.participant_frames import Tab, streamlit_runtime

DRAWS, NAMES = 299, count()
CHANCE = 0.02
"""Below it is called told. Times differ from run to run, so what falls below by chance is walked and judged again."""
FOLDS = 5
CHECKS = {"known_good": 1, "known_bad": 1, "unflagged_good": 1, "unflagged_bad": 1, "audited": 0.6}
_WITHOUT = re.compile(r'(hash|active_script_hash): "[0-9a-f]*"')
_NAMES = re.compile(r"\$\$ID-[0-9a-f]{32}-[a-z]+-([0-9a-zA-Z]+)")


def received(tab):
    """What came before the answer: the text of all frames, and numbers: ids, sizes, the meter, the time it took."""
    began = time.perf_counter()
    frames = tab.frames()
    took = time.perf_counter() - began
    text = _WITHOUT.sub("", "\n".join(map(str, frames)))
    names = [int(name, 36) for name in _NAMES.findall(text)] or [0]
    meter = [int(number) for number in re.findall(r"(\d+) left", text)] or [0]
    place = [int(number) for number in re.findall(r"Item (\d+)", text)] or [0]
    numbers = [min(names), max(names), len(frames), sum(frame.ByteSize() for frame in frames), meter[0], place[0], took]
    return text, numbers


def cell(item_id):
    """What the detector says of the item's action and what is right."""
    item, task, body, record, verdict = (
        tables.Item, tables.Task, tables.TrajectoryBody, tables.Trajectory, tables.Verdict,
    )  # fmt: skip
    with reading() as session:
        found = session.exec(
            select(item, task, body.body, verdict.flagged)
            .join(record, record.id == item.trajectory_id)
            .join(task, task.id == record.task_id)
            .join(body, body.trajectory_id == item.trajectory_id)
            .join(verdict, verdict.id == item.verdict_id, isouter=True)
            .where(item.id == item_id)
        ).one()
        row, of, text, flagged = found
        right = row.kind == "halted" or str(
            find_true_label(task_spec(of), pending_checkpoint(from_json(text), row.step, row.kind))
        )
        return of.task_key, (row.kind, flagged, right)


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
            "text": text,
            "numbers": numbers,
        }
        answer(place)


_WORDS = HashingVectorizer(
    n_features=2**14, alternate_sign=False, norm=None, token_pattern=r"[A-Za-z]+|\d+", ngram_range=(1, 2)
)


@cache
def hashed(text):
    """How often the text has each token and pair of tokens, a column for each hash."""
    return _WORDS.transform([text])


def features(rows, numbers):
    """Tokens and pairs of the frames, hashed, and the numbers with their ranks within each round of a participant."""
    found = vstack([hashed(row["text"]) for row in rows])
    tokens = found[:, found.getnnz(axis=0) > 0].toarray()
    trials = np.array([row["place"].trial for row in rows])
    rounds = numbered((row["study"], row["person"], row["place"].condition, row["place"].trial) for row in rows)
    ranks = np.zeros_like(numbers)
    for each in np.unique(rounds):
        mine = rounds == each
        ranks[mine] = (numbers[mine].argsort(axis=0).argsort(axis=0) + 0.5) / mine.sum()
    of_trials = [np.hstack([numbers, ranks]) * (trials == trial)[:, None] for trial in np.unique(trials)]
    values = np.hstack([tokens, numbers, ranks, *of_trials])
    values = values[:, values.std(axis=0) > 0]
    return (values - values.mean(axis=0)) / values.std(axis=0)


def p_of(values, labels, groups, strata, blocks, units):
    """p of the better of two classifiers (Bonferroni), trained anew for labels drawn among the units of each block.

    One goes by the single feature that goes best with the label in the other groups, which finds one leak among
    thousands of features; one, ridge regression, weighs them all. What counts is how what they say goes with what is
    so within the strata.
    """
    rng = np.random.default_rng(0)
    drawn = np.array([labels, *(_drawn(labels, blocks, units, rng) for _ in range(DRAWS))]).T
    values, drawn = _within(values, strata), _within(drawn, strata)
    values /= np.linalg.norm(values, axis=0) + 1e-9
    alike = values @ values.T
    one, every = np.zeros_like(drawn), np.zeros_like(drawn)
    for fold in range(FOLDS):
        test, train = groups % FOLDS == fold, groups % FOLDS != fold
        one[test] = by_one(values[train], drawn[train], values[test])
        every[test] = by_all(alike[train][:, train], drawn[train], alike[test][:, train])
    return min(1.0, 2 * min(_share_of_hits(said, drawn) for said in (one, every)))


def by_one(known, labels, asked):
    """What the best single feature says, a column for each column of labels."""
    goes_with = known.T @ labels
    best = np.abs(goes_with).argmax(axis=0)
    return asked[:, best] * np.sign(goes_with[best, np.arange(labels.shape[1])])


def by_all(known, labels, asked):
    """What ridge regression says in its dual form, by how alike the known are and those asked to them."""
    return asked @ np.linalg.solve(known + np.eye(len(known)), labels)


def _share_of_hits(said, drawn):
    """How many of the draws are told as well as the labels that are so, which come first."""
    hits = (said * drawn).sum(axis=0) / (np.linalg.norm(said, axis=0) * np.linalg.norm(drawn, axis=0) + 1e-12)
    return float(np.mean(hits >= hits[0] - 1e-12))


def _within(values, strata):
    """The values less their means in the stratum."""
    found = np.array(values, float)
    for stratum in np.unique(strata):
        found[strata == stratum] -= found[strata == stratum].mean(axis=0)
    return found


def _drawn(labels, blocks, units, rng):
    """All rows of a unit keep one label."""
    found = labels.copy()
    for block in np.unique(blocks):
        here = np.flatnonzero(blocks == block)
        _, first, of = np.unique(units[here], return_index=True, return_inverse=True)
        found[here] = rng.permutation(labels[here][first])[of]
    return found


def numbered(keys):
    """Each key as a number."""
    return np.unique([repr(key) for key in keys], return_inverse=True)[1]


def told(rows, label, group, stratum, unit, *, block=None, leak=None, drop=()):
    """p for the rows' labels; `leak` is one number more of each row, `drop` leaves numbers out."""
    strata = numbered(map(stratum, rows))
    labels = np.array([label(row) for row in rows], float)
    kept = [len(set(labels[strata == at])) == 2 for at in strata]
    rows, labels = [row for row, keep in zip(rows, kept, strict=True) if keep], labels[kept]
    numbers = np.array([[n for at, n in enumerate(row["numbers"]) if at not in drop] for row in rows], float)
    if leak is not None:
        numbers = np.hstack([numbers, np.array([[leak(row)] for row in rows], float)])
    groups, strata, blocks, units = (numbered(map(key, rows)) for key in (group, stratum, block or stratum, unit))
    found = p_of(features(rows, numbers), labels, groups, strata, blocks, units)
    print(f"p = {found:.3f}: {len(rows)} items of {len(set(groups))} studies, {int(labels.sum())} of the one kind")
    return found


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
            if "in the source outside the study's own tasks" not in str(refusal):
                raise


def judge_seeded(rows, **more):
    """p for telling seeded items from the study's own."""
    return told(
        rows,
        lambda row: row["seeded"],
        group=lambda row: row["study"],
        stratum=lambda row: row["cell"],
        unit=lambda row: (row["study"], row["task"], row["cell"]),
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


def test_a_browser_cannot_tell_seeded_items_and_a_planted_leak_is_found(study):
    look_at_seeded(lambda: seeded_rows(study, studies=4, people=1))


@pytest.mark.at_length
@pytest.mark.timeout(14_400)
def test_nor_can_it_with_two_hundred_participants(study):
    look_at_seeded(lambda: seeded_rows(study, studies=26, people=8))


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


@pytest.mark.at_length
@pytest.mark.timeout(14_400)
def test_nor_can_it_tell_the_condition_with_two_hundred_participants(study):
    look_at_blind(lambda: blind_rows(study, studies=26, people=8))
