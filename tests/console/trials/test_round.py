"""What a round of a run says of itself."""

import re

import pytest

from console.trials.round import Advance

CLOCK = r"\d\d:\d\d:\d\d"


@pytest.mark.parametrize(
    ("undoable", "due_ms", "sentence"),
    [
        (1, 13_400, f"1 decision can still be undone; it is delivered at {CLOCK} \\(in 4 s\\)."),
        (3, 13_400, f"3 decisions can still be undone; the first is delivered at {CLOCK} \\(in 4 s\\)."),
        (1, 9_000, f"1 decision can still be undone; it is delivered at {CLOCK} \\(now\\)."),
    ],
)
def test_what_can_still_be_taken_back_is_said_with_its_time(undoable, due_ms, sentence):
    said = Advance(undoable=undoable, due_ms=due_ms).in_words(10_000)
    assert re.fullmatch(f"0 decisions delivered, 0 tasks got their next trial, 0 new items. {sentence}", said)


def test_one_of_each_is_said_as_one():
    said = Advance(delivered=1, revealed=1, carried_over=1, unknown=1, queued=1, nothing_recorded=1).in_words(0)
    assert said == (
        "1 decision delivered, 1 task got its next trial, 1 solved one was carried over, 1 trial ended because it is "
        "unknown whether the action ran, 1 new item. 1 task has no recorded next trial."
    )


def test_the_json_names_the_time_in_utc():
    document = Advance(undoable=1, due_ms=1_500).as_dict()
    assert (document["undoable"], document["due_at"]) == (1, "1970-01-01T00:00:01.500Z")
    assert "due_ms" not in document
