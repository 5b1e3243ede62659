"""Tables as a person reads them."""

import pandas as pd
import pytest

from console.studies.analysis.format import ColumnFormat, cell_text, text_table
from console.studies.analysis.success import table_9


@pytest.mark.parametrize(
    ("cell", "column", "shown"),
    [
        (0.12345, "value", "0.123"),
        (1234.0, "value", "1,234"),
        (0.0004, "p", "< 0.001"),
        (-0.0004, "value", "0.000"),
        (-0.0, "value", "0.000"),
        ("alpha", "measure", "Krippendorff's alpha"),
        ("d_prime", "figure", "d'"),
        ("commission", "figure", "commission"),
        (None, "value", "–"),
        (float("nan"), "p", "–"),
        (12_000, "n", "12,000"),
        ("rules", "condition", "rules"),
        ("detector x score: random - rules, under b - a", "contrast", "detector × score: random − rules, under b − a"),
    ],
)
def test_a_cell_has_few_digits_and_a_dash_where_nothing_is_known(cell, column, shown):
    assert cell_text(cell, column) == shown


def test_notes_stand_once_below_and_empty_columns_are_left_out():
    frame = pd.DataFrame({"value": [None, 0.5, None], "low": [None] * 3, "note": ["few", "", "few"]})
    found = text_table(frame.astype({"value": float}))
    assert found.head == ("value", "note")
    assert found.rows == (("–", "1"), ("0.500", ""), ("–", "1"))
    assert found.notes == ("few",)


def test_a_table_says_what_its_own_columns_are_called_and_how_many_decimals_they_have():
    found = text_table(pd.DataFrame({"bin_low": [0.25, 1200.0]}), {"bin_low": ColumnFormat("score from", 1)})
    assert found.head == ("score from",)
    assert found.rows == (("0.2",), ("1,200.0",))


def test_success_stands_in_per_cent_with_a_column_for_each_trial():
    frame = pd.DataFrame(
        {
            "reviewers": "people",
            "condition": ["nl", "nl", "none"],
            "trial": [0, 1, 0],
            "participants": [4, 4, 1],
            "mean": [0.31, 0.46, 0.3],
            "sd": [0.1, 0.008, None],
            "low": [0.2, 0.45, None],
            "high": [0.4, 0.47, None],
        }
    )
    found = table_9(frame)
    assert list(found.columns) == ["reviewers", "condition", "participants", "trial 0", "trial 1"]
    assert found.loc[0, "trial 1"] == "46.0 ± 0.8 (45.0 to 47.0)"
    assert found.loc[1, "trial 0"] == "30.0"
    assert pd.isna(found.loc[1, "trial 1"])


def test_values_of_an_export_have_the_words_of_the_page():
    assert cell_text("known-bad", "purpose") == "seeded, incorrect action"
    assert cell_text("right decisions", "measure") == "correct decisions"
    assert cell_text("right", "condition") == "right"
