"""The majority label of a checkpoint."""

import pytest
from sqlalchemy import literal, select, union_all

from console.database import reading
from console.detection.fitting import find_majority_labels

LABELS = {1: ("misaligned",), 2: ("misaligned", "aligned", "aligned"), 3: ("aligned", "misaligned")}


def labels():
    rows = [(key, 2, "action", label, f"task {key}") for key, votes in LABELS.items() for label in votes]
    return union_all(*(select(*map(literal, row)) for row in rows))


@pytest.mark.parametrize(("tie", "third"), [(None, {}), (True, {(3, 2, "action"): (True, "task 3")})])
def test_most_votes_decide_and_half_and_half_is_what_the_caller_says(tie, third):
    with reading() as session:
        found = find_majority_labels(session, labels(), tie=tie)
    assert found == {(1, 2, "action"): (True, "task 1"), (2, 2, "action"): (False, "task 2"), **third}
