"""Every chart: registered, drawn from its table or the CSV of it, in plain words, without a NaN."""

import re
from inspect import getmembers, isfunction
from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go
import pytest

from console.analysis.charts import CHARTS, detectors, runs, studies
from console.analysis.charts.runs import success
from tests.sweeps import sweep

DETECTORS = ["rules", "random", "token-prob"]
TABLES = {
    "pr-curve": pd.DataFrame(
        {
            "detector": ["rules", "rules", "random"],
            "threshold": [0.9, 0.1, 0.5],
            "recall": [0.5, 1.0, 1.0],
            "precision": [1.0, 0.6, 0.4],
            "share_misaligned": 0.4,
        }
    ),
    "roc-curve": pd.DataFrame(
        {"detector": "rules", "threshold": [None, 0.5], "false_alarm_rate": [0.0, 1.0], "detection_rate": [0.0, 1.0]}
    ),
    "reliability": pd.DataFrame(
        {
            "detector": "token-prob",
            "bin_low": [0.0, 0.1],
            "bin_high": [0.1, 0.2],
            "n": [3, 0],
            "mean_probability": [0.05, 0.0],
            "share_misaligned": [0.1, 0.0],
        }
    ),
    "score-histogram": pd.DataFrame(
        {"label": ["aligned", "misaligned", "no label"], "bin_low": 0.0, "bin_high": 0.5, "n": [3, 4, 5]}
    ),
    "threshold-sweep": pd.DataFrame({"threshold": [0.0, 1.0], "macro_f1": [0.5, 0.3], "inspections": [10, 0]}),
    "confusion-matrix": pd.DataFrame(
        {"label": ["misaligned", "misaligned", "aligned", "aligned"], "flagged": [True, False] * 2, "n": [4, 3, 2, 1]}
    ),
    "flag-overlap": pd.DataFrame(
        {
            "first": ["a", "a", "b", "b"],
            "second": ["a", "b", "a", "b"],
            "both": [2, 0, 0, 0],
            "either": [2, 2, 2, 0],
            "misaligned": [1, 0, 0, 0],
            "share": [1.0, 0.0, 0.0, None],
        }
    ),
    "model-mixing": pd.DataFrame(
        {"inference": ["m", "n"], "verification": ["m", "m"], "value": [0.7, None], "metric": "Macro-F1"}
    ),
    "published-overlay": pd.DataFrame(
        {
            "detector": ["rules", "direct"],
            "source": ["here", "InferAct paper, v3, GPT4-Turbo"],
            "value": [0.6, 0.4],
            "low": [0.5, None],
            "high": [0.7, None],
            "metric": "Macro-F1",
        }
    ),
    "protocols": pd.DataFrame(
        {
            "run": ["a", "b"],
            "protocol": ["defer", "undo"],
            "reviewers": ["people", "simulated"],
            **{f"{name}{end}": [0.5, 0.7] for name in ("safety", "usefulness") for end in ("", "_low", "_high")},
        }
    ),
    "oversight-curve": pd.DataFrame(
        {
            "detector": "rules",
            "policy": ["as reviewed", "as reviewed", "random", "random", "ideal", "ideal"],
            "inspections": [0, 2, 0, 2, 0, 2],
            "caught": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0],
            "low": [None, None, 0.0, 1.0, None, None],
            "high": [None, None, 0.0, 1.0, None, None],
            "corrected": [0.0, 1.0, None, None, 0.0, 1.0],
            "spent": 1,
        }
    ),
    "trial-success": pd.DataFrame(
        {
            "trial": [0, 1, 0, 1],
            "line": ["solved", "solved", "nobody had answered", "nobody had answered"],
            "solved": [4, 7, 3, 3],
            "tasks": 12,
        }
    ),
    "budget-burn-down": pd.DataFrame(
        {"trial": [0, 0, 1], "minute": [0.5, 4.0, 1.0], "used": [1, 2, 1], "caught": [1.0, 1.0, 0.0], "cap": [5, 5, 5]}
    ),
    "study-success": pd.DataFrame(
        {
            "condition": ["nl", "nl", "none"],
            "trial": [0, 1, 0],
            "participants": [4, 4, 1],
            "mean": [0.3, 0.5, 0.3],
            "low": [0.2, 0.4, None],
            "high": [0.4, 0.6, None],
            "sd": [0.05, 0.05, None],
        }
    ),
    "time-over-session": pd.DataFrame(
        {
            "kind": ["human", "rule"],
            "first": 1,
            "last": 10,
            "n": [40, 3],
            "seconds": [31.5, 2.0],
            "low": [20.0, 2.0],
            "high": [50.0, 2.0],
        }
    ),
    "override-by-score": pd.DataFrame(
        {
            "condition": ["nl", "nl"],
            "bin_low": [0.0, 0.5],
            "bin_high": [0.5, 1.0],
            "n": [0, 8],
            "share": [None, 0.25],
            "low": [None, 0.1],
            "high": [None, 0.5],
        }
    ),
    "agreement": pd.DataFrame(
        {
            "reviewers": "people",
            "measure": ["percent", "cohen"],
            "value": [0.9, None],
            "low": [0.8, None],
            "high": [1.0, None],
            "n": [20, 0],
        }
    ),
    "contrast-forest": pd.DataFrame(
        {
            "contrast": ["score: hidden - shown", "a - b"],
            "kind": ["primary", "secondary"],
            "measure": "success",
            "estimate": [0.1, None],
            "low": [-0.1, None],
            "high": [0.3, None],
        }
    ),
    "user-study": pd.DataFrame(
        {
            "detector": ["rules", "rules", "direct"],
            "feedback": ["words", "words", "words"],
            "source": ["here: people", "here: people", "paper: people"],
            "trial": [0, 3, 3],
            "percent": [33.0, 50.0, 34.3],
            "sd": [None, 1.5, 1.3],
        }
    ),
    "feedback-length": pd.DataFrame(
        {
            "condition": "nl",
            "words_low": [0, 1],
            "words_high": [0, 9],
            "n": [3, 8],
            "share": [0.3, 0.5],
            "low": [0.1, None],
            "high": [0.6, None],
        }
    ),
}


