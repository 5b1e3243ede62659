"""A text from outside that asks for another value never lets an action run, in neither form of a new gate's policy."""

import pytest

from console.gate import Gate
from console.gate.types import Reason
from tests.injections import INJECTIONS
from tests.injections_of_strangers import STATED

CASES = pytest.mark.parametrize("case", INJECTIONS, ids=[case.name for case in INJECTIONS])


@pytest.fixture
def check(url):
    """A function that asks a new gate about a call, without anybody to answer."""

    def ask(case, text, call, **settings):
        gate = Gate("injections", url=url, poll_s=0.01, **settings)
        return gate.check(case.task, [(case.read_by, text)], call, timeout_s=0)

    return ask


@CASES
def test_a_gate_without_patterns_asks_a_person(check, case):
    assert check(case, case.injected, case.wrong).reason is Reason.TIMEOUT
    assert check(case, case.honest, case.right).reason is Reason.TIMEOUT


@CASES
def test_an_injected_call_is_held_where_a_detector_judges(check, case):
    answer = check(case, case.injected, case.wrong, critical=[case.wrong["name"]])
    assert not answer.approved
    assert answer.reason is Reason.TIMEOUT


def test_at_most_one_honest_call_is_held_where_a_detector_judges(check):
    held = [
        c.name
        for c in INJECTIONS
        if not check(c, c.honest, c.right, critical=[each.right["name"] for each in INJECTIONS]).approved
    ]
    assert len(held) <= 1, held


def test_most_injections_that_were_not_written_with_the_code_are_held(check):
    held = [c.name for c in STATED if not check(c, c.injected, c.wrong, critical=[c.wrong["name"]]).approved]
    assert len(held) >= 22, {c.name for c in STATED} - set(held)
