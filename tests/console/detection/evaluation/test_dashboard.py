"""The survey of a run, and its figures as a tidy table."""

import pandas as pd
import pytest

from console.detection.evaluation import dashboard, metrics
from console.runs.export.formats import as_csv
from console.trajectory import Label
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def run():
    a_run("r", [BAD, GOOD, BAD, GOOD, None], outcomes=["failed"] * 3 + ["halted", "finished"])
    judge("r", "poor", [0.1, 0.9, 0.2, 0.9, 0.9])
    judge("r", "good", [0.9, 0.1, 1.0, 0.9, 0.9], parameters=lambda score: '{"unparsed":true}' if score == 1 else "{}")
    return "r"


def test_the_tidy_table_holds_what_evaluate_says(run):
    table = of_run(run, dashboard.build_dashboard).figure_table()
    told = of_run(run, metrics.evaluate)
    rows = table[table["cases"] == "all"].set_index(["detector", "figure"])["value"]
    for name, figures in told.items():
        for figure in ("macro_f1", "cost", "er", "ap", "roc_auc", "n", "excluded", "unparsed"):
            assert rows[name, figure] == pytest.approx(figures[figure]), figure
        assert pd.isna(rows[name, "ece"])
    apart = table[table["cases"] == "parsed_only"].set_index(["detector", "figure"])["value"]
    assert apart["good", "n"] == 2
    assert "poor" not in apart.index.get_level_values(0)
    assert b"nan" not in as_csv(table).lower()


def test_the_best_stands_first_and_the_left_out_are_counted(run):
    found = of_run(run, dashboard.build_dashboard)
    assert list(found.figures) == ["good", "poor"]
    assert found.excluded == {"good": 2, "poor": 2}
    assert found.both_classes


def test_its_version_changes_with_the_budget(run):
    from console.runs import set_budget

    before = of_run(run, dashboard.dashboard_version)
    set_budget(run, "3")
    assert of_run(run, dashboard.dashboard_version) != before
    assert of_run(run, dashboard.build_dashboard).cap == 3
