"""The words of the analyses about success."""

from console.studies.analysis import ANALYSES


def test_a_table_of_success_by_the_last_trial_says_that_undecided_actions_run():
    """The pages of a run count such a task as unsolved."""
    told = [part.about for analysis in ANALYSES.values() for part in analysis.parts]
    told = [about for about in told if "solved by the last trial" in about]
    assert told
    assert [about for about in told if "undecided actions run" not in about] == []
