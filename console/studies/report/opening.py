"""What a report opens with: how many took part and how far they came, and what departs from the plan."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from console.language import counted
from console.studies.analysis.frames import REVIEWERS, Frames, excluded, groups, own, table
from console.studies.design import Design
from console.studies.design.allocation import Group
from console.studies.design.allocation import groups as planned_groups

FLOW_ABOUT = (
    "Places are those of the design. Invited counts the links that were made for one person each; whom a study's code "
    "was sent to is not recorded. Joined counts everybody who ever took a place, also those whose data were removed. "
    "Who failed a check stays in the data; whom a rule of the design leaves out stays there too, out of the analysis."
)
_NEVER_IN = ("declined", "screened_out")


def facts(design: Design, frames: Frames) -> pd.DataFrame:
    """The sizes of the study. Columns: figure, value."""
    people, decided = frames["participants"], own(frames)
    human = people["annotator_kind"] == "human"
    told = [
        ("people", int((human & ~people["stage"].isin(_NEVER_IN)).sum())),
        ("simulated reviewers", int((~human).sum())),
        ("conditions", frames["allocation"]["condition"].nunique()),
        ("tasks per condition", design.tasks),
        ("trials", design.trials),
        *((f"decisions by {who}", len(rows)) for who, rows in groups(decided)),
        *((f"inspections spent by {who}", int(rows["used"].sum())) for who, rows in groups(frames["budget"])),
    ]
    return pd.DataFrame(told, columns=["figure", "value"])


def flow(design: Design, frames: Frames) -> pd.DataFrame:
    """How many people, and how many simulated reviewers, came how far. Columns: step, people, simulated."""
    count = {who: dict(_steps(design, frames, who)) for who in REVIEWERS}
    rows = [{"step": step, **{who: count[who][step] for who in REVIEWERS}} for step in count["people"]]
    return table(rows, "step$ people# simulated#")


def _steps(design: Design, frames: Frames, who: str) -> Iterator[tuple[str, int]]:
    everyone = frames["participants"]
    rows = everyone[everyone["annotator_kind"] == REVIEWERS[who]]
    withdrew = int((frames["history"]["event"] == "withdrawal").sum()) if who == "people" else 0
    gone = max(withdrew - int((rows["stage"] == "withdrawn").sum()), 0)
    decided = own(frames)
    done = rows["finished_at"].notna() & (rows["stage"] != "withdrawn")
    yield "places", sum(one.count for one in planned_groups(design) if (one.kind == "human") == (who == "people"))
    invited = int((frames["history"]["event"] == "invited").sum()) if who == "people" else 0
    # A link is forgotten with the data of whoever came by it.
    yield "invited", invited + (gone if invited and design.recruiting.by_invitation else 0)
    yield "joined", len(rows) + gone
    yield "declined the consent", int((rows["stage"] == "declined").sum())
    yield "screened out", int((rows["stage"] == "screened_out").sum())
    yield "decided on an item of the study", int(rows["participant"].isin(decided["participant"]).sum())
    yield "failed an attention check", int(rows["participant"].isin(_failed(frames)).sum())
    yield "left out by a rule", int(rows["participant"].isin(excluded(frames)).sum())
    yield "withdrew", max(withdrew, int((rows["stage"] == "withdrawn").sum()))
    yield "finished", int(done.sum())


def _failed(frames: Frames) -> set[str]:
    asked = frames["decisions"]
    wrong = (asked["purpose"] == "attention") & (asked["correct"] == False).fillna(False)  # noqa: E712  (it may be missing)
    return set(asked.loc[wrong, "participant"])


def deviations(design: Design, frames: Frames) -> list[str]:
    """What departs from the plan, one sentence each; one that says so where nothing does."""
    found = [*_dry_run(design, frames), *_closed_early(design, frames), *_pauses(frames), *_changed(frames)]
    if not len(frames["history"]):
        return [*found, "Whether it was closed early, paused, or its settings were changed is not on record."]
    return found or ["None is on record: no dry run, no early end, no pause, no changed setting of a run."]


def played(design: Design, there: pd.DataFrame) -> Iterator[tuple[Group, int]]:
    """Each group of the design with how many of its places simulated reviewers have."""
    simulated = there[there["annotator_kind"] != "human"]
    # Places are numbered through the groups in their order, and codes hold those numbers.
    numbers, first = simulated["participant"].str.extract(r"^P(\d+)$")[0].dropna().astype(int), 1
    for group in planned_groups(design):
        yield group, int(numbers.between(first, first + group.count - 1).sum())
        first += group.count


def _dry_run(design: Design, frames: Frames) -> Iterator[str]:
    count = sum(count for group, count in played(design, frames["participants"]) if group.kind == "human")
    if count:
        people = (frames["participants"]["annotator_kind"] == "human").any()
        beside = " beside people who take part" if people else ""
        yield f"Dry run: simulated reviewers played {counted(count, 'place')} of people{beside}."


def _closed_early(design: Design, frames: Frames) -> Iterator[str]:
    closed = frames["history"][frames["history"]["event"] == "closed"]
    there, planned = frames["participants"], sum(one.count for one in planned_groups(design))
    finished = int((there["finished_at"].notna() & (there["stage"] != "withdrawn")).sum())
    if len(closed) and finished < planned:
        yield f"Closed on {closed['at'].iloc[-1]:%Y-%m-%d} with {finished} of {counted(planned, 'place')} finished."


def _pauses(frames: Frames) -> Iterator[str]:
    if count := int((frames["history"]["event"] == "paused").sum()):
        yield f"Paused {'once' if count == 1 else f'{count} times'}."


def _changed(frames: Frames) -> Iterator[str]:
    changed = frames["history"][frames["history"]["before"].notna()]
    for row in changed.to_dict("records"):
        yield (
            f"Changed for {row['participant']} in {row['condition']} on {row['at']:%Y-%m-%d} ({row['event']}): "
            f"from {row['before']} to {row['after']}."
        )
