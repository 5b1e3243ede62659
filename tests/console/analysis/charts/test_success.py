"""The plot of success over trials."""

import pandas as pd

from console.analysis.charts.runs import success


def summary():
    """Two environments, three ways of feedback, two trials."""
    arms = [("none", None), ("nl", 25.0), ("nl", 100.0)]
    return pd.DataFrame(
        {"environment": environment, "arm": arm, "cap": cap, "trial": trial, "success": 0.5, "low": 0.4, "high": 0.7}
        for environment in ("webshop", "alfworld")
        for arm, cap in arms
        for trial in (0, 1)
    )


def test_a_panel_per_environment_and_a_line_per_arm_and_cap():
    figure = success(summary())
    assert [note.text for note in figure.layout.annotations] == ["webshop", "alfworld"]
    assert [line.name for line in figure.data] == ["no feedback", "words, 25%", "words, 100%"] * 2
    assert list(figure.data[1].x) == [0, 1]
    assert figure.data[1].line.dash != figure.data[2].line.dash


def test_each_line_stands_in_the_legend_once():
    assert [line.showlegend for line in success(summary()).data] == [True] * 3 + [False] * 3


def test_intervals_are_drawn_from_low_to_high():
    line = success(summary()).data[0]
    assert [round(value, 6) for value in line.error_y.array] == [0.2, 0.2]
    assert [round(value, 6) for value in line.error_y.arrayminus] == [0.1, 0.1]


def test_without_rows_it_is_an_empty_figure():
    assert not success(summary().iloc[:0]).data
