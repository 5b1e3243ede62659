"""The paper's figures as the package carries them."""

import pytest

from console.detection.detectors import DETECTORS
from console.detection.evaluation import paper


def test_every_environment_of_the_paper_has_all_methods_and_models():
    for environment in paper.ENVIRONMENTS:
        found = paper.read_printed_figures(environment)
        assert len([one for one in found if one.metric == "macro_f1"]) == 7 * 3
        assert len([one for one in found if one.metric == "ece"]) == 3 * 3
        assert {one.detector for one in found} == set(paper.METHODS)
        assert {one.metric for one in found} == {"macro_f1", "cost", "er", "pr_auc", "ece"}


def test_figures_stand_under_the_consoles_own_names():
    assert set(paper.METHODS) <= set(DETECTORS)
    value = next(
        one.value
        for one in paper.read_printed_figures("alfworld")
        if (one.model, one.detector, one.metric) == ("GPT3.5-Turbo", "inferact-prob", "macro_f1")
    )
    assert value == pytest.approx(0.779)


def test_an_environment_that_the_paper_does_not_have_has_no_figures():
    assert paper.read_printed_figures("tau-bench") == []


def test_the_user_study_has_every_method_with_people_s_and_a_model_s_feedback():
    found = {one.detector: one for one in paper.read_user_study()}
    assert set(found) == set(paper.METHODS)
    assert (found["inferact-verb"].people, found["inferact-verb"].sd, found["inferact-verb"].model) == (50.3, 1.2, 49.0)
    assert max(one.people for one in found.values()) == 50.3
