"""Does what a participant's browser received tell what it must not? A classifier, and a permutation test of it.

A row is a dict with what was received before a decision: `text` of all frames, and `numbers`: ids, sizes, meter,
place, time. What is compared is alike in all that may be seen; what is left is what would tell.
"""

import re
from functools import cache

import numpy as np
from scipy.sparse import vstack
from sklearn.feature_extraction.text import HashingVectorizer
from sqlmodel import select

from console.database import reading
from console.review.simulated.faults import find_true_label
from console.runs.trajectory_rows import task_spec
from console.trajectory import from_json
from console.trajectory.checkpoints import pending_checkpoint
from storage import tables

DRAWS, FOLDS = 299, 5
_WITHOUT = re.compile(r'(hash|active_script_hash): "[0-9a-f]*"')
_NAMES = re.compile(r"\$\$ID-[0-9a-f]{32}-[a-z]+-([0-9a-zA-Z]+)")


def read_frames(frames, took):
    """The text of all frames, and numbers: ids, counts, sizes, the meter, the place, the time that they took."""
    text = _WITHOUT.sub("", "\n".join(map(str, frames)))
    names = [int(name, 36) for name in _NAMES.findall(text)] or [0]
    meter = [int(number) for number in re.findall(r"(\d+) left", text)] or [0]
    place = [int(number) for number in re.findall(r"Item (\d+)", text)] or [0]
    return text, [min(names), max(names), len(frames), sum(one.ByteSize() for one in frames), meter[0], place[0], took]


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


_WORDS = HashingVectorizer(
    n_features=2**14, alternate_sign=False, norm=None, token_pattern=r"[A-Za-z]+|\d+", ngram_range=(1, 2)
)


@cache
def hashed(text):
    """How often the text has each token and pair of tokens, a column for each hash."""
    return _WORDS.transform([text])


def features(rows, numbers):
    """Tokens and pairs of the frames, hashed, and the numbers with their ranks within each round of a participant."""
    found = vstack([row["words"] if "words" in row else hashed(row["text"]) for row in rows])
    tokens = found[:, found.getnnz(axis=0) > 0].toarray()
    trials = np.array([row["round"][1] for row in rows])
    rounds = numbered((row["study"], row["person"], row["round"]) for row in rows)
    ranks = np.zeros_like(numbers)
    for each in np.unique(rounds):
        mine = rounds == each
        ranks[mine] = (numbers[mine].argsort(axis=0).argsort(axis=0) + 0.5) / mine.sum()
    of_trials = [np.hstack([numbers, ranks]) * (trials == trial)[:, None] for trial in np.unique(trials)]
    values = np.hstack([tokens, numbers, ranks, *of_trials])
    values = values[:, values.std(axis=0) > 0]
    return (values - values.mean(axis=0)) / values.std(axis=0)


def p_of(values, labels, groups, strata, blocks, units, draws=DRAWS):
    """p of the better of two classifiers (Bonferroni), trained anew for labels drawn among the units of each block.

    One goes by the single feature that goes best with the label in the other groups, which finds one leak among
    thousands of features; one, ridge regression, weighs them all. What counts is how what they say goes with what is
    so within the strata.
    """
    rng = np.random.default_rng(0)
    drawn = np.array([labels, *(_drawn(labels, blocks, units, rng) for _ in range(draws))]).T
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


def told(rows, label, group, stratum, unit, *, block=None, leak=None, drop=(), draws=DRAWS):
    """p for the rows' labels; `leak` is one number more of each row, `drop` leaves numbers out."""
    strata = numbered(map(stratum, rows))
    labels = np.array([label(row) for row in rows], float)
    kept = [len(set(labels[strata == at])) == 2 for at in strata]
    rows, labels = [row for row, keep in zip(rows, kept, strict=True) if keep], labels[kept]
    numbers = np.array([[n for at, n in enumerate(row["numbers"]) if at not in drop] for row in rows], float)
    if leak is not None:
        numbers = np.hstack([numbers, np.array([[leak(row)] for row in rows], float)])
    groups, strata, blocks, units = (numbered(map(key, rows)) for key in (group, stratum, block or stratum, unit))
    found = p_of(features(rows, numbers), labels, groups, strata, blocks, units, draws)
    print(f"p = {found:.3f}: {len(rows)} items of {len(set(groups))} studies, {int(labels.sum())} of the one kind")
    return found


def p_of_flags(rounds, seed=0, draws=1_999):
    """p of flags that go with seeding (their covariance, summed): each round's flags are permuted among its items."""
    rng, sums = np.random.default_rng(seed), np.zeros(draws + 1)
    for flags, seeded in rounds:
        drawn = np.vstack([flags, rng.permuted(np.tile(flags, (draws, 1)), axis=1)])
        sums += drawn @ (seeded - seeded.mean())
    return float(np.mean(abs(sums) >= abs(sums[0]) - 1e-9))
