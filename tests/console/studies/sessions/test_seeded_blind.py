"""What a participant's browser receives before an answer does not tell seeded items from real ones."""

import re
from collections import Counter

import numpy as np

from console.database import reading, review_queue
from console.review import blinding
from console.review.consequences import is_judged
from console.studies.sessions import joining
from console.web.participant.item import line_html
from console.web.widgets.trajectory_view import presentation_html

DRAWS = 400


def received(place):
    """The page of an item as HTML: the line above it with the meter, the presentation, the kind of its buttons."""
    with reading() as session:
        view = blinding.review_view(
            session, review_queue(), place.run, place.claim, place.participant.code, unblinded=False
        )
    buttons = "judge" if is_judged(place.run, place.claim.kind) else "decide"
    return line_html(place) + presentation_html(view.presentation) + buttons


def simple_features(html):
    """Counts of elements, classes and words of the frame, of digits too, and the length."""
    found = Counter(re.findall(r"<[a-z0-9]+|class=\"[^\"]*\"", html))
    text = re.sub(r"<[^>]*>", " ", html)
    found.update(word for word in re.findall(r"[A-Za-z]{4,}", text))
    return {"length": len(html), "meter": meter(html), **found}


def meter(html):
    """How many reviews are left, as the line above the item says it."""
    shown = re.search(r"(\d+) left", html)
    return int(shown[1]) if shown else 0


def told_apart(rows):
    """p of the single feature that tells seeded items best, against labels shuffled among the tasks of a study.

    An item's content differs from task to task, so tasks are what is shuffled, not the times that they are shown.
    """
    names = sorted({name for *_, found in rows for name in found})
    table = {}
    for study, task, seeded, found in rows:
        table.setdefault((study, task, seeded), []).append([found.get(name, 0) for name in names])
    values = np.array([np.mean(shown, axis=0) for shown in table.values()])
    values = values[:, values.std(axis=0) > 0]
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    studies, labels = np.array([study for study, *_ in table]), np.array([seeded for *_, seeded in table], float)
    rng = np.random.default_rng(0)
    shuffled = np.array([_shuffled(labels, studies, rng) for _ in range(DRAWS)])
    signs = np.vstack([labels, shuffled]) - labels.mean()
    best = np.abs(signs @ values).max(axis=1)
    return np.mean(best >= best[0] - 1e-9)


def _shuffled(labels, studies, rng):
    found = labels.copy()
    for study in np.unique(studies):
        found[studies == study] = rng.permutation(found[studies == study])
    return found


def test_a_browser_cannot_tell_seeded_items_and_a_planted_leak_is_found(study, walk, decide):
    rows, leaking = [], []
    for seed in (1, 2, 3):
        made = study(
            f"pilot {seed}", seed=seed, tasks=9, trials=1, budget="6", participants={"human": 2},
            factors={}, checks={"known_good": 2, "known_bad": 2},
        )  # fmt: skip
        person, before = joining.join(made.join_code), (0, 0)
        while (place := walk(person.id, stop=lambda place: place.claim is not None)).kind != "finished":
            html = received(place)
            found, seeded = simple_features(html), place.kind == "probe"
            left = found.pop("meter")
            found["moved"] = before[1] - left if before[0] == place.condition else -1
            before = place.condition, left
            rows.append((seed, place.claim.trajectory_id, seeded, found))
            leaking.append((seed, place.claim.trajectory_id, seeded, found | {"planted": int(seeded)}))
            decide(place, "look again")
    assert sum(seeded for _, _, seeded, _ in rows) == 12
    assert {found["moved"] for *_, found in rows} == {-1, 1}, "the meter moves by one with every item"
    assert told_apart(rows) > 0.05
    assert told_apart(leaking) < 0.01
