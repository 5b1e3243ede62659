"""False positives use the quota up first: what is kept of every matrix."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.detection import oversight
from console.errors import BadInput, Refused
from tests.verdicts import a_run, judge

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
