"""The decisions of a study as a tidy table: whose, in which condition, right or wrong, how fast."""

import pytest
from pandas.testing import assert_frame_equal
from sqlmodel import select

from console.studies.results.decisions import JUDGED, decisions, read_judged
from console.trajectory import Label
from storage import tables
from storage.engine import writing


@pytest.fixture
def frame(read):
    return read(decisions, 1)


def test_there_is_one_row_for_each_standing_decision_of_a_participant(frame):
    assert len(frame) == 15
    assert frame["decision_id"].is_monotonic_increasing
    assert set(frame["participant"]) == {"P01", "P02", "P03"}


def test_each_row_tells_the_condition_and_the_level_of_each_factor(frame):
    own = frame[frame["purpose"] == ""]
    assert set(own["condition"]) == {"rules-shown", "rules-hidden"}
    shown = own[own["factor_score"] == "shown"]
    assert set(shown["condition"]) == {"rules-shown"}
    assert set(shown["position"]) == {1}


def test_what_tells_who_was_right_is_the_same_alone(read, frame):
    assert_frame_equal(read(read_judged, 1)[list(JUDGED)], frame[list(JUDGED)])


def test_practice_belongs_to_no_condition_and_has_no_place_in_the_session(frame):
    practice = frame[frame["purpose"] == "practice"]
    assert len(practice) == 3
    assert practice["condition"].isna().all()
    assert practice["place_in_session"].isna().all()


def test_a_label_is_right_where_it_equals_what_is_known(frame):
    own = frame[(frame["purpose"] == "") & (frame["participant"] == "P02")]
    assert own["gold_label"].tolist() == ["misaligned", "misaligned"]
    assert own["correct"].tolist() == [False, False]
    missed = frame[(frame["purpose"] == "known-bad") & ~frame["correct"]]
    assert missed[["participant", "condition"]].to_numpy().tolist() == [["P01", "rules-shown"]]


def test_units_name_the_same_checkpoint_for_everybody_and_nothing_else(frame):
    own = frame["purpose"] == ""
    assert frame.loc[own].groupby("unit")["participant"].nunique().eq(3).all()
    assert frame.loc[~own, "unit"].isna().all()


def test_words_lead_times_and_the_next_trial_stand_beside_the_decision(frame):
    row = frame.iloc[0]
    assert (row["feedback_text"], row["feedback_words"]) == ("=take the red one", 4)
    assert (row["lead_time_ms"], row["session_minute"], row["place_in_session"]) == (30_000, 0.5, 1)
    assert row["next_trial_outcome"] == "succeeded"


def test_a_decision_that_was_taken_back_is_not_there(url, read):
    with writing(url) as session:
        session.get(tables.Decision, 1).superseded = True
    assert 1 not in set(read(decisions, 1)["decision_id"])


def test_what_others_decided_in_an_arm_is_not_the_participants(url, read):
    with writing(url) as session:
        for decided in session.exec(select(tables.Decision).where(tables.Decision.reviewer == "P02")):
            decided.reviewer = "withdrawn"
    assert "P02" not in set(read(decisions, 1)["participant"])


def test_the_settled_label_decides_only_where_nothing_else_is_known(url, read):
    with writing(url) as session:
        session.add(
            tables.Adjudication(
                study_id=1, unit="kettle/1/action", label=Label.ALIGNED, adjudicator="someone", at_ms=1
            )
        )  # fmt: skip
    rows = read(decisions, 1)
    rows = rows[rows["unit"] == "kettle/1/action"]
    assert set(rows["adjudicated_label"]) == {"aligned"}
    assert set(rows["gold_label"]) == {"misaligned"}
    assert dict(zip(rows["participant"], rows["correct"], strict=True)) == {"P01": True, "P02": False, "P03": True}


def test_a_study_that_nobody_has_begun_has_the_same_columns(url, read, frame):
    with writing(url) as session:
        session.add(tables.Study(name="next", design="{}", join_code="other", created_ms=1))
    empty = read(decisions, 2)
    assert len(empty) == 0
    assert list(empty.columns) == [name for name in frame.columns if not name.startswith("factor_")]
