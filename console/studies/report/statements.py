"""The statements of a report on the study itself: participants and steps, deviations from the plan, and methods."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version

import pandas as pd

from console.language import counted
from console.studies.analysis.format import name_reviewers
from console.studies.analysis.frames import REVIEWERS, Frames, groups, list_excluded, own_decisions, table
from console.studies.design import FACTORS, Design, conditions, task_count, varied_factors
from console.studies.design.allocation import Group, promise
from console.studies.design.allocation import groups as planned_groups
from console.studies.design.model import Noisy
from console.studies.design.procedure import (
    describe_analysis,
    describe_exclusions,
    describe_measures,
    describe_rule,
    describe_steps,
)

FLOW_ABOUT = (
    "Places are those of the design. Invited counts the links for one person each; recipients of a study's code "
    "are not recorded. Joined counts everyone who ever took a place, including people whose data were removed. "
    "People who failed a check, or whom an exclusion rule excludes, stay in the data; the analysis excludes the latter."
)
_NEVER_IN = ("declined", "screened_out", "over_quota", "failed_quiz")


def facts(design: Design, frames: Frames) -> pd.DataFrame:
    """Return the numbers of participants, tasks, decisions and so on. Columns: figure, value."""
    people, decided = frames["participants"], own_decisions(frames)
    human = people["annotator_kind"] == "human"
    told = [
        ("people", int((human & ~people["stage"].isin(_NEVER_IN)).sum())),
        ("simulated reviewers", int((~human).sum())),
        ("conditions", frames["allocation"]["condition"].nunique()),
        ("tasks per condition", design.tasks),
        ("trials", design.trials),
        *((f"decisions by {name_reviewers(who)}", len(rows)) for who, rows in groups(decided)),
        *(
            (f"inspections spent by {name_reviewers(who)}", int(rows["used"].sum()))
            for who, rows in groups(frames["budget"])
        ),
    ]
    return pd.DataFrame(told, columns=["figure", "value"])


def flow(design: Design, frames: Frames) -> pd.DataFrame:
    """Count the people and the simulated reviewers who reached each step. Columns: step, people, simulated."""
    count = {who: dict(_steps(design, frames, who)) for who in REVIEWERS}
    rows = [{"step": step, **{who: count[who][step] for who in REVIEWERS}} for step in count["people"]]
    return table(rows, "step$ people# simulated#")


def _steps(design: Design, frames: Frames, who: str) -> Iterator[tuple[str, int]]:
    everyone = frames["participants"]
    rows = everyone[everyone["annotator_kind"] == REVIEWERS[who]]
    left = "withdrawal" if who == "people" else "withdrawal, simulated"
    withdrew = int((frames["history"]["event"] == left).sum())
    gone = max(withdrew - int((rows["stage"] == "withdrawn").sum()), 0)
    decided = own_decisions(frames)
    done = rows["finished_at"].notna() & (rows["stage"] != "withdrawn")
    yield "places", sum(one.count for one in planned_groups(design) if (one.kind == "human") == (who == "people"))
    invited = int((frames["history"]["event"] == "invited").sum()) if who == "people" else 0
    # A link is deleted with the data of the person who used it.
    yield "invited", invited + (gone if invited and design.recruiting.by_invitation else 0)
    yield "joined", len(rows) + gone
    yield "declined the consent", int((rows["stage"] == "declined").sum())
    yield "screened out", int((rows["stage"] == "screened_out").sum())
    yield "over a quota", int((rows["stage"] == "over_quota").sum())
    yield "failed the quiz", int((rows["stage"] == "failed_quiz").sum())
    yield "decided on an item of the study", int(rows["participant"].isin(decided["participant"]).sum())
    asked = frames["decisions"]
    wrong = (asked["purpose"] == "attention") & (asked["correct"] == False).fillna(False)  # noqa: E712  (it may be missing)
    yield "failed an attention check", int(rows["participant"].isin(asked.loc[wrong, "participant"]).sum())
    yield "excluded by a rule", int(rows["participant"].isin(list_excluded(frames)).sum())
    yield "withdrew", max(withdrew, int((rows["stage"] == "withdrawn").sum()))
    yield "finished", int(done.sum())


def deviations(design: Design, frames: Frames) -> list[str]:
    """Describe each deviation from the plan in one sentence; if there are none, return a sentence to that effect."""
    count = int((frames["history"]["event"] == "paused").sum())
    paused = [f"Paused {'once' if count == 1 else f'{count} times'}."] if count else []
    found = [*_dry_run(design, frames), *_closed_early(design, frames), *paused, *_changed(frames)]
    if not len(frames["history"]):
        return [*found, "The history is missing, so an early end, pauses or changed settings are unknown."]
    return found or ["No deviation is on record: no dry run, early end, pause or changed run setting."]


def count_played(design: Design, there: pd.DataFrame) -> Iterator[tuple[Group, int]]:
    """Iterate over the groups of the design, each with the number of its places that simulated reviewers took."""
    simulated = there[there["annotator_kind"] != "human"]
    # Places are numbered consecutively across the groups in order, and participant codes contain these numbers.
    numbers, first = simulated["participant"].str.extract(r"^P(\d+)$")[0].dropna().astype(int), 1
    for group in planned_groups(design):
        yield group, int(numbers.between(first, first + group.count - 1).sum())
        first += group.count


def _dry_run(design: Design, frames: Frames) -> Iterator[str]:
    count = sum(count for group, count in count_played(design, frames["participants"]) if group.kind == "human")
    if count:
        people = (frames["participants"]["annotator_kind"] == "human").any()
        beside = " beside people who take part" if people else ""
        yield f"Dry run: simulated reviewers took {counted(count, 'place')} of people{beside}."


def _closed_early(design: Design, frames: Frames) -> Iterator[str]:
    closed = frames["history"][frames["history"]["event"] == "closed"]
    there, planned = frames["participants"], sum(one.count for one in planned_groups(design))
    finished = int((there["finished_at"].notna() & (there["stage"] != "withdrawn")).sum())
    if len(closed) and finished < planned:
        yield f"Closed on {closed['at'].iloc[-1]:%Y-%m-%d} with {finished} of {counted(planned, 'place')} finished."


def _changed(frames: Frames) -> Iterator[str]:
    changed = frames["history"][frames["history"]["before"].notna()]
    for row in changed.to_dict("records"):
        yield (
            f"Changed for {row['participant']} in {row['condition']} on {row['at']:%Y-%m-%d} ({row['event']}): "
            f"from {row['before']} to {row['after']}."
        )


_PACKAGES = ("inferact-console", "numpy", "pandas", "scipy", "statsmodels", "scikit-learn", "plotly")


def paragraphs(design: Design, frames: Frames) -> list[tuple[str, str]]:
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
    rows = [
        {"condition": arm.name, **{FACTORS[name].title: arm.levels[name] for name in FACTORS}}
        for arm in conditions(design)
    ]
    return pd.DataFrame(rows)


def software() -> pd.DataFrame:
    """Return the packages used to compute the report. Columns: package, version."""
    rows = [("python", platform.python_version()), *((name, version(name)) for name in _PACKAGES)]
    return pd.DataFrame(rows, columns=["package", "version"])


def _participants(design: Design, there: pd.DataFrame) -> str:
    people = there[(there["annotator_kind"] == "human") & ~there["stage"].isin(_NEVER_IN)]
    finished = int((people["finished_at"].notna() & (people["stage"] != "withdrawn")).sum())
    part, places = counted(len(people), "person"), design.participants.human
    told = [f"{part} took part, {finished} of them finished; the design has places for {places}."]
    told = told if len(people) or places else []
    for group, count in count_played(design, there):
        if group.kind != "human":
            errs = f" ({describe_rule(group.rule)})" if group.rule else ""
            told.append(f"{count} of {group.count} simulated reviewers of kind {group.kind}{errs} took part.")
        elif count:
            errs = describe_rule(Noisy().model_dump(exclude={"count"}))
            told.append(
                f"Simulated reviewers of kind noisy ({errs}) took {counted(count, 'place')} of people in a dry run, "
                "a deviation from the design."
            )
    return " ".join(told)


def _design(design: Design) -> str:
    named = "; ".join(f"{FACTORS[name].title} ({', '.join(levels)})" for name, levels in varied_factors(design).items())
    count = len(conditions(design))
    compared = f"{count} conditions compared {design.comparison} participants" if count > 1 else "one condition"
    crossed = f", which vary {named}" if named else ""
    return (
        f"{compared[0].upper()}{compared[1:]}{crossed}. {counted(design.tasks, 'task')} for each condition, "
        f"{task_count(design):,} in all, sampled with seed {design.seed}; "
        f"{counted(design.trials, 'trial')} of each task. Order: {design.order}. {' '.join(promise(design))}"
    )


def _ours() -> str:
    return (
        "Success counts the tasks solved by each trial; a task without a next trial keeps the result of its last one. "
        "Intervals are at 95%: t over participants for means, Wilson for pooled shares, percentiles of 1,000 "
        "bootstrap draws over checkpoints (seed 0) for agreement. Agreement uses the checkpoints of trial 0 that at "
        "least two reviewers decided. Undefined figures are left out with a note."
    )
