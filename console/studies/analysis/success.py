"""Tasks solved over trials, condition by condition, and what the conditions differ by."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from console.analysis.statistics.mixed_models import Mixed, linear, logistic
from console.analysis.statistics.paired import Comparison, all_pairs
from console.analysis.statistics.success_rate import HELD, PAPER, by_trial, compare_tasks
from console.studies.analysis.frames import Frames, cells, groups, own, table, within

LAST = "solved by the last trial"
RIGHT = "right decisions"
SECONDS = "seconds per decision"

_COUNTS = {PAPER: "undecided run", HELD: "undecided held"}


def success(frames: Frames) -> pd.DataFrame:
    """Mean and spread over participants by condition and closed trial, in both counts (InferAct, Table 9)."""
    closed = frames["success"][frames["success"]["closed"].astype(bool)]
    rows = [
        {
            "reviewers": name,
            "count": said,
            "condition": row.condition,
            "trial": row.trial,
            "participants": row.participants,
            "tasks": row.tasks,
            **cells(row.mean, "mean"),
            "sd": row.sd,
            "sd_paper": row.sd_paper,
            **_pooled(row.pooled),
        }
        for name, part in groups(closed)
        for count, said in _COUNTS.items()
        for row in by_trial(part, count)
    ]
    return table(
        rows,
        "reviewers$ count$ condition$ trial# participants# tasks# mean low high sd sd_paper "
        "pooled pooled_low pooled_high note$",
    )


def differences(frames: Frames) -> pd.DataFrame:
    """Every two conditions against each other, over participants, by every test (Holm over the pairs)."""
    rows = [
        _test(name, measure, comparison, test)
        for name, measure, values in _measures(frames)
        if values["condition"].nunique() > 1
        for comparison in all_pairs(values, "value", "within" if within(values) else "between")
        for test in comparison.tests
    ]
    return table(
        rows,
        "reviewers$ measure$ first$ second$ difference low high test$ statistic p p_holm "
        "effect effect_low effect_high n# note$",
    )


def tasks(frames: Frames) -> pd.DataFrame:
    """Every two conditions against each other over the tasks that both met, by McNemar's test."""
    rows = []
    for name, solved in groups(_last(frames)):
        for first, second in combinations(sorted(solved["condition"].unique()), 2):
            found = compare_tasks(solved, "value", first, second)
            test = found.test
            rows.append(
                {
                    "reviewers": name,
                    "first": first,
                    "second": second,
                    "pairs": found.pairs,
                    "tied": found.tied,
                    "only_first": test.only_first,
                    "only_second": test.only_second,
                    **cells(found.difference, "difference"),
                }
            )
    return table(rows, "reviewers$ first$ second$ pairs# tied# only_first# only_second# difference low high p note$")


def mixed(frames: Frames) -> pd.DataFrame:
    """How much each condition changes what is solved and decided rightly, participants as a random effect."""
    rows = [
        row
        for name, measure, values in _answers(frames)
        if values["condition"].nunique() > 1
        for model in (linear, logistic)
        for row in _effects(name, measure, model(values, "value"))
    ]
    return table(
        rows,
        "reviewers$ measure$ scale$ reference$ condition$ estimate low high p participants# cells# "
        "sd_participants sd_residual method$ note$",
    )


def _measures(frames: Frames) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(reviewers, measure, a value per participant and condition)."""
    for name, measure, values in _answers(frames):
        yield name, measure, values
    timed = own(frames).assign(value=own(frames)["lead_time_ms"].astype(float) / 1_000)
    for name, part in groups(timed):
        medians = part.groupby(["participant", "condition"])["value"].median()
        yield name, SECONDS, medians.reset_index()


def _answers(frames: Frames) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(reviewers, measure, a row with value 0 or 1 per answer)."""
    for name, part in groups(_last(frames)):
        yield name, LAST, part
    judged = own(frames)
    judged = judged[judged["correct"].notna()]
    for name, part in groups(judged.assign(value=judged["correct"].astype(float))):
        yield name, RIGHT, part[["participant", "condition", "task_id", "value"]]


def _last(frames: Frames) -> pd.DataFrame:
    """Each task as its participant's last trial left it, of arms that are over; undecided actions run."""
    solved = frames["outcomes"][frames["outcomes"]["closed"].astype(bool)]
    longest = solved.groupby(["participant", "condition"])["trial"].transform("max")
    planned = frames["success"]["trial"].max()
    over = solved[(solved["trial"] == longest) & (longest == planned)]
    answers: pd.DataFrame = over.assign(value=over["solved_paper"].astype(float))
    return answers[["annotator_kind", "participant", "condition", "task_id", "value"]]


def _pooled(found: Any) -> dict[str, Any]:
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return {"pooled": found.value, "pooled_low": low, "pooled_high": high}


def _test(name: str, measure: str, comparison: Comparison, test: Any) -> dict[str, Any]:
    sized = cells(test.effect, "effect")
    notes = (comparison.difference.note, test.note, test.effect.note)
    return {
        "reviewers": name,
        "measure": measure,
        "first": comparison.first,
        "second": comparison.second,
        **cells(comparison.difference, "difference"),
        "test": test.name,
        "statistic": test.statistic,
        "p": test.p_value,
        "p_holm": test.adjusted,
        "effect": sized["effect"],
        "effect_low": sized["low"],
        "effect_high": sized["high"],
        "n": test.n,
        "note": " ".join(dict.fromkeys(filter(None, notes))),
    }


def _effects(name: str, measure: str, model: Mixed) -> Iterator[dict[str, Any]]:
    about = {
        "reviewers": name,
        "measure": measure,
        "scale": model.scale,
        "reference": model.reference,
        "participants": model.participants,
        "cells": model.cells,
        "sd_participants": model.sd_participants,
        "sd_residual": model.sd_residual,
        "method": model.method,
    }
    for condition, found in ((model.reference, model.level), *model.differences.items()):
        note = " ".join(dict.fromkeys(filter(None, (found.note, model.note))))
        yield {**about, "condition": condition, **cells(found, "estimate"), "note": note}
