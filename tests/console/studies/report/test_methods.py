"""The methods of a study in sentences: one thing is one."""

from console.studies.design.model import Participants
from console.studies.report.statements import paragraphs


def test_who_took_part_and_what_they_did_is_counted_in_words(design, tables):
    there = tables["participants"]
    alone = tables | {"participants": there[there["participant"] == "P01"]}
    one = design.model_copy(update={"tasks": 1, "trials": 1, "participants": Participants(human=1)})
    said = " ".join(text for _, text in paragraphs(one, alone))
    assert "1 person took part, 1 of them finished; the design has places for 1." in said
    assert " 1 task for each condition, " in said
    assert "; 1 trial of each task. " in said
    dry = tables | {"participants": there[there["participant"] == "P01"].assign(annotator_kind="rule")}
    said = " ".join(text for _, text in paragraphs(one, dry))
    assert "took 1 place of people in a dry run, a deviation from the design." in said
