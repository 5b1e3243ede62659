"""The noisy reviewer errs as often as is stated, and not otherwise."""

from dataclasses import replace

import pytest

from console.review.simulated import REVIEWERS, Noise
from console.trajectory import Label

NOISY, ORACLE = REVIEWERS["noisy"], REVIEWERS["oracle"]


@pytest.fixture(scope="module")
def judged_cases(cases):
    """The labelled cases of two environments, each under five seeds."""
    found = [case for name in ("webshop", "hotpotqa") for _, case in cases(name, 0, 50)]
    labelled = [case for case in found if ORACLE.judge(case, Noise()).label is not None]
    return [replace(case, seed=seed) for case in labelled for seed in range(5)]


def test_without_noise_it_is_the_oracle(judged_cases):
    for case in judged_cases[:60]:
        assert NOISY.judge(case, Noise()) == ORACLE.judge(case, Noise())


@pytest.mark.at_length
def test_its_errors_come_at_the_stated_rates(judged_cases):
    noise = Noise(false_accept=0.3, false_reject=0.1)
    pairs = [(ORACLE.judge(case, noise).label, NOISY.judge(case, noise).label) for case in judged_cases]
    accepted = [given is Label.ALIGNED for true, given in pairs if true is Label.MISALIGNED]
    rejected = [given is Label.MISALIGNED for true, given in pairs if true is Label.ALIGNED]
    assert sum(accepted) / len(accepted) == pytest.approx(0.3, abs=0.09)
    assert sum(rejected) / len(rejected) == pytest.approx(0.1, abs=0.07)


def test_what_it_turns_down_gets_words_and_what_it_lets_pass_does_not(judged_cases):
    for case in judged_cases[:80]:
        opinion = NOISY.judge(case, Noise(false_accept=0.5, false_reject=0.5))
        assert bool(opinion.words) == (opinion.label is Label.MISALIGNED)


def test_it_takes_about_the_stated_time(judged_cases):
    times = [NOISY.judge(case, Noise(seconds_per_item=40)).seconds for case in judged_cases]
    assert all(20 <= seconds <= 60 for seconds in times)
    assert sum(times) / len(times) == pytest.approx(40, abs=3)


def test_the_same_case_gets_the_same_answer(judged_cases):
    noise = Noise(0.4, 0.4, 30)
    assert all(NOISY.judge(case, noise) == NOISY.judge(case, noise) for case in judged_cases[:40])
