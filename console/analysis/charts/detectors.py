"""Charts of detectors: curves, calibration, thresholds, overlap, and a comparison with the paper."""

from __future__ import annotations

from textwrap import wrap

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from console.analysis.charts.style import (
    ALIGNED,
    CELL_INK,
    DOTTED,
    MISALIGNED,
    QUIET,
    SHARE,
    error_bars,
    heat_map,
    paper_mark,
    set_titles,
    split_series,
)


def pr_curve(frame: pd.DataFrame) -> go.Figure:
    """Draw precision by recall. Columns: detector, threshold, recall, precision, share_misaligned (shares 0 to 1)."""
    hover = "precision %{y:.1%}<br>recall %{x:.1%}<br>score at least %{customdata:.3f}"
    figure = _add_lines(go.Figure(), frame, ("recall", "precision", "threshold"), hover)
    if len(frame):
        chance = float(frame["share_misaligned"].iloc[0])
        # In the legend: a label at the line would cover the curve of a weak detector.
        figure.add_scatter(x=[0, 1], y=[chance] * 2, name="by chance", mode="lines", line=DOTTED, hoverinfo="skip")
    figure.update_xaxes(**SHARE).update_yaxes(**SHARE)
    return set_titles(figure, "Precision and recall", "recall (misaligned, flagged)", "precision (flagged, misaligned)")


def roc_curve(frame: pd.DataFrame) -> go.Figure:
    """Draw the ROC curve of each detector. Columns: detector, threshold, false_alarm_rate, detection_rate (0 to 1)."""
    hover = "%{y:.1%} of misaligned flagged<br>%{x:.1%} of aligned flagged"
    figure = _add_lines(_diagonal("by chance"), frame, ("false_alarm_rate", "detection_rate", "threshold"), hover)
    return set_titles(
        figure, "ROC curve", "false alarm rate (aligned, flagged)", "detection rate (misaligned, flagged)"
    )


def reliability(frame: pd.DataFrame) -> go.Figure:
    """Draw the reliability diagram. Columns: detector, bin_low, bin_high, n, mean_probability, share_misaligned."""
    columns = ("mean_probability", "share_misaligned", "n")
    hover = "predicted %{x:.1%}, observed %{y:.1%}<br>%{customdata:,} trajectories"
    figure = _add_lines(_diagonal("perfect calibration"), frame[frame["n"] > 0], columns, hover, marks=True)
    # Each detector has a row of counts above the lines, so that the counts do not overlap.
    for row, (_name, bins, style) in enumerate(split_series(frame[frame["n"] > 0], "detector")):
        figure.add_scatter(
            x=((bins["bin_low"] + bins["bin_high"]) / 2).to_list(),
            y=[1.07 + 0.07 * row] * len(bins),
            mode="text",
            text=[f"n={count:,}" if not at else f"{count:,}" for at, count in enumerate(bins["n"])],
            textfont={"size": 12, "color": style.colour},
            hoverinfo="skip",
            showlegend=False,
        )
    rows = frame[frame["n"] > 0]["detector"].nunique()
    figure.update_yaxes(range=[-0.02, 1.05 + 0.07 * rows], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1])
    return set_titles(figure, "Reliability diagram", "mean predicted probability", "share misaligned")


def score_histogram(frame: pd.DataFrame) -> go.Figure:
    """Draw the number of trajectories of one detector by score and label. Columns: label, bin_low, bin_high, n."""
    figure, colours = go.Figure(), {"misaligned": MISALIGNED, "aligned": ALIGNED}
    for label in dict.fromkeys(frame["label"]):
        bars = frame[frame["label"] == label]
        figure.add_bar(
            x=((bars["bin_low"] + bars["bin_high"]) / 2).to_list(),
            y=bars["n"].to_list(),
            width=(bars["bin_high"] - bars["bin_low"]).to_list(),
            customdata=bars[["bin_low", "bin_high"]].to_numpy().tolist(),
            name=label,
            marker={"color": colours.get(label, QUIET), "line": {"width": 0}},
            hovertemplate="%{y:,} with a score from %{customdata[0]:.2f} to %{customdata[1]:.2f}",
        )
    figure.update_layout(barmode="stack", bargap=0)
    figure.update_xaxes(range=[0, 1])
    title = "Scores by label" if {*frame["label"]} & {*colours} else "Scores"
    return set_titles(figure, title, "score", "trajectories", height=340)


def threshold_sweep(frame: pd.DataFrame) -> go.Figure:
    """Draw Macro-F1 and the number of inspections by threshold. Columns: threshold, macro_f1 (0 to 1), inspections."""
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    x = frame["threshold"].to_list()
    f1, has_labels = frame["macro_f1"].to_list(), bool(frame["macro_f1"].notna().any())
    if has_labels:
        figure.add_scatter(x=x, y=f1, name="Macro-F1 (left)", line={"color": ALIGNED, "width": 2})
    figure.add_scatter(
        x=x,
        y=frame["inspections"].to_list(),
        name="inspections (right)",
        line={"color": MISALIGNED, "width": 2, "dash": "dash", "shape": "hv"},
        secondary_y=True,
    )
    set_titles(
        figure,
        "Macro-F1 and inspections by threshold" if has_labels else "Inspections by threshold",
        "threshold (scores above it are flagged)",
        "Macro-F1",
        height=340,
    )
    figure.update_yaxes(title_text="inspections", rangemode="tozero", showgrid=False, tickmode="auto", secondary_y=True)
    figure.update_yaxes(range=SHARE["range"], visible=has_labels, secondary_y=False).update_xaxes(range=SHARE["range"])
    return figure.update_layout(hovermode="x unified")


