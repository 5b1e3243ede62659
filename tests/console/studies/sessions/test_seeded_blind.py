"""A classifier that is given all that a participant's browser received before an answer learns nothing from it.

Seeded items and the study's own are compared where the detector says the same of them and the same is right, in this
trial and those before: what is left is what would tell. Conditions that are blind are compared over the same action:
which actions a detector flags, and in what order, is the condition itself, so the place of the item is left out there.
"""

import re
import time

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GroupKFold
from sqlmodel import select

from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.review.simulated.ground_truth import awaited, true_label
from console.runs.trajectory_rows import task_spec
from console.studies.sessions import joining, steps
from console.trajectory import from_json
from storage import tables
from tests.participant_frames import Tab, streamlit_runtime

DRAWS = 400
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
        right = row.kind == "halted" or str(true_label(task_spec(of), awaited(from_json(text), row.step, row.kind)))
        return of.task_key, (row.kind, flagged, right)


def walked(study, people, answer):
    """The rows of so many participants: who, what is compared, the label, what was received."""
    rows = []
    with streamlit_runtime():
        for _ in range(people):
            person = joining.join(study.join_code)
            joining.instructed(person.id)
            rows += _of_person(person, answer)
    return rows


def _of_person(person, answer):
    tab, before, last = Tab(person.secret), {}, (None, 0)
    while (place := steps.where(person.id)).kind != "finished":
        if place.claim is None:
            (steps.begin if place.kind == "introduction" else steps.hand_over)(person.id)
            continue
        key, here = cell(place.claim.item_id)
        before[key] = (*before.get(key, ()), here)
        text, numbers = received(tab)
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


def features(rows, numbers):
    """Tokens and pairs of the frames, hashed, and the numbers with their ranks within a participant."""
    words = HashingVectorizer(
        n_features=2**11, alternate_sign=False, token_pattern=r"[A-Za-z]+|\d+", ngram_range=(1, 2)
    )
    tokens = words.transform([row["text"] for row in rows]).toarray()
    ranks = np.zeros_like(numbers)
    people = np.array([f"{row['study']} {row['person']}" for row in rows])
    for who in set(people):
        mine = people == who
        ranks[mine] = numbers[mine].argsort(axis=0).argsort(axis=0) / mine.sum()
    values = np.hstack([tokens, numbers, ranks])
    values = values[:, values.std(axis=0) > 0]
    return (values - values.mean(axis=0)) / values.std(axis=0)


def foretold(values, groups):
    """The matrix that makes out-of-fold predictions from labels: ridge regression, cross-validated by `groups`."""
    made = np.zeros((len(values), len(values)))
    for train, test in GroupKFold(4).split(values, groups=groups):
        inner = values[train] @ values[train].T + values.shape[1] * np.eye(len(train))
        made[np.ix_(test, train)] = values[test] @ values[train].T @ np.linalg.inv(inner)
    return made


def p_of(values, labels, groups, strata, units):
    """p of the classifier's hits within strata, against labels that are drawn anew among the units of each stratum."""
    made, rng = foretold(values, groups), np.random.default_rng(0)
    drawn = np.array([labels, *(_drawn(labels, strata, units, rng) for _ in range(DRAWS))], float)
    hits = [_hits(made @ (each - each.mean()), each, strata) for each in drawn]
    return float(np.mean(np.array(hits) >= hits[0] - 1e-12))


def _hits(said, labels, strata):
    """The correlation of what is said and what is so, both less their means in the stratum."""
    said, labels = (_within(each.astype(float), strata) for each in (said, labels))
    return float(said @ labels / (np.linalg.norm(said) * np.linalg.norm(labels) + 1e-12))


def _within(values, strata):
    sums, counts = np.bincount(strata, values), np.bincount(strata)
    return values - (sums / counts)[strata]


def _drawn(labels, strata, units, rng):
    """All rows of a unit keep one label."""
    found = labels.copy()
    for stratum in np.unique(strata):
        here = np.flatnonzero(strata == stratum)
        _names, first, of = np.unique(units[here], return_index=True, return_inverse=True)
        found[here] = rng.permutation(labels[here][first])[of]
    return found


def numbered(keys):
    """Each key as a number."""
    return np.unique([repr(key) for key in keys], return_inverse=True)[1]


def told(rows, label, group, stratum, unit, *, leak=None, drop=()):
    """p for the rows' labels; `leak` is one number more of each row, `drop` leaves numbers out."""
    numbers = np.array([[n for at, n in enumerate(row["numbers"]) if at not in drop] for row in rows], float)
    if leak is not None:
        numbers = np.hstack([numbers, np.array([[leak(row)] for row in rows], float)])
    labels = np.array([label(row) for row in rows], float)
    groups, strata, units = (numbered(map(key, rows)) for key in (group, stratum, unit))
    mixed = [len(set(labels[strata == at])) == 2 for at in range(strata.max() + 1)]
    kept = np.array(mixed)[strata]
    values = features([row for row, keep in zip(rows, kept, strict=True) if keep], numbers[kept])
    return p_of(values, labels[kept], groups[kept], numbered(strata[kept]), units[kept])


def reject(place):
    """Turns everything down in the same words, so that all of it comes again."""
    words = "" if place.run.feedback_mode == "binary" else "look again"
    answer = decisions.Answer("respond" if place.claim.kind == "halted" else "reject", words)
    decisions.submit(review_queue(), place.run, place.claim, place.participant.code, answer, now_ms())


def seeded_rows(study, studies, people):
    """Participants of so many studies, whose tasks are others in each."""
    rows = []
    for seed in range(studies):
        made = study(
            f"pilot {seed}", seed=seed, tasks=10, trials=2, budget="4", participants={"human": people}, factors={},
            checks=CHECKS,
        )  # fmt: skip
        rows += [row | {"study": seed, "seeded": row["place"].kind == "probe"} for row in walked(made, people, reject)]
    return rows


def judge_seeded(rows, **more):
    """p for telling seeded items from the study's own."""
    return told(
        rows,
        lambda row: row["seeded"],
        group=lambda row: row["study"],
        stratum=lambda row: (row["study"], row["cell"]),
        unit=lambda row: (row["task"], row["cell"]),
        **more,
    )


def look_at_seeded(rows):
    """Nothing tells; a number that went with where an item is from would be found, and so would its words."""
    seeded = [row for row in rows if row["seeded"]]
    assert {len(row["cell"]) for row in seeded} == {1, 2}, "seeded items stand in every trial"
    assert {row["cell"][0][1] for row in seeded} == {True, False}, "flagged and not"
    assert {row["numbers"][-1] for row in rows} == {1}, "the meter moves by one with every item"
    assert judge_seeded(rows) > 0.05
    assert judge_seeded(rows, leak=lambda row: row["place"].claim.item_id) < 0.01
    told_by_a_word = [row | {"text": row["text"] + " probe" * row["seeded"]} for row in rows]
    assert judge_seeded(told_by_a_word) < 0.01


def test_a_browser_cannot_tell_seeded_items_and_a_planted_leak_is_found(study):
    look_at_seeded(seeded_rows(study, studies=8, people=3))
