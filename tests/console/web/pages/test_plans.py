"""The Runs page on planning Actors: a plan is read, compared, edited and pinned; figures beside the papers."""

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


def stored():
    with reading() as session:
        return [(one.text, one.author, one.pinned) for one in versions.versions(session, "house")]


def press(at, words):
    next(button for button in at.button if button.label.startswith(words)).click().run()


def test_a_plan_is_read_with_what_each_line_comes_from(plans):
    at = plans()
    lines = table(at, "comes from")
    assert list(lines["line"]) == ["1. read the number"]
    assert lines["comes from"][0].startswith("the model names the trial of letter-")


def test_what_changed_is_marked_line_by_line(plans):
    at = plans()
    box = next(one for one in at.selectbox if one.label == "Version")
    box.set_value(1).run()
    assert any(one.value == "+ 1. read the number" for one in at.code)


def test_an_edited_plan_is_its_next_version_by_that_person(plans):
    at = plans()
    next(one for one in at.text_area if one.label == "The plan, one step a line").input(
        "1. read the number\n2. send it"
    )
    press(at, "Save as the next version")
    assert stored()[-1] == ("1. read the number\n2. send it", "Ada", False)
    lines = table(at, "comes from")
    assert list(lines["comes from"])[1] == "written by Ada"
    assert list(lines["since version"]) == [1, 3]


def test_an_unchanged_plan_is_refused_in_a_sentence(plans, words):
    at = plans()
    press(at, "Save as the next version")
    assert "change it first" in words(at)
    assert len(stored()) == 3


def test_a_version_is_pinned_and_let_go_again(plans):
    at = plans()
    press(at, "Pin")
    assert [pinned for *_, pinned in stored()] == [False, False, True]
    press(at, "Unpin")
    assert not any(pinned for *_, pinned in stored())


def test_the_text_of_a_plan_is_never_markdown(plans):
    at = plans(update="# **loud** <b>x</b> <from E1>")
    assert list(table(at, "comes from")["line"]) == ["# **loud** <b>x</b>"]
    assert not any("loud" in found.value for found in [*at.markdown, *at.caption])


def test_trainings_and_the_runs_own_figures_are_shown(plans, words):
    at = plans()
    assert list(table(at, "revision")["success"]) == ["33.3%"]
    assert "Actions in the first trial" in list(table(at, "95% interval")["figure"])
    assert "requests" in words(at)


def test_without_plans_nothing_is_said_of_them(open_page, kettles):
    at = open_page("runs")
    assert not any(header.value in ("Plans", "How its Actor planned") for header in at.header)
