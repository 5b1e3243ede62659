"""The methods of a study in sentences, with all parameters of the design and the software versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version

import pandas as pd

from console.language import counted
from console.studies.design import FACTORS, Design, conditions, task_count, varied
from console.studies.design.allocation import promise
from console.studies.design.model import Noisy
from console.studies.design.procedure import (
    describe_analysis,
    describe_exclusions,
    describe_measures,
    describe_rule,
    describe_steps,
)
from console.studies.report.opening import count_played

_PACKAGES = (
    "inferact-console",
    "numpy",
    "pandas",
    "scipy",
    "statsmodels",
    "scikit-learn",
    "plotly",
)


def paragraphs(design: Design, frames: Mapping[str, pd.DataFrame]) -> list[tuple[str, str]]:
    """Return each paragraph as (heading, text)."""
    return [
        ("Participants", _participants(design, frames["participants"])),
        ("Design", _design(design)),
        ("Procedure", " ".join(describe_steps(design))),
        ("Measures", " ".join(describe_measures(design))),
        ("Analysis", " ".join([*describe_analysis(design), _ours()])),
        ("Exclusions, withdrawal and stopping", " ".join(describe_exclusions(design))),
    ]


def condition_table(design: Design) -> pd.DataFrame:
    """Return one row per condition, with its level of every factor."""
    rows = [{"condition": arm.name, **{FACTORS[name].title: arm.levels[name] for name in FACTORS}}
            for arm in conditions(design)]  # fmt: skip
    return pd.DataFrame(rows)


def software() -> pd.DataFrame:
    """Return the packages used to compute the report. Columns: package, version."""
    rows = [("python", platform.python_version()), *((name, version(name)) for name in _PACKAGES)]
    return pd.DataFrame(rows, columns=["package", "version"])


def _participants(design: Design, there: pd.DataFrame) -> str:
    people = there[(there["annotator_kind"] == "human") & ~there["stage"].isin(["declined", "screened_out"])]
    finished = int(people["finished_at"].notna().sum())
    who = "1 person" if len(people) == 1 else f"{len(people)} people"
    told = [f"{who} took part, {finished} of them finished; the design has places for {design.participants.human}."]
    told = told if len(people) or design.participants.human else []
    for group, count in count_played(design, there):
        if group.kind != "human":
            errs = f" ({describe_rule(group.rule)})" if group.rule else ""
            told.append(f"{count} of {group.count} simulated reviewers of kind {group.kind}{errs} took part.")
        elif count:
            errs = describe_rule(Noisy().model_dump(exclude={"count"}))
            told.append(
                f"Simulated reviewers of kind noisy ({errs}) played {counted(count, 'place')} of people in a dry run, "
                "a deviation from the design."
            )
    return " ".join(told)


def _design(design: Design) -> str:
    named = "; ".join(f"{FACTORS[name].title} ({', '.join(levels)})" for name, levels in varied(design).items())
    count = len(conditions(design))
    compared = f"{count} conditions compared {design.comparison} participants" if count > 1 else "one condition"
    crossed = f", which vary {named}" if named else ""
    return (
        f"{compared[0].upper()}{compared[1:]}{crossed}. {counted(design.tasks, 'task')} for each condition, "
        f"{task_count(design)} in all, sampled with seed {design.seed}; "
        f"{counted(design.trials, 'trial')} of each task. Order: {design.order}. {' '.join(promise(design))}"
    )


def _ours() -> str:
    return (
        "Success counts the tasks solved by each trial; a task without a next trial keeps the result of its last one. "
        "Intervals are at 95%: t over participants for means, Wilson for pooled shares, percentiles of 1,000 "
        "bootstrap draws over checkpoints (seed 0) for agreement. Agreement uses the checkpoints of trial 0, which "
        "all participants share. Undefined figures are left out with a note."
    )
