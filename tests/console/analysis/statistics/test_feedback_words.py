import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from console.analysis.statistics import feedback_words
from console.errors import BadInput


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("ask for 66 x 66", 5), ("it's 24.99, not 30", 4), ("  well-made \n chair ", 2), ("...", 0)],
)
def test_words_are_counted(text, count):
    assert feedback_words.count_words(text) == count


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Look again.", 0),
        ("The size is wrong.", 1),
        ("Look again. It must cost less than $30.50! Good luck", 1 / 3),
        ("choose two of them\nand try harder", 1 / 2),
        ('pick "extra soft"; then check out', 1 / 2),
        ("click [extra soft] first", 1),
        ("don't click that, it isn't right", 0),
        ("someone told me", 0),
        ("", None),
        ("?!", None),
    ],
)
def test_a_sentence_is_specific_if_it_names_something(text, share):
    assert feedback_words.compute_specificity(text) == (share if share is None else pytest.approx(share))


def test_the_tasks_own_options_count_as_named():
    assert feedback_words.compute_specificity("Take the Extra Soft one") == 0
    assert feedback_words.compute_specificity("Take the Extra Soft one", named=["extra soft", ""]) == 1
    assert feedback_words.compute_specificity("Take the extra softer one", named=["extra soft"]) == 0


@settings(deadline=None)
@given(text=st.text(max_size=200), more=st.lists(st.text(max_size=8), max_size=3))
def test_any_text_has_a_share_or_none_and_names_only_add(text, more):
    share = feedback_words.compute_specificity(text)
    assert (share is None) == (not any(feedback_words.count_words(part) for part in feedback_words._END.split(text)))
    if share is not None:
        assert 0 <= share <= feedback_words.compute_specificity(text, more) <= 1


def feedback(people=8, texts=40, slope=0.0, seed=2):
    draw = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        for _ in range(texts):
            length = int(draw.integers(1, 30))
            right = draw.random() < 1 / (1 + np.exp(-slope * (np.log2(length) - 3)))
            text = " ".join(["word"] * length) + (" 5" if draw.random() < 0.5 else "")
            rows.append((f"P{person}", text, "succeeded" if right else "failed"))
    return pd.DataFrame(rows, columns=["participant", "feedback_text", "next_trial_outcome"])


def test_the_correlation_is_point_biserial_and_the_slope_statsmodels_own():
    frame = feedback(slope=0.8)
    found = feedback_words.compare_feedback_with_success(frame)["length"]
    lengths = np.log2([feedback_words.count_words(text) for text in frame["feedback_text"]])
    solved = (frame["next_trial_outcome"] == "succeeded").to_numpy(dtype=float)
    assert found.correlation.value == pytest.approx(stats.pointbiserialr(solved, lengths).statistic)
    theirs = sm.GEE(
        solved,
        sm.add_constant(lengths),
        groups=frame["participant"],
        family=sm.families.Binomial(),
        cov_struct=sm.cov_struct.Exchangeable(),
    ).fit(cov_type="bias_reduced")
    assert found.log_odds.value == pytest.approx(theirs.params[1], rel=1e-4)
    assert found.log_odds.interval.low < 0.8 < found.log_odds.interval.high
    assert (found.texts, found.participants) == (320, 8)


def test_rows_without_words_or_without_a_next_trial_do_not_count():
    frame = feedback(texts=5)
    more = pd.DataFrame(
        [("P0", "", "failed"), ("P0", None, "failed"), ("P0", "some words", None)], columns=frame.columns
    )
    assert feedback_words.compare_feedback_with_success(pd.concat([frame, more]))["specificity"].texts == 40


def test_options_of_the_task_can_come_with_the_rows():
    frame = feedback(texts=2).assign(feedback_text="take the soft one")
    assert feedback_words.compare_feedback_with_success(frame)["specificity"].mean == 0
    frame["named"] = [["soft"]] * len(frame)
    assert feedback_words.compare_feedback_with_success(frame)["specificity"].mean == 1


def test_what_cannot_be_estimated_is_a_sentence():
    few = feedback_words.compare_feedback_with_success(feedback(people=2, texts=1))["length"]
    assert (few.correlation.value, few.log_odds.value) == (None, None)
    assert few.correlation.note
    two = feedback_words.compare_feedback_with_success(feedback(people=2))["length"]
    assert two.correlation.interval is None, "the texts of a person are related"
    assert "fewer than 4 participants the interval" in two.correlation.note
    assert "fewer than 4 participants" in two.log_odds.note
    nobody = feedback_words.compare_feedback_with_success(feedback().iloc[:0])["length"]
    assert (nobody.mean, nobody.texts) == (None, 0)
    with pytest.raises(BadInput, match="no column 'feedback_text'"):
        feedback_words.compare_feedback_with_success(feedback().drop(columns="feedback_text"))


@pytest.mark.at_length
def test_many_texts_of_six_people_are_not_independent():
    """People differ in length and in success, so that texts of one person say the same thing again."""
    wrong = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        lengths, chances = draw.integers(2, 40, 6), draw.uniform(0.1, 0.9, 6)
        rows = [
            (f"P{person}", "word " * lengths[person], "succeeded" if draw.random() < chances[person] else "failed")
            for person in range(6)
            for _ in range(30)
        ]
        frame = pd.DataFrame(rows, columns=["participant", "feedback_text", "next_trial_outcome"])
        found = feedback_words.compare_feedback_with_success(frame)["length"].correlation
        wrong += found.p_value is not None and found.p_value < 0.05
    assert wrong <= 60 * 0.2, "as independent texts most of these would be significant"
