"""Presets: each file is a design that works as it is, for people and by simulated reviewers."""

import pytest

from console.detection.evaluation import paper
from console.errors import Unknown
from console.studies.design import conditions, task_count, varied_factors
from console.studies.design.contrasts import PRIMARY, planned_contrasts
from console.studies.design.giveaways import find_giveaways
from console.studies.design.presets import preset, presets
from console.studies.design.yaml_file import dump, load


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_a_design_for_people_and_one_for_simulated_reviewers(name):
    found = preset(name)
    assert load(dump(found.design)) == found.design
    assert found.design.participants.human
    assert found.design.consent.text
    assert found.design.instructions
    assert not found.designed(simulated=True).participants.human
    assert [one for one in planned_contrasts(found.design) if one.kind == PRIMARY]


def test_only_the_papers_design_gives_its_tasks_away_and_says_so():
    warned = {name: find_giveaways(found.design) for name, found in presets().items()}
    assert {name for name, said in warned.items() if said} == {"appendix-f"}
    assert "memory of one condition affects the next, and the design has no wash-out" in warned["appendix-f"][0]


def test_appendix_f_is_the_papers_study():
    design = preset("appendix-f").design
    assert (design.participants.human, task_count(design), design.trials, design.budget) == (3, 100, 4, "50%")
    assert design.halted_free
    seven = preset("appendix-f").designed(with_model=True)
    assert set(varied_factors(seven)["detector"]) == set(paper.METHODS)
    assert varied_factors(seven)["feedback"] == ("nl", "binary")
    assert len(conditions(seven)) == 14


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(Unknown, match="appendix-f, false-alarms, score-shown, words-or-binary"):
        preset("appendix-g")
