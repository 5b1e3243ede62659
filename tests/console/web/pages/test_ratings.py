"""The Answers page: rules for annotators, the way to their queue, and results for researchers."""

import re

import pytest

from console.database import writing
from console.detection import batch
from console.errors import Refused
from console.runs import get
from tests.console.trials.test_answer_rating import GOLD, judge, ratings
from tests.console.trials.test_answer_rating import rating as rating


def press(at, label):
    next(button for button in at.button if button.label.startswith(label)).click().run()


def test_an_annotator_reads_the_rules_and_finds_the_way_to_the_answers(rating, open_page, words):
    at = open_page("ratings", role="reviewer")
    assert "majority counts" in words(at)
    assert "Majority" not in words(at)
    assert not at.selectbox
    press(at, "Rate rated: 3 answers left")
    assert GOLD[0] in words(at)
    press(at, "Close rating")
    assert "Reference answer" not in words(at)


def test_a_majority_is_named_only_where_several_people_rate(rating, open_page, words):
    with writing() as session:
        get(session, "rated").reviews_per_item = 1
    said = words(open_page("ratings", role="reviewer"))
    assert "What you see" in said
    assert "Several people rate each answer" not in said


def test_an_annotator_judges_with_a_comment_and_gets_the_next_one(rating, open_page, words):
    at = open_page("ratings", role="reviewer", judge="rated")
    shown = words(at)
    assert GOLD[0] in shown
    assert "Reference answer" in shown
    assert "rated: 2 more answers after this one" in shown
    at.text_area[0].input("plainly so")
    press(at, "Correct")
    assert "Rated correct." in words(at)
    assert f"The answer is {GOLD[1]}" in words(at)
    for _ in range(2):
        press(at, "Incorrect")
    assert "No answers left" in words(at)
    press(at, "Undo")
    assert "is pending again" in words(at)
    press(at, "Incorrect")
    assert [(one.correct, one.incorrect) for one in ratings().answers] == [(1, 0), (0, 1), (0, 1)]
    assert ratings().answers[0].comments == ("plainly so",)


def test_the_page_without_an_answer_says_who_rated_them(rating, open_page, words):
    for who in ("ann", "bob"):
        judge(who, "yes", "no", "no")
    judge("Ada", "yes", "no")
    assert "Rate rated: 1 answer left" in [button.label for button in open_page("ratings", role="reviewer").button]
    judge("cem", "no")
    said = words(open_page("ratings", role="reviewer", judge="rated"))
    assert "Every answer has all its ratings." in said
    assert "You have rated" not in said


@pytest.mark.at_length
def test_who_has_rated_every_answer_has_none_left_while_others_still_rate(rating, open_page, words):
    judge("Ada", "yes", "no", "no")
    assert "Rate rated: 0 answers left" in [button.label for button in open_page("ratings", role="reviewer").button]
    said = words(open_page("ratings", role="reviewer", judge="rated"))
    assert "You have rated every answer that still needs a rating." in said


def test_review_leads_to_the_page_where_answers_are_judged(rating, open_page, words):
    at = open_page("review", role="reviewer", run="rated")
    assert "This run has answers to rate" in words(at)
    assert [button.key for button in at.button] == ["sign-out"]


def test_detectors_leave_answers_alone(rating):
    with pytest.raises(Refused, match="is a rating of answers"):
        batch.detect("rated", ["rules"])
    assert all(one.majority is None for one in ratings().answers)


@pytest.mark.at_length
def test_a_researcher_sees_majority_comments_and_agreement(rating, open_page, words):
    for who in ("ann", "bob", "cem"):
        judge(who, "yes", "no: too long", "no")
    at = open_page("ratings")
    assert [one.value for one in at.header] == ["Start a rating", "rated"]
    assert "3 of 3 answers have a majority; 33.3% of these are correct." in words(at)
    assert words(at).count('<td class="ia-n">1.00</td>') == 3
    assert re.findall(r"<td>((?:Inc|C)orrect)</td>", words(at)) == ["Correct", "Incorrect", "Incorrect"]
    assert "<td>too long / too long / too long</td>" in words(at)


def test_a_rater_who_has_rated_every_answer_has_none_left(rating, open_page):
    judge("Ada", "yes", "yes", "no")
    (left,) = [button for button in open_page("ratings").button if button.label == "Rate rated: 0 answers left"]
    assert left.disabled


def test_a_researcher_puts_a_runs_answers_up(rating, open_page, words):
    at = open_page("ratings")
    at.selectbox(key="answers_of").set_value("wiki")
    at.text_input(key="answers_name").input("again")
    next(button for button in at.button if button.label == "Start rating").click().run()
    assert "Created again. Answers of wiki: 3. People who rate each answer: 3." in words(at)


def test_without_ratings_the_page_says_so(open_page, words):
    at = open_page("ratings", role="reviewer")
    assert "No answers to rate" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == ["Open the Inbox"]


@pytest.mark.at_length
def test_a_rater_sees_no_votes_while_an_answer_is_open(rating, open_page, words):
    judge("ann", "yes: in other words")
    at = open_page("ratings", judge="rated")
    assert "Reference answer" in words(at)
    assert "Majority" not in words(at)
    assert "in other words" not in words(at)
    assert "in other words" in words(open_page("ratings"))