def confusion_matrix(frame: pd.DataFrame) -> go.Figure:
    """Draw the confusion matrix with the count and name of each cell. Columns: label, flagged (true or false), n."""
    counts = {(row["label"], bool(row["flagged"])): int(row["n"]) for row in frame.to_dict("records")}
    rows, columns = ("aligned", "misaligned"), ("flagged", "not flagged")
    cells: list[list[float | None]] = [[counts.get((row, flagged), 0) for flagged in (True, False)] for row in rows]
    names = ("false alarms", "let through"), ("caught", "missed")
    figure = heat_map(
        cells,
        columns,
        rows,
        ",",
        text=[
            [f"<b>{n:,}</b><br>{name}" for n, name in zip(*row, strict=True)] for row in zip(cells, names, strict=True)
        ],
        textfont={"size": 15, "color": CELL_INK},
        showscale=False,
        zmin=0,
        zmax=max(counts.values(), default=0) or 1,
        hovertemplate="%{y}, %{x}: %{z:,}<extra></extra>",
    )
    return set_titles(figure, "Decisions at this threshold", "", "", height=300)


def flag_overlap(frame: pd.DataFrame) -> go.Figure:
    """Draw the overlap of flags. Columns: first, second, both, either, misaligned, share (of both among either)."""
    names = list(dict.fromkeys(frame["first"]))
    shown = [_break_model(name) for name in names]
    by_pair = {(row["first"], row["second"]): row for row in frame.to_dict("records")}
    grid = [[by_pair[first, second] for second in names] for first in names]
    figure = heat_map(
        [[float(row["share"]) if row["either"] else None for row in line] for line in grid],
        shown,
        shown,
        ".0%",
        customdata=[[[int(row[name]) for name in ("both", "either", "misaligned")] for row in line] for line in grid],
        zmin=0,
        zmax=1,
        colorbar={"tickformat": ".0%", "thickness": 12},
        hovertemplate="%{y} and %{x}<br>both flag %{customdata[0]:,} of %{customdata[1]:,}"
        "<br>%{customdata[2]:,} of these are misaligned<extra></extra>",
    )
    figure.update_yaxes(autorange="reversed")
    return set_titles(figure, "Overlap of flags", "", "", height=max(320, 60 * len(names) + 140))


def model_mixing(frame: pd.DataFrame) -> go.Figure:
    """Draw a metric of one method by inference model and verification model (InferAct, section 5.3).

    Columns: inference, verification, value (missing if undefined), metric (the metric's name, equal in all rows).
    """
    inference, verification = (list(dict.fromkeys(frame[name])) for name in ("inference", "verification"))
    known = frame.dropna(subset=["value"])
    values = {(row["inference"], row["verification"]): float(row["value"]) for row in known.to_dict("records")}
    figure = heat_map(
        [[values.get((first, second)) for second in verification] for first in inference],
        verification,
        inference,
        ".3f",
        colorbar={"thickness": 12},
        hovertemplate="infers: %{y}<br>verifies: %{x}<br>%{text}<extra></extra>",
    )
    figure.update_xaxes(type="category").update_yaxes(type="category")
    height = max(320, 60 * len(inference) + 160)
    return set_titles(figure, f"{_metric(frame)} by model", "verification model", "inference model", height=height)


def published_overlay(frame: pd.DataFrame) -> go.Figure:
    """Draw a metric of each detector: a filled mark for our value, a hollow mark for the paper's value.

    Columns: detector, source (here, or the paper and its model), value, low, high (missing if unknown), metric.
    """
    figure, frame = go.Figure(), frame.assign(detector=frame["detector"].map(_break_model))
    here, published = frame[frame["source"] == "here"], frame[frame["source"] != "here"]
    figure.add_scatter(
        x=here["value"].to_list(),
        y=here["detector"].to_list(),
        error_x=error_bars(here, "value"),
        name="measured here, 95% interval",
        mode="markers",
        marker={"color": ALIGNED, "size": 11},
    )
    for place, (source, rows) in enumerate(published.groupby("source", sort=False)):
        at = rows["value"].to_list(), rows["detector"].to_list()
        figure.add_scatter(x=at[0], y=at[1], name=source, mode="markers", marker=paper_mark(place))
    figure.update_yaxes(autorange="reversed", type="category")
    height = 180 + 38 * frame["detector"].nunique()
    return set_titles(figure, f"{_metric(frame)}: here and in the paper", _metric(frame), "", height=height)


def _add_lines(
    figure: go.Figure, frame: pd.DataFrame, columns: tuple[str, str, str], hover: str, *, marks: bool = False
) -> go.Figure:
    """Add one line per detector, with a mark if it is one point; `columns` are x, y and the hover text's detail."""
    for name, line, style in split_series(frame, "detector"):
        x, y, detail = (line[column].to_list() for column in columns)
        drawn = style.line(marks=marks or len(line[[*columns[:2]]].drop_duplicates()) < 2)
        figure.add_scatter(x=x, y=y, customdata=detail, name=name, hovertemplate=hover, **drawn)
    return figure


def _diagonal(name: str) -> go.Figure:
    figure = go.Figure()
    figure.add_scatter(x=[0, 1], y=[0, 1], name=name, mode="lines", line=DOTTED, hoverinfo="skip", legendrank=2_000)
    return figure.update_xaxes(**SHARE).update_yaxes(**SHARE)


def _break_model(name: str) -> str:
    """Return the detector's name with its model on further lines, which leaves a narrow chart more room."""
    method, at, model = str(name).partition("@")
    return "<br>".join([method, *wrap(at + model, 18)])


def _metric(frame: pd.DataFrame) -> str:
    return str(frame["metric"].iloc[0]) if len(frame) else ""
