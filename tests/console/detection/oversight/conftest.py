"""A small run whose curve can be counted by hand."""

import pytest

from console.detection import oversight
from console.trajectory import Label
from tests.overseen import queue
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def pool_of():
    """A function from a run's name to its pool."""
    return lambda name, **more: of_run(name, lambda session, run: oversight.read_pool(session, run, **more))


@pytest.fixture
def queued():
    """A run of eight: six flagged by `rules`, four of these misaligned, one misaligned missed; a cap of three."""
    a_run("shop", [BAD, GOOD, BAD, GOOD, BAD, BAD, BAD, GOOD])
    judge("shop", "rules", [0.9, 0.8, 0.7, 0.65, 0.6, 0.55, 0.2, 0.1])
    judge("shop", "token-prob", [0.1, 0.2, 0.9, 0.95, 0.6, 0.8, 0.99, 0.3], probability=lambda score: 1 - score)
    return queue("shop", "rules", cap=3)
