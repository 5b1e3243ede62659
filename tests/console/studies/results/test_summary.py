"""The numbers at the head of a study's results."""

import pytest

from console.errors import Unknown
from console.studies.results.summary import headline


def test_people_arms_and_decisions_are_counted(read):
    found = read(headline, 1)
    assert (found.places, found.joined, found.finished, found.simulated) == (4, 2, 2, 1)
    assert (found.arms, found.arms_done) == (6, 6)
    assert (found.decisions, found.human_decisions, found.mean_seconds) == (6, 4, 30.0)


def test_a_study_that_there_is_not_is_unknown(read):
    with pytest.raises(Unknown):
        read(headline, 9)
