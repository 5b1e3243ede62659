"""The confusion matrices behind the published Table 1 of InferAct give its printed figures."""

import csv
from pathlib import Path

import pytest

from console.analysis.metrics.classification import Confusion, cost, effective_reliability, macro_f1

TABLE = Path(__file__).resolve().parents[5] / "shared" / "paper" / "inferact_table1_detection.csv"


@pytest.fixture
def consistent_rows():
    if not TABLE.exists():
        pytest.skip("the published table is not on this machine")
    with TABLE.open(newline="") as stream:
        return [row for row in csv.DictReader(stream) if row["arithmetic"] == "yes"]


def test_every_consistent_row_gives_the_printed_figures(consistent_rows):
    assert len(consistent_rows) == 44
    for row in consistent_rows:
        matrix = Confusion(**{name: int(row[name]) for name in ("tp", "fp", "fn", "tn")})
        printed = float(row["macro_f1"]), int(row["cost"]), float(row["er"])
        assert macro_f1(matrix) == pytest.approx(printed[0], abs=6e-4), row
        assert cost(matrix) == printed[1], row
        assert effective_reliability(matrix) == pytest.approx(printed[2], abs=6e-4), row
