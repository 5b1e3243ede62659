"""Earlier trials against the present one."""

from hypothesis import given
from hypothesis import strategies as st

from console.review.blinding import EarlierTrial
from console.web.widgets.changes import compare_lines, pair_lines
from console.web.widgets.trial_history import TrialColumn, diff_of_actions, earlier_trials_html, side_by_side_html

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
