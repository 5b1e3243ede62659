"""Effects of the conditions: paired tests, mixed models with a random effect of participants, tests on shared tasks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from console.analysis.statistics.mixed_models import Mixed, fit_linear, fit_logistic
from console.analysis.statistics.paired import Comparison, Design, compare_all_pairs
from console.analysis.statistics.success_rate import compare_tasks
from console.language import counted
from console.studies.analysis.contrasts import answers
from console.studies.analysis.format import format_signed, lower_first
from console.studies.analysis.frames import Frames, cells, groups, own_decisions, table
from console.studies.analysis.parts import read_analysis

LAST = "solved by the last trial"
RIGHT = "right decisions"
SECONDS = "seconds per decision"

ALPHA = 0.05
_SAME = 1e-9


def differences(frames: Frames) -> pd.DataFrame:
    """Test every pair of conditions across participants with every test; correct for the number of pairs (Holm)."""
    rows = [
        _test(name, measure, comparison, test)
        for name, measure, values in _measures(frames)
        if values["condition"].nunique() > 1
        for comparison in compare_all_pairs(values, "value", _comparison(values))
        for test in comparison.tests
    ]
    return table(
        rows,
        "reviewers$ measure$ first$ second$ difference low high test$ statistic p p_holm "
        "effect effect_low effect_high n# note$",
    )


def _comparison(values: pd.DataFrame) -> Design:
    several = values.groupby("participant")["condition"].nunique().gt(1).any()
    return "within" if several else "between"


def tasks(frames: Frames) -> pd.DataFrame:
    """Test every pair of conditions on their shared tasks with McNemar's test."""
    rows = []
    for name, solved in groups(answers(frames, "success")):
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


def fit_mixed_effects(frames: Frames) -> pd.DataFrame:
    """Estimate each condition's effect on solved tasks and correct decisions, with participants as a random effect."""
    rows = [
        row
        for name, measure, values in _answers(frames)
        if values["condition"].nunique() > 1
        for model in (fit_linear, fit_logistic)
        for row in _effects(name, measure, model(values, "value"))
    ]
    return table(
        rows,
        "reviewers$ measure$ scale$ reference$ condition$ estimate low high p participants# cells# "
        "sd_participants sd_residual method$ note$",
    )


def _measures(frames: Frames) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Iterate over (reviewers, measure, table with one value per participant and condition)."""
    yield from _answers(frames)
    timed = own_decisions(frames).assign(value=own_decisions(frames)["lead_time_ms"].astype(float) / 1_000)
    # A simulated reviewer without a set pace decides at once, so its decisions have no measured time.
    for name, part in groups(timed[timed["value"] > 0]):
        medians = part.groupby(["participant", "condition"])["value"].median()
        yield name, SECONDS, medians.reset_index()


def _answers(frames: Frames) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Iterate over (reviewers, measure, table with one row per answer and its value, 0 or 1)."""
    for measure, words in (("success", LAST), ("right", RIGHT)):
        for name, part in groups(answers(frames, measure)):
            yield name, words, part


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
    columns = ("scale", "reference", "participants", "cells", "sd_participants", "sd_residual", "method")
    about = {"reviewers": name, "measure": measure} | {column: getattr(model, column) for column in columns}
    for condition, found in ((model.reference, model.level), *model.differences.items()):
        note = " ".join(dict.fromkeys(filter(None, (found.note, model.note))))
        yield {**about, "condition": condition, **cells(found, "estimate"), "note": note}


def describe_differences(table: pd.DataFrame) -> str:
    """State the number of pairs of conditions that differ after Holm's correction, and the largest difference."""
    if table.empty:
        return "A comparison needs two conditions with data."
    first = table[table["test"] == table["test"].iloc[0]]
    known, unknown = first[first["difference"].notna()], first[first["difference"].isna()]
    if known.empty:
        return f"No comparison is possible: {unknown['note'].iloc[0]}"
    why = (f"{one['first']} minus {one['second']} is {lower_first(one['note'])}" for one in unknown.to_dict("records"))
    return " ".join([_tested(known), *why])


def _tested(pairs: pd.DataFrame) -> str:
    differ, count = pairs[pairs["p_holm"] < ALPHA], int(pairs["p_holm"].notna().sum())
    about = _largest(differ if len(differ) else pairs)
    named = f"{pairs['test'].iloc[0]}, Holm over {counted(count, 'pair')}"
    if not count:
        return f"No pair can be tested. The largest difference: {about}. {pairs['note'].iloc[0]}".rstrip()
    if len(differ):
        verb = "differs" if len(differ) == 1 else "differ"
        return f"{len(differ)} of {counted(count, 'pair')} {verb} ({named}, p < {ALPHA}). The largest of them: {about}."
    return f"No pair differs significantly at {ALPHA} ({named}). The largest difference: {about}."


def _largest(pairs: pd.DataFrame) -> str:
    sizes = pairs["difference"].abs().to_numpy()
    most, level = pairs.iloc[int(sizes.argmax())], int((sizes > sizes.max() - _SAME).sum()) - 1
    span = "" if pd.isna(most["low"]) else f" ({format_signed(most['low'])} to {format_signed(most['high'])})"
    same = f"; {counted(level, 'other pair')} differ{'s' * (level == 1)} as much" if level else ""
    return f"{most['first']} minus {most['second']} is {format_signed(most['difference'])}{span}{same}"


ANALYSIS = read_analysis(
    "effects",
    {"differences": differences, "tasks": tasks, "mixed": fit_mixed_effects},
    sentences={"differences": describe_differences},
)