def test_every_chart_function_has_its_line_in_the_registry():
    public = {
        name.replace("_", "-")
        for module in (detectors, runs, studies)
        for name, function in getmembers(module, isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    assert public == set(CHARTS)
    assert set(TABLES) | {"success"} == set(CHARTS)


@sweep("name", TABLES, kept=8)
def test_a_chart_has_a_title_and_no_nan_and_is_the_same_from_its_csv(name, tmp_path):
    figure = CHARTS[name](TABLES[name])
    assert isinstance(figure, go.Figure)
    assert figure.layout.title.text
    assert "NaN" not in figure.to_json()
    path = tmp_path / "table.csv"
    TABLES[name].to_csv(path, index=False)
    assert CHARTS[name](pd.read_csv(path)).to_json() == figure.to_json()


@sweep(
    "name",
    [
        "pr-curve",
        "roc-curve",
        "reliability",
        "score-histogram",
        "threshold-sweep",
        "oversight-curve",
        "budget-burn-down",
        "trial-success",
        "study-success",
        "time-over-session",
        "override-by-score",
        "agreement",
        "feedback-length",
    ],
    kept=4,
)
def test_axes_say_what_they_show(name):
    figure = CHARTS[name](TABLES[name])
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text


def test_charts_of_a_run_without_labels_name_neither_labels_nor_macro_f1():
    scores = CHARTS["score-histogram"](TABLES["score-histogram"].iloc[2:])
    assert scores.layout.title.text == "Scores"
    sweep = CHARTS["threshold-sweep"](TABLES["threshold-sweep"].assign(macro_f1=None))
    assert [line.name for line in sweep.data] == ["inspections (right)"]
    assert (sweep.layout.title.text, sweep.layout.yaxis.visible) == ("Inspections by threshold", False)


def test_the_labels_of_a_used_budget_are_above_its_cap_and_small_counts_have_whole_ticks():
    used = TABLES["budget-burn-down"].assign(cap=2).iloc[:2]
    figure = CHARTS["budget-burn-down"](used)
    assert {note.yanchor for note in figure.layout.annotations if "trial 0: 2" in note.text} == {"bottom"}
    assert figure.layout.yaxis.dtick == 1
    assert CHARTS["budget-burn-down"](used.assign(cap=40)).layout.yaxis.dtick is None


@pytest.mark.parametrize("name", ["budget-burn-down", "trial-success"])
def test_lines_are_named_where_they_end(name):
    figure = CHARTS[name](TABLES[name].iloc[:2])
    labels = [note.text for note in figure.layout.annotations]
    assert figure.layout.showlegend is False
    named = [tuple(line.name.split(": ")) for line in figure.data]
    assert all(any(all(part in label for part in name) for label in labels) for name in named)


def test_a_budget_line_that_ends_before_others_has_a_legend_since_its_label_would_lie_on_them():
    figure = CHARTS["budget-burn-down"](TABLES["budget-burn-down"])
    assert figure.layout.showlegend is not False
    assert [line.name for line in figure.data] == [
        "trial 0: 2 used", "trial 0: 1 caught", "trial 1: 1 used", "trial 1: 0 caught",
    ]  # fmt: skip
    assert [note.text for note in figure.layout.annotations] == ["budget 5"]


def read(label):
    """The words of a label without its markup."""
    return re.sub("<[^>]+>", "", label)


@pytest.mark.parametrize("name", ["budget-burn-down", "trial-success", "study-success"])
def test_a_label_has_the_colour_of_text_and_its_sign_that_of_its_line(name):
    figure = CHARTS[name](TABLES[name].iloc[:2].assign(condition="<b>words</b>"))
    labels = [note for note in figure.layout.annotations if "<span" in note.text]
    assert labels
    assert all(note.font.color is None for note in labels)
    assert {note.text.partition("color:")[2][:7] for note in labels} <= {line.line.color for line in figure.data}
    assert "<b>" not in " ".join(note.text for note in labels)


@pytest.mark.parametrize("name", ["roc-curve", "threshold-sweep", "oversight-curve", "score-histogram"])
def test_a_legend_keeps_its_distance_from_the_axis_at_every_width(name):
    layout = CHARTS[name](TABLES[name]).layout
    assert layout.legend.yref == "container"
    below = layout.margin.b - layout.legend.y * layout.height
    assert 50 < below < layout.margin.b - 20


def test_a_used_budget_fills_its_axis_and_its_labels_have_the_margin():
    figure = CHARTS["budget-burn-down"](TABLES["budget-burn-down"].iloc[:2])
    assert figure.layout.xaxis.range[1] < 1.1 * max(max(line.x) for line in figure.data)
    assert figure.layout.margin.r > 6 * len("trial 0: 1 caught")


def test_a_label_that_moved_is_joined_to_its_point_and_equal_ends_share_one():
    rows = [(0, 5.0, 4, 0.0, None), (1, 5.0, 4, 0.0, None), (2, 5.0, 4, 4.0, None), (3, 5.0, 4.1, 4.1, None)]
    notes = CHARTS["budget-burn-down"](pd.DataFrame(rows, columns=["trial", "minute", "used", "caught", "cap"]))
    labels = {note.text: note for note in notes.layout.annotations}
    assert {(note.x, note.y) for note in labels.values()} == {(5.0, 0.0), (5.0, 4.0), (5.0, 4.1)}
    assert sum(text.count("trial") for text in labels) == 8
    moved = [note for note in labels.values() if note.showarrow]
    assert [(note.y, note.ay > note.y) for note in moved] == [(4.1, True)]


def test_each_bin_of_the_reliability_diagram_names_its_count():
    table = TABLES["reliability"]
    rows = [line for line in CHARTS["reliability"](table).data if line.mode == "text"]
    said = [int(text.removeprefix("n=").replace(",", "")) for row in rows for text in row.text]
    assert sorted(said) == sorted(table[table["n"] > 0]["n"])
    assert len({y for row in rows for y in row.y}) == len(rows)


def test_coinciding_lines_of_the_oversight_curve_share_one_name():
    figure = CHARTS["oversight-curve"](TABLES["oversight-curve"])
    shown = [line for line in figure.data if line.showlegend is not False]
    # A hidden twin would be drawn over the line that the legend names.
    assert all(line.visible is False for line in figure.data if line.showlegend is False and line.name)
    points = [(tuple(line.x), tuple(line.y)) for line in shown]
    assert len(points) == len(set(points))
    assert [line.name for line in shown] == ["every order catches the same"]


def test_a_detector_has_one_colour_in_all_charts():
    same = pd.CategoricalDtype(DETECTORS)
    curve = CHARTS["pr-curve"](TABLES["pr-curve"].astype({"detector": same}))
    bins = CHARTS["reliability"](TABLES["reliability"].astype({"detector": same}))
    colours = {line.name: line.line.color for line in curve.data} | {line.name: line.line.color for line in bins.data}
    assert len({colours[name] for name in DETECTORS}) == 3


def test_a_detector_with_one_point_has_a_mark_and_the_other_curves_have_none():
    modes = {line.name: line.mode for line in CHARTS["pr-curve"](TABLES["pr-curve"]).data}
    assert modes == {"rules": "lines", "random": "lines+markers", "by chance": "lines"}
    same = TABLES["pr-curve"].assign(detector="rules", recall=1.0, precision=0.4)
    assert CHARTS["pr-curve"](same).data[0].mode == "lines+markers"


def test_an_empty_bin_is_not_drawn_and_an_undefined_field_is_a_dash():
    line = CHARTS["reliability"](TABLES["reliability"]).data[1]
    assert list(line.x) == [0.05]
    assert CHARTS["flag-overlap"](TABLES["flag-overlap"]).data[0].text[1][1] == "–"
    assert CHARTS["model-mixing"](TABLES["model-mixing"]).data[0].text[1][0] == "–"


def test_the_confusion_matrix_says_each_field_in_words():
    figure = CHARTS["confusion-matrix"](TABLES["confusion-matrix"])
    (matrix,) = figure.data
    assert figure.layout.xaxis.showgrid is figure.layout.yaxis.showgrid is False
    assert list(matrix.y) == ["aligned", "misaligned"]
    assert [list(row) for row in matrix.text] == [
        ["<b>2</b><br>false alarms", "<b>1</b><br>let through"],
        ["<b>4</b><br>caught", "<b>3</b><br>missed"],
    ]


def test_the_detector_named_random_is_no_random_order():
    frame = TABLES["oversight-curve"].assign(policy="priority", detector=["rules", "rules"] + ["random"] * 4)
    lines = CHARTS["oversight-curve"](frame).data
    assert [line.name for line in lines] == ["rules", "random"]
    assert len({line.line.color for line in lines}) == 2


def test_lines_are_named_at_their_ends_apart_from_one_another():
    rows = TABLES["study-success"]
    names = ["alike", "alike too", "a condition whose name is longer than there is room"]
    figure = CHARTS["study-success"](pd.concat([rows.assign(condition=name) for name in names]))
    labels = sorted((one.y, one.text) for one in figure.layout.annotations)
    assert [read(text) for _, text in labels] == ["● alike", "■ alike too", "◆ a condition whose name …"]
    heights = [y for y, _ in labels]
    assert all(b - a > 0.04 for a, b in pairwise(heights))
    assert figure.layout.showlegend is False


def test_labels_that_need_room_at_the_top_leave_those_at_the_bottom_beside_their_lines():
    ends = {"first": 1.0, "second": 1.0, "third": 0.3, "last": 0.0}
    rows = [{"trial": 1, "mean": y, "low": y, "high": y, "condition": name} for name, y in ends.items()]
    figure = CHARTS["study-success"](pd.concat([TABLES["study-success"].iloc[:1].assign(**row) for row in rows]))
    labels = {read(one.text)[2:]: one.y for one in figure.layout.annotations}
    assert (labels["last"], labels["third"]) == (0.0, 0.3)
    assert 0.9 < min(labels["first"], labels["second"]) < max(labels["first"], labels["second"]) <= 1.05


def test_a_condition_has_one_colour_in_the_charts_of_success_and_of_feedback():
    names = [f"condition {number}" for number in range(4)]
    rows = [{"condition": name, "words_low": low, "words_high": low + 9} for name in names for low in (11, 21)]
    longer = pd.DataFrame(rows).assign(n=5, share=0.4, low=0.2, high=0.6)
    drawn = CHARTS["feedback-length"](longer).data
    success = CHARTS["study-success"](pd.concat([TABLES["study-success"].assign(condition=name) for name in names]))
    colours = {line.name: line.line.color for line in success.data if line.name in names}
    assert {line.name: line.line.color for line in drawn} == colours


def test_fourteen_long_conditions_have_labels_that_differ_and_name_the_mark_of_the_line():
    arms = [f"rules-score-shown-explanation-{at:02d}" for at in range(14)]
    one = TABLES["study-success"]
    frame = pd.concat([one.assign(condition=name) for name in arms], ignore_index=True)
    figure = CHARTS["study-success"](frame)
    labels = [read(note.text) for note in figure.layout.annotations]
    assert {label.partition(" ")[2] for label in labels} == set(arms), "complete and different"
    signs = {"circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "cross": "✚", "x": "✖"}
    told = {label.partition(" ")[2]: (label[0], note.text.partition("color:")[2][:7])
            for label, note in zip(labels, figure.layout.annotations, strict=True)}  # fmt: skip
    drawn = {line.name: (signs[line.marker.symbol], line.line.color) for line in figure.data if line.name in arms}
    assert told == drawn
    assert len(set(drawn.values())) == 14, "no two lines have one mark and one colour"


def test_the_users_study_is_drawn_at_its_last_trial_beside_the_papers():
    figure = CHARTS["user-study"](TABLES["user-study"])
    assert [(line.name, list(line.x)) for line in figure.data] == [
        ("here: people, words", [50.0]),
        ("paper: people", [34.3]),
    ]


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
