"""The Runs page on planning Actors: a plan is read, compared, edited and pinned; figures beside the papers."""

import re

import pytest

from console.database import reading
from console.trials.planning import versions
from tests.console.trials.planning.conftest import learnt as learnt


@pytest.fixture
def plans(learnt, open_page):
    """A function that opens the Runs page at the run that went by a learnt plan."""

    def show(**more):
        learnt(**more)
        return open_page("runs", run="house test")

    return show


def table(at, column):
    return next(one.value for one in at.dataframe if column in one.value.columns)


def plan_lines(html):
    """(line, version, source) of each line in the table of the plan."""
    return re.findall(r'<tr><th scope="row">([^<]*)</th><td class="ia-n">(.*?)</td><td>(.*?)</td></tr>', html)


def stored():
    with reading() as session:
        return [(one.text, one.author, one.pinned) for one in versions.list_versions(session, "house")]


def press(at, words):
    next(button for button in at.button if button.label.startswith(words)).click().run()


def test_a_plan_is_read_with_its_sources_and_changes_beside_the_figures(plans, words):
    at = plans()
    ((line, since, source),) = plan_lines(words(at))
    assert (line, since) == ("1. read the number", "1")
    assert source.startswith("the model names the trial of letter-")
    assert list(table(at, "Revision")["Success"]) == ["33.3%"]
    assert "Actions in the first trial" in list(table(at, "95% interval")["Figure"])
    assert "requests" in words(at)
    next(one for one in at.selectbox if one.label == "Version").set_value(1).run()
    assert any(one.value == "+ 1. read the number" for one in at.code)


@pytest.mark.at_length
def test_a_plan_is_edited_and_pinned_by_a_person(plans, words):
    at = plans(update="1. **loud** <b>x</b> <from E1>")
    press(at, "Save plan")
    assert "Change the plan, then save again" in words(at)
    next(one for one in at.text_area if one.label.startswith("Plan (one")).input("1. **loud** <b>x</b>\n2. send it")
    press(at, "Save plan")
    assert stored()[-1] == ("1. **loud** <b>x</b>\n2. send it", "Ada", False)
    lines = plan_lines(words(at))
    assert [(since, source) for _line, since, source in lines][1:] == [("3", "written by Ada")]
    assert (lines[0][:2]) == ("1. **loud** &lt;b&gt;x&lt;/b&gt;", "1")
    assert not any("loud" in found.value for found in [*at.markdown, *at.caption])
    press(at, "Pin")
    assert [pinned for *_, pinned in stored()] == [False, False, False, True]
    press(at, "Unpin")
    assert not any(pinned for *_, pinned in stored())


def test_without_plans_nothing_is_said_of_them(open_page, kettles):
    at = open_page("runs")
    assert not any(header.value in ("Plans", "Planning figures") for header in at.header)
