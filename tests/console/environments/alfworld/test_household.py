"""The words for what is seen."""

import pytest

from console.environments.alfworld.household import describe_condition, join_with_articles


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], "nothing"),
        (["egg 1"], "a egg 1"),
        (["egg 2", "egg 1"], "a egg 2, and a egg 1"),
        (["egg 2", "egg 1", "mug 1"], "a egg 2, a egg 1, and a mug 1"),
    ],
)
def test_names_are_listed_with_a_comma_before_the_last(names, told):
    assert join_with_articles(names) == told


@pytest.mark.parametrize(
    ("done", "told"),
    [
        ("", "There's nothing special about apple 1."),
        ("hot", "This is a hot apple 1."),
        ("cool", "This is a cold apple 1."),
        ("clean", "This is a clean apple 1."),
        ("sliced", "This is a sliced apple 1."),
        ("cool sliced", "This is a cool sliced apple 1."),
        ("hot clean", "This is a hot and clean apple 1."),
        ("cool clean", "This is a cool and clean apple 1."),
        ("hot clean sliced", "This is a hot and clean sliced apple 1."),
    ],
)
def test_what_has_been_done_to_a_thing_is_told(done, told):
    words = {word: word in done.split() for word in ("hot", "cool", "clean", "sliced")}
    assert describe_condition("apple 1", **words) == told
