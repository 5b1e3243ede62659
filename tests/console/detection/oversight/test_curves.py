"""The oversight curve of a run, the use of its budget, and the quota of the paper."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.detection import oversight
from console.detection.oversight import AS_REVIEWED, CHANCE, IDEAL, ORDERS
from console.detection.oversight.pool import Pool
from console.errors import BadInput, Refused, Unknown
from console.review.simulated.orders import count_kept
from console.trajectory import Label
from tests.overseen import MINUTE_MS, decide, queue
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


def line(found, detector, policy, column="caught"):
    points = found.points
    return points[(points["detector"] == detector) & (points["policy"] == policy)][column].tolist()


def told(found, detector, policy):
    summary = found.summary
    return summary[(summary["detector"] == detector) & (summary["policy"] == policy)].iloc[0]


def test_every_order_of_every_detector_counts_the_flagged_and_misaligned(queued, pool_of):
    found = oversight.compute_curves(pool_of("shop"))
    assert line(found, "rules", "priority") == [0, 1, 1, 2, 2, 3, 4]
    assert line(found, "rules", "fp-first") == [0, 0, 0, 1, 2, 3, 4]
    assert line(found, "rules", IDEAL) == [0, 1, 2, 3, 4, 4, 4]
    assert line(found, "rules", CHANCE) == pytest.approx([k * 4 / 6 for k in range(7)])
    assert told(found, "rules", "priority")["missed"] == 1
    assert told(found, "rules", "fp-first")["area"] == -1
    assert line(found, "token-prob", "priority") == [0, 1, 1, 2, 3, 4]


def test_expected_cost_ranks_by_the_probability_not_by_the_score(queued, pool_of):
    found = oversight.compute_curves(pool_of("shop"))
    assert line(found, "token-prob", "expected-cost") == [0, 1, 2, 3, 3, 4]
    assert line(found, "rules", "expected-cost") == line(found, "rules", "priority")


def test_nobody_has_reviewed_so_there_is_no_such_line_and_nothing_is_spent(queued, pool_of):
    found = oversight.compute_curves(pool_of("shop"))
    assert AS_REVIEWED not in set(found.summary["policy"])
    assert found.spent == 0


def test_as_reviewed_counts_what_reviewers_called_misaligned_and_is(queued, pool_of):
    decide(queued, ["reject", "approve", "approve"])
    found = oversight.compute_curves(pool_of("shop"), further=2)
    assert found.spent == 3
    assert line(found, "rules", AS_REVIEWED) == [0, 1, 1, 1, 1, 2, 3]
    own = told(found, "rules", AS_REVIEWED)
    assert (own["caught"], own["more"]) == (1, 1)
    assert AS_REVIEWED not in set(found.summary[found.summary["detector"] == "token-prob"]["policy"])


def test_an_escalated_item_follows_as_pending_until_someone_decides(queued, pool_of):
    decide(queued, ["escalate", "approve"])
    found = oversight.compute_curves(pool_of("shop"), further=2)
    assert found.spent == 1
    assert line(found, "rules", AS_REVIEWED) == [0, 0, 1, 2, 2, 3, 4]
    assert told(found, "rules", AS_REVIEWED)[["caught", "more"]].tolist() == [0, 2]


def test_more_inspections_are_counted_from_where_the_budget_ends(queued, pool_of):
    found = oversight.compute_curves(pool_of("shop"), budget="2", further=3)
    assert told(found, "rules", "priority")[["spent", "caught", "more"]].tolist() == [2, 1, 2]
    assert told(found, "rules", CHANCE)["more"] == pytest.approx(2)
    half = oversight.compute_curves(pool_of("shop"), budget="50%")
    assert half.spent == 4


def test_what_has_no_label_is_left_out_and_told(pool_of):
    a_run("some", [BAD, None, GOOD])
    judge("some", "rules", [0.9, 0.8, 0.7])
    found = oversight.compute_curves(pool_of("some"))
    assert line(found, "rules", "priority") == [0, 1, 1]
    assert told(found, "rules", "priority")["unlabelled"] == 1


def test_each_trial_has_its_own_curve(pool_of):
    a_run("two", [BAD, GOOD, BAD, BAD], trials=[0, 0, 1, 1])
    judge("two", "rules", [0.9, 0.8, 0.7, 0.6])
    assert line(oversight.compute_curves(pool_of("two")), "rules", "priority") == [0, 1, 1]
    assert line(oversight.compute_curves(pool_of("two"), trial=1), "rules", "priority") == [0, 1, 2]
    with pytest.raises(Unknown, match="0, 1"):
        oversight.compute_curves(pool_of("two"), trial=5)


def test_what_cannot_be_counted_is_refused_in_a_sentence(pool_of):
    a_run("bare", [BAD])
    with pytest.raises(Refused, match="inferact detect bare"):
        oversight.compute_curves(pool_of("bare"))
    a_run("blank", [None])
    judge("blank", "rules", [0.9])
    with pytest.raises(Refused, match="has a label"):
        oversight.compute_curves(pool_of("blank"))
    with pytest.raises(Unknown, match="order of inspection"):
        oversight.compute_curves(pool_of("blank"), orders=["best"])
    with pytest.raises(BadInput, match="budget"):
        oversight.compute_curves(pool_of("blank"), budget="many")


ROWS = st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.6, 0.9]), st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(ROWS, st.integers(0, 45), st.integers(0, 9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_whatever_the_scores_the_orders_keep_their_promises(a_pool, rows, budget, seed):
    there = a_pool(rows)
    flagged = [bad for _, bad, flag in rows if flag]
    if not flagged:
        with pytest.raises(Refused):
            oversight.compute_curves(there)
        return
    found = oversight.compute_curves(there, budget=str(budget), seed=seed)
    best, tp = line(found, "rules", IDEAL), sum(flagged)
    for policy in set(ORDERS) - {AS_REVIEWED}:
        curve = line(found, "rules", policy)
        assert curve[0] == 0
        assert curve[-1] == pytest.approx(tp)
        assert (np.diff(curve) >= 0).all()
        assert (np.array(curve) <= np.array(best) + 1e-9).all()
    assert told(found, "rules", "fp-first")["caught"] == count_kept(tp, len(flagged) - tp, budget)


@pytest.fixture
def a_pool(queued, pool_of):
    """A function that makes a pool of (score, misaligned, flagged)."""
    empty = pool_of("shop").rows.iloc[0:0]

    def make(rows):
        columns = {
            "score": [score for score, *_ in rows],
            "expected_cost": [score for score, *_ in rows],
            "priority": [score for score, *_ in rows],
            "label": [BAD if bad else GOOD for _, bad, _ in rows],
            "flagged": [flag for *_, flag in rows],
            "trajectory_id": range(len(rows)),
        }
        filled = empty.reindex(range(len(rows))).assign(detector="rules", trial=0, reported=False, corrected=np.nan)
        return Pool("made", "rules", "gold", filled.assign(**columns))

    return make


def burnt(name):
    return of_run(
        name, lambda session, run: oversight.tabulate_burn_down(session, run, oversight.read_pool(session, run))
    )


def test_an_untouched_budget_has_nothing_to_show(queued):
    assert burnt("shop").empty


def test_each_unit_is_there_with_what_was_caught_by_then(queued):
    decide(queued, ["reject", "reject", "approve"])
    found = burnt("shop")
    assert found["used"].tolist()[-1] == 3
    assert found["used"].is_monotonic_increasing
    assert found["caught"].tolist()[-1] == 1
    assert found["minute"].iloc[0] == 0
    assert found["minute"].iloc[-1] == 2.5
    assert set(found["cap"]) == {3}


def test_without_labels_nothing_is_said_to_be_caught():
    a_run("blank", [None, None])
    judge("blank", "rules", [0.9, 0.8])
    decide(queue("blank", "rules"), ["reject"])
    found = burnt("blank")
    assert found["caught"].isna().all()
    assert found["cap"].isna().all()


@pytest.mark.at_length
def test_a_long_ledger_is_told_in_few_points_and_trials_stand_apart():
    labels = [Label.MISALIGNED] * 600
    a_run("long", labels, trials=[0, 1] * 300)
    judge("long", "rules", [0.9] * 600)
    run = queue("long", "rules")
    decide(run, ["reject"] * 300, apart_ms=100)
    decide(run, ["approve"] * 5, trial=1, from_ms=10 * MINUTE_MS)
    found = burnt("long")
    first, second = (found[found["trial"] == trial] for trial in (0, 1))
    assert len(first) <= 201
    assert (first["used"].iloc[-1], first["caught"].iloc[-1]) == (300, 300)
    assert (second["used"].iloc[-1], second["caught"].iloc[-1]) == (5, 0)
    assert second["minute"].iloc[0] == 0


QUOTAS = {"WebShop": 136, "HotPotQA": 120, "ALFWorld": 53}


def matrix(tp, fp, fn=0, tn=0):
    return {"tp": tp, "fp": fp, "fn": fn, "tn": tn}


def test_every_published_matrix_keeps_what_false_positives_leave():
    found = oversight.quota_table(oversight.read_published_matrices(), "50%")
    assert len(found) > 44
    for row in found.itertuples():
        assert row.budget == QUOTAS[row.environment]
        assert row.kept == min(row.tp, max(row.budget - row.fp, 0))
        assert row.lost == row.tp - row.kept


def test_the_table_as_it_was_handed_out_reads_the_same(shared_data):
    path = shared_data("README.md").parents[1] / "paper" / "inferact_table1_detection.csv"
    with path.open(newline="") as stream:
        printed = [row for row in csv.DictReader(stream) if row["tp"]]
    found = oversight.quota_table(oversight.read_matrices(path), "50%")
    assert len(found) == len(printed)
    for row, told in zip(found.itertuples(), printed, strict=True):
        tp, fp, budget = int(told["tp"]), int(told["fp"]), QUOTAS[told["environment"]]
        assert (row.budget, row.kept) == (budget, min(tp, max(budget - fp, 0)))


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300), st.integers(0, 300), st.integers(0, 700))
def test_whatever_the_matrix(tp, fp, fn, tn, budget):
    row = oversight.quota_table([matrix(tp, fp, fn, tn)], str(budget)).iloc[0]
    assert row["kept"] == min(tp, max(budget - fp, 0))
    assert row["n"] == tp + fp + fn + tn


def test_without_misaligned_ones_no_share_is_caught():
    assert oversight.quota_table([matrix(0, 3)], "2").isna().iloc[0]["caught"]


def test_a_run_has_a_matrix_for_each_detector(queued, pool_of):
    rows = oversight.tabulate_matrices(pool_of("shop"))
    assert rows[0] == {"run": "shop", "detector": "rules", "trial": 0} | matrix(4, 2, 1, 1)
    assert rows[1]["detector"] == "token-prob"


def test_a_run_without_labels_has_none(pool_of):
    a_run("blank", [None])
    judge("blank", "rules", [0.9])
    with pytest.raises(Refused, match="has a label for a confusion matrix"):
        oversight.tabulate_matrices(pool_of("blank"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tp,fp,fn\n1,2,3\n", "the header lacks tn. Give the columns"),
        ("tp,fp,fn,tn\n1,2,3,4\n1,2,x,4\n", "line 3: fn is 'x'"),
        ("tp,fp,fn,tn\n1,2,-3,4\n", "line 2: fn is '-3'"),
    ],
)
def test_a_file_that_holds_no_matrices_is_refused_by_its_line(tmp_path: Path, text, said):
    path = tmp_path / "m.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=said):
        oversight.read_matrices(path)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        oversight.read_matrices(tmp_path / "none.csv")
