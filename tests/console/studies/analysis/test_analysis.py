"""Every analysis rests on the tidy tables alone: the exported CSVs give the same numbers."""

import pytest
from pandas.testing import assert_frame_equal

from console.studies.analysis import ANALYSES, computations, result_tables
from console.studies.results import csv_files


@pytest.mark.at_length
def test_the_exported_csvs_alone_give_every_table_again(tables, found, tmp_path):
    csv_files.write(tables, tmp_path)
    again = result_tables(csv_files.read(tmp_path))
    assert list(again) == list(computations())
    for name, table in found.items():
        assert_frame_equal(again[name], table)


def test_every_table_has_one_name_and_a_part_that_shows_it():
    names = [name for each in ANALYSES.values() for name in each.tables]
    assert len(names) == len(set(names))
    for each in ANALYSES.values():
        assert {part.table for part in each.parts} == set(each.tables)
        assert all(part.title and (part.grid or part.chart) for part in each.parts)


def test_people_and_simulated_reviewers_are_never_mixed(found):
    assert set(found["success"]["reviewers"]) == {"people", "simulated"}
    people = found["success"].query("reviewers == 'people' and trial == 2 and count == 'undecided run'")
    assert people["mean"].tolist() == [0.75, 0.75]
    assert people["participants"].tolist() == [2, 2]


def test_what_is_undefined_says_why(found):
    undefined = found["mixed"][found["mixed"]["estimate"].isna()]
    assert len(undefined)
    assert undefined["note"].ne("").all()


def test_agreement_counts_only_shared_checkpoints_and_never_a_person_with_a_simulated_reviewer(found):
    percent = found["agreement"].query("measure == 'percent'").set_index("reviewers")
    assert (percent.loc["people", "value"], percent.loc["people", "n"]) == (0, 2)
    assert percent.loc["simulated", "note"] == "No unit has labels from two reviewers."
    assert found["agreement-pairs"][["reviewers", "first", "second"]].to_numpy().tolist() == [["people", "P01", "P02"]]


def test_the_override_rate_is_of_labels_against_the_flag(found):
    top = found["override-by-score"].query("reviewers == 'people' and bin_high == 0.9")
    assert top["share"].tolist() == [0.5, 0.5]


def test_seeded_items_tell_accuracy_with_the_score_shown_and_hidden(found):
    seeded = found["automation-bias"].query("reviewers == 'people' and seeded == 'all'")
    assert dict(zip(seeded["figure"], seeded["value"], strict=True)) == {
        "shown": 0.5,
        "hidden": 1.0,
        "difference": -0.5,
    }


def test_seconds_are_compared_without_decisions_that_have_no_measured_time(tables):
    tables["decisions"]["lead_time_ms"] = 0
    assert not len(computations()["time-over-session"](tables))
    assert "seconds per decision" not in set(computations()["differences"](tables)["measure"])


def test_checks_are_counted_by_participant(found):
    checks = found["checks"].set_index(["participant", "purpose"])
    assert checks.loc[("P01", "known-bad"), "right"] == 1
    assert checks.loc[("P02", "known-bad"), "right"] == 2


def test_words_are_laid_against_the_next_trial(found):
    bins = found["feedback-length"].query("reviewers == 'people'")
    assert bins[["words_low", "words_high", "n", "share"]].to_numpy().tolist() == [[1, 5, 1, 1.0], [1, 5, 1, 1.0]]


def test_the_budget_burns_down_to_what_was_used(found, tables):
    last = found["burn-down"].groupby(["condition", "trial", "reviewers"])["used"].last()
    used = tables["budget"].groupby(["condition", "trial", "annotator_kind"])["used"].sum()
    assert last.tolist() == used.tolist()


def test_a_study_that_nobody_has_begun_has_every_table_and_no_row(tables):
    empty = result_tables({name: frame.iloc[:0] for name, frame in tables.items()})
    assert list(empty) == list(computations())
    assert all(len(table) == 0 for table in empty.values())


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("pace", {"seconds (geometric mean)"}),
        ("automation-bias", {"shown", "hidden"}),
        ("rubber-stamping", {"index", "others"}),
        ("people", {"right decisions", "seconds (geometric mean)", "Krippendorff's alpha"}),
    ],
)
def test_only_differences_and_changes_are_tested_against_zero(tables, name, levels):
    found = computations()[name](tables)
    assert levels & set(found["figure"])
    assert found.loc[found["figure"].isin(levels), "p"].isna().all()
