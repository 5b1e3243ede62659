"""The lineage of a task, as a researcher reads it."""

from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from console.review.blinding import EarlierTrial
from console.web.widgets.changes import compare_lines, pair_lines
from console.web.widgets.trial_history import (
    TrialColumn,
    diff_of_actions,
    earlier_trials_html,
    lineage_html,
    side_by_side_html,
)

ANSWER = {"decision": "reject", "reviewer": "ada", "feedback_text": "too <b>dear</b>", "delivered": True}
FIRST = {"trial": 0, "trajectory_id": 11, "outcome": "rejected", "carried_over": False, "decisions": [ANSWER]}
NEXT = {
    "trial": 1,
    "trajectory_id": 12,
    "outcome": "succeeded",
    "carried_over": False,
    "decisions": [],
    "memory": [{"decision_id": 5, "trial": 0, "origin": "feedback", "text": "too <b>dear</b>"}],
    "released_by": "simulation",
}


def test_a_trial_names_what_it_began_with_and_where_that_came_from(parse):
    page = parse(lineage_html([FIRST, NEXT], run="shop & co", opened=12, kind="live"))
    assert "Rejected by ada: “too <b>dear</b>”" in page.text
    assert "The agent read: “too <b>dear</b>” (decision 5, trial 0)" in page.text
    assert "succeeded · run by the simulation" in page.text
    assert page.text.index("Rejected by ada") < page.text.index("The agent read:")


def test_the_record_of_a_log_names_a_decision_as_my_reviews_does(parse):
    page = parse(lineage_html([FIRST], run="kettles", opened=11, kind="archive"))
    assert "Marked as incorrect by ada: “too <b>dear</b>”" in page.text


def test_only_a_decision_that_an_agent_receives_may_be_undelivered(parse):
    """No agent receives a decision on a log, or an escalation."""
    for delivered, said in ((False, True), (None, False), (True, False)):
        trial = FIRST | {"decisions": [ANSWER | {"delivered": delivered}]}
        page = parse(lineage_html([trial], run="shop", opened=11, kind="live"))
        assert ("not delivered yet" in page.text) is said, delivered


def test_every_trial_leads_to_its_record(parse):
    page = parse(lineage_html([FIRST, NEXT], run="shop & co", opened=12, kind="live"))
    assert ("a", "href", "?run=shop+%26+co&id=11") in page.attributes
    assert [attrs.get("aria-current") for tag, attrs in page.elements if tag == "li"][-2:] == ["true", None]


def test_a_replay_says_that_it_is_one(parse):
    assert "Replayed" in parse(lineage_html([FIRST], run="r", opened=11, kind="replay")).text
    assert "Replayed" not in parse(lineage_html([FIRST], run="r", opened=11, kind="live")).text


def _outcomes():
    from console.review.feedback_outcomes import FeedbackOutcome
    from console.web.widgets.trial_history import show_feedback_outcomes
    from storage.tables import Decision

    said = {"item_id": 3, "decision": "respond", "feedback_type": "nl", "reviewer": "ada"}
    halted = FeedbackOutcome(Decision(**said), "a lamp", 0, "", "Search by name.", ("a",), ("a",), "solved")
    rejected = FeedbackOutcome(Decision(**said), "a mug", 0, "buy(1)", "No.", ("a",), ("b",), "not approved")
    show_feedback_outcomes([halted, rejected], recorded=False)


def test_only_a_solved_attempt_is_green_and_a_halted_trial_is_named_instead_of_an_empty_action(parse):
    (shown,) = AppTest.from_function(_outcomes, default_timeout=60).run().get("html")
    page = parse(str(shown.proto.body))
    stamps = [attrs["class"] for tag, attrs in page.elements if tag == "b" and "ia-stamp" in attrs.get("class", "")]
    assert stamps == ["ia-stamp ia-solved", "ia-stamp"]
    assert "Feedback only · trial 0 · item 3halted" in page.text
    assert "Feedback only · trial 0 · item 3buy(1)" in page.text


