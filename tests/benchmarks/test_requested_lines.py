"""Lines written from requests alone, filled in by one fixed procedure, tell most wrong twins from the right calls."""

import pytest

from console.detection.detectors import REQUIREMENTS
from tests.benchmarks.requested_calls import MOST_RIGHT_FLAGGED, requested_calls
from tests.benchmarks.requested_lines import LEAST_TWINS_FLAGGED, fill, judge_all, request_lines


def test_every_line_quotes_its_request():
    pairs = list(zip(requested_calls(), request_lines(), strict=True))
    assert not [words for call, lines in pairs for _, words in lines if words not in call.request]


@pytest.mark.parametrize(("wrong", "standing"), [(False, "met"), (True, "broken")])
def test_the_procedure_fills_right_calls_and_twins_in_the_same_way(wrong, standing):
    call = next(one for one in requested_calls() if "pi_3Mtw9x" in one.request)
    told = fill([("amount", "$42.50"), ("id", "pi_3Mtw9x")], call, wrong=wrong)
    assert [line.standing for line in told] == [standing, "met"]


@pytest.mark.at_length
@pytest.mark.parametrize("wrong", [False, True])
def test_the_verdicts_that_follow_from_the_lines_meet_the_goals(wrong):
    pairs = zip(requested_calls(), request_lines(), strict=True)
    verdicts = judge_all([(call.checkpoint(wrong=wrong), fill(lines, call, wrong=wrong)) for call, lines in pairs])
    share = sum(verdict.score > REQUIREMENTS.threshold for verdict in verdicts) / len(verdicts)
    assert share >= LEAST_TWINS_FLAGGED if wrong else share <= MOST_RIGHT_FLAGGED
