"""The Answers page: rules for annotators, the way to their queue, and results for researchers."""

from tests.console.trials.test_answer_rating import judge
from tests.console.trials.test_answer_rating import rating as rating


def test_an_annotator_reads_the_rules_and_finds_the_way_to_the_answers(rating, open_page, words):
    at = open_page("answers", role="reviewer")
    assert "majority counts" in words(at)
    assert [link.proto.label for link in at.get("page_link")] == ["Judge rated: 3 wait"]
    assert not at.dataframe
    assert not at.selectbox


def test_a_researcher_sees_majority_comments_and_agreement(rating, open_page, words):
    for who in ("ann", "bob", "cem"):
        judge(who, "yes", "no: too long", "no")
    at = open_page("answers")
    assert "3 of 3 answers have a majority; 33.3% of these are correct." in words(at)
    agreement, answers = (found.value for found in at.dataframe)
    assert list(agreement["value"]) == ["1.00", "1.00", "1.00"]
    assert list(answers["majority"]) == ["correct", "incorrect", "incorrect"]
    assert answers["comments"][1] == "too long / too long / too long"


def test_a_researcher_puts_a_runs_answers_up(rating, open_page, words):
    at = open_page("answers")
    at.selectbox(key="answers_of").set_value("wiki")
    at.text_input(key="answers_name").input("again")
    next(button for button in at.button if button.label == "Put them up").click().run()
    assert "3 answers of wiki wait in again, each for 3 people." in words(at)


def test_without_ratings_the_page_says_so(open_page, words):
    assert "No answers wait" in words(open_page("answers", role="reviewer"))