def _judged():
    from console.review.feedback_outcomes import FeedbackOutcome
    from console.web.widgets.trial_history import show_feedback_outcomes
    from storage.tables import Decision

    said = {"item_id": 3, "feedback_type": "nl", "reviewer": "ada"}
    kinds = [Decision(**said, decision=decision) for decision in ("approve", "reject")]
    show_feedback_outcomes(
        [FeedbackOutcome(one, "a lamp", 0, "buy(1)", "", state="A log.") for one in kinds], recorded=True
    )


def test_decisions_on_a_log_are_judgements_and_a_sentence_on_all_of_them_stands_once(parse):
    at = AppTest.from_function(_judged, default_timeout=60).run()
    text = parse(str(at.get("html")[0].proto.body)).text
    assert "Marked as correct · trial 0 · item 3buy(1)" in text
    assert "Marked as incorrect · trial 0 · item 3buy(1)" in text
    assert "A log." not in text
    assert [caption.value for caption in at.caption] == ["A log."]


BEFORE = ("search[shade]", "click[B01]", "click[Buy Now]")
AFTER = ("search[white shade]", "click[B01]", "click[66 x 66]", "click[Buy Now]")


def test_added_removed_and_kept_actions_are_told_apart(parse):
    page = parse(diff_of_actions(BEFORE, AFTER))
    assert page.within("ia-removed") == "−search[shade]"
    assert page.within("ia-added") == "+search[white shade]+click[66 x 66]"
    assert page.within("ia-kept") == " click[B01] click[Buy Now]"


@given(st.lists(st.text(max_size=8), max_size=12), st.lists(st.text(max_size=8), max_size=12))
def test_a_diff_holds_both_lists_whole(before, after):
    rows = compare_lines(before, after)
    assert [action for kind, action in rows if kind != "added"] == before
    assert [action for kind, action in rows if kind != "removed"] == after


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_two_columns_hold_both_lists_whole_in_their_order(before, after):
    rows = pair_lines(before, after)
    assert [i for i, _k in rows if i is not None] == [*range(len(before))]
    assert [k for _i, k in rows if k is not None] == [*range(len(after))]


def test_two_trials_stand_side_by_side_with_their_differences_marked(parse):
    left = TrialColumn("trial 0", BEFORE, ["23 results", "<b>one</b>", ""])
    page = parse(side_by_side_html(left, TrialColumn("trial 1", AFTER)))
    assert page.text.index("trial 0") < page.text.index("trial 1")
    assert page.within("ia-removed") == "−1 search[shade]23 results"
    assert page.within("ia-added") == "+1 search[white shade]+3 click[66 x 66]"
    assert "<b>one</b>" in page.text
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "span", "code", "small"}


@given(st.text(max_size=40))
def test_actions_stay_text(parse, action):
    assert parse(diff_of_actions([action], ["x"])).tags <= {"ol", "li", "span", "code"}


def test_a_blind_reviewer_sees_actions_and_their_own_words_only(parse):
    page = parse(earlier_trials_html([EarlierTrial(0, BEFORE, own_words="pick 66 x 66")], AFTER))
    assert "pick 66 x 66" in page.text
    assert ("summary", "data-note", "Actions: 2 added, 1 removed, 2 kept") in page.attributes
    for hidden in ("decision", "feedback", "outcome"):
        assert hidden not in page.text


def test_where_the_run_is_not_blind_the_answers_are_there_and_the_latest_trial_is_first(parse):
    trials = [
        EarlierTrial(0, BEFORE, "", "rejected by r2", "ask for 66 x 66", "failed"),
        EarlierTrial(1, AFTER, "", "approved by r1", None, "succeeded"),
    ]
    page = parse(earlier_trials_html(trials, AFTER))
    assert page.text.index("trial 1") < page.text.index("trial 0")
    for shown in ("rejected by r2", "ask for 66 x 66", "failed", "succeeded"):
        assert shown in page.text
