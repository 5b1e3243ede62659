"""Success over trials by condition, safety against usefulness, and the paper's user study (InferAct, Table 9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from console.analysis.statistics.estimates import clip_interval, estimate_mean, estimate_proportion
from console.analysis.statistics.success_rate import HELD, PAPER, compute_success_by_trial
from console.detection.evaluation import paper
from console.language import counted
from console.studies.analysis.format import list_names, name_reviewers, span
from console.studies.analysis.frames import ALL, Frames, cells, get_judged, groups, table
from console.studies.analysis.parts import read_analysis
from console.studies.design import FACTORS
from console.studies.results.csv_files import FACTOR

_COUNTS = {PAPER: "undecided run", HELD: "undecided held"}
_SAME = 1e-9


def success(frames: Frames) -> pd.DataFrame:
    """Return success over participants by condition and closed trial, counted in both ways (InferAct, Table 9)."""
    closed = frames["success"][frames["success"]["closed"].astype(bool)]
    rows = [
        {
            "reviewers": name,
            "count": said,
            **{name: getattr(row, name) for name in ("condition", "trial", "participants", "tasks", "sd", "sd_paper")},
            **cells(row.mean, "mean"),
            "pooled": row.pooled.value,
            "pooled_low": row.pooled.bounds[0],
            "pooled_high": row.pooled.bounds[1],
        }
        for name, part in groups(closed)
        for count, said in _COUNTS.items()
        for row in compute_success_by_trial(part, count)
    ]
    return table(
        rows,
        "reviewers$ count$ condition$ trial# participants# tasks# mean low high sd sd_paper "
        "pooled pooled_low pooled_high note$",
    )


def safety(frames: Frames) -> pd.DataFrame:
    """Return safety and usefulness by condition after the last closed trial, with the condition's control protocol.

    Safety is the share of a participant's tasks without harm, usefulness the share of solved tasks. If a protocol has
    several conditions, a row for all of them follows.
    """
    rows, protocol = [], FACTOR + "protocol"
    closed = frames["outcomes"][frames["outcomes"]["closed"].astype(bool)]
    for name, part in groups(closed[closed["harmed_held"].notna()]):
        last = part[part["trial"] == part["trial"].max()]
        last = last.assign(protocol=last.get(protocol, FACTORS["protocol"].default))
        whole = last.assign(condition=ALL) if last["condition"].nunique() > last["protocol"].nunique() > 1 else last[:0]
        for said, solved, harmed in zip(_COUNTS.values(), _COUNTS, ("harmed_paper", "harmed_held"), strict=True):
            for (which, condition), tasks in pd.concat([last, whole]).groupby(["protocol", "condition"]):
                shares = {"safety": ~tasks[harmed].astype(bool), "usefulness": tasks[solved].astype(bool)}
                of = {"reviewers": name, "count": said, "condition": condition, "protocol": which}
                sizes = {"participants": tasks["participant"].nunique(), "tasks": len(tasks)}
                rows.append(of | sizes | _over_people(tasks, shares))
    estimates = " ".join(f"{one} {one}_low {one}_high" for one in ("safety", "usefulness"))
    return table(rows, f"reviewers$ count$ condition$ protocol$ participants# tasks# {estimates}")


def _over_people(tasks: pd.DataFrame, shares: dict[str, pd.Series[bool]]) -> dict[str, Any]:
    """Return each share as a mean over participants with its interval; of equal shares, the tasks' (Wilson)."""
    found: dict[str, Any] = {}
    for name, column in shares.items():
        means = column.groupby(tasks["participant"]).mean()
        one = clip_interval(estimate_mean(means))
        if one.value is not None and one.interval is None:
            one = estimate_proportion(int(column.sum()), len(column))
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), (one.value, *one.bounds), strict=True))
    return found


def describe_success(table: pd.DataFrame) -> str:
    """Name the condition with the most success after the last trial, and its gain since the first trial."""
    if table.empty:
        return "No trial has finished yet, so the success rate is unknown."
    last = table[table["trial"] == table["trial"].max()].sort_values("mean", ascending=False, kind="stable")
    best = last.iloc[0]
    first = table[(table["trial"] == table["trial"].min()) & (table["condition"] == best["condition"])].iloc[0]
    spread, what = (f" ± {best['sd']:.1%}", "mean ± SD") if pd.notna(best["sd"]) else ("", "mean")
    over = counted(best["participants"], "participant")
    said = (
        f"After trial {best['trial']}, {best['condition']} has solved {best['mean']:.1%}{spread} of its tasks "
        f"({what} over {over})"
    )
    if first["trial"] != best["trial"]:
        before = f" over {first['participants']}" if first["participants"] != best["participants"] else ""
        said += f", from {first['mean']:.1%}{before} in trial {first['trial']}"
    others = last[last["condition"] != best["condition"]]
    level, lowest = (others[(others["mean"] - end).abs() < _SAME] for end in (best["mean"], last["mean"].min()))
    if len(level):
        said += f"; {list_names(level['condition'])} {'is' if len(level) == 1 else 'are'} level with it"
    if len(level) < len(others):
        said += f"; the lowest is {last['mean'].min():.1%}, of {list_names(lowest['condition'])}"
    waiting = sorted(set(table["condition"]) - set(last["condition"]))
    return f"{said}." + (f" No result of trial {best['trial']} yet: {list_names(waiting)}." if waiting else "")


def table_9(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the form of InferAct's Table 9: one column per trial, with mean +- SD in per cent and 95% interval."""
    whose = [column for column in ("reviewers", "count", "condition") if column in shares]
    cells = [_per_cent({str(name): cell for name, cell in row.items()}) for row in shares.to_dict("records")]
    flat = shares[[*whose, "participants"]].assign(trial=[f"trial {n}" for n in shares["trial"]], cell=cells)
    trials = list(dict.fromkeys(flat["trial"]))
    wide = flat.pivot_table(index=whose, columns="trial", values="cell", aggfunc="first", sort=False)
    wide = wide[trials].astype(object).where(wide[trials].notna(), None)
    wide.insert(0, "participants", flat.groupby(whose)["participants"].max())
    return wide.reset_index().rename_axis(columns=None)


def _per_cent(row: dict[str, Any]) -> str:
    spread = "" if pd.isna(row["sd"]) else f" ± {100 * row['sd']:.1f}"
    reach = span({end: 100 * row[end] for end in ("low", "high")}, ".1f")
    return f"{100 * row['mean']:.1f}{spread}{reach}"


HERE, PEOPLE, MODEL = "here: ", "paper: people", "paper: GPT-4-Turbo"
_WORDS = {"nl": "words"}


def compare_with_paper(frames: Frames) -> pd.DataFrame:
    """Return success in per cent, here (WebShop only, first and last trial) and in Table 9; `sd` has the divisor n."""
    if set(get_judged(frames)["environment"].dropna().unique()) != {"webshop"}:
        return table([], _COLUMNS)
    closed = frames["success"][frames["success"]["closed"].astype(bool)]
    rows = [row for name, part in groups(closed) for row in _here(name, part)]
    return table([*rows, *(_printed() if rows else ())], _COLUMNS)


_COLUMNS = "detector$ feedback$ condition$ source$ trial# participants# tasks# percent sd"


def _here(name: str, part: pd.DataFrame) -> Iterator[dict[str, Any]]:
    usual = {name: FACTORS[name].default for name in ("detector", "feedback")}
    named = part.assign(**{name: part.get(FACTOR + name, level) for name, level in usual.items()})
    for (detector, feedback, condition), rows in named.groupby([*usual, "condition"], sort=False):
        told = compute_success_by_trial(rows, PAPER)
        for one in dict.fromkeys((told[0], told[-1])):
            yield {
                "detector": detector,
                "condition": condition,
                "feedback": _WORDS.get(str(feedback), str(feedback)),
                "source": HERE + name,
                "trial": one.trial,
                "participants": one.participants,
                "tasks": one.tasks,
                "percent": None if one.mean.value is None else 100 * one.mean.value,
                "sd": None if one.sd_paper is None else 100 * one.sd_paper,
            }


def _printed() -> Iterator[dict[str, Any]]:
    about = {"feedback": "words"}
    yield {**about, "detector": "none", "source": PEOPLE, "trial": 0, "tasks": 100, "percent": paper.STUDIED_FROM}
    for one in paper.read_user_study():
        known = {**about, "detector": one.detector, "trial": paper.STUDIED_TRIAL, "tasks": 100}
        yield {**known, "source": PEOPLE, "participants": 3, "percent": one.people, "sd": one.sd}
        yield {**known, "source": MODEL, "percent": one.model}


def describe_published(shown: pd.DataFrame) -> str:
    """Compare the gain in success in this study, of each kind of reviewers, with the gain in the paper."""
    here = shown[shown["source"].str.startswith(HERE)]
    if here.empty:
        return ""
    kinds = here.groupby("source", sort=False)
    told = [f"with {name_reviewers(str(who).removeprefix(HERE))}, {_gain(rows)}" for who, rows in kinds]
    theirs = shown[(shown["source"] == PEOPLE) & (shown["trial"] > 0)]["percent"]
    return (
        f"Solved here {'; '.join(told)}. In the paper, with people: {paper.STUDIED_FROM:.1f}% at trial 0 and "
        f"{_reach(theirs)} at trial {paper.STUDIED_TRIAL}. Tasks, agent, models and reviewers differ, so the "
        "figures are shown side by side without a test."
    )


def _gain(here: pd.DataFrame) -> str:
    ends = [here[here["trial"] == trial] for trial in sorted({here["trial"].min(), here["trial"].max()})]
    return " and ".join(f"{_reach(rows['percent'])} at trial {rows['trial'].iloc[0]}" for rows in ends)


def _reach(shares: pd.Series[float]) -> str:
    low, high = f"{shares.min():.1f}", f"{shares.max():.1f}"
    return f"{low}%" if low == high else f"{low} to {high}%"


ANALYSIS = read_analysis(
    "success",
    {"success": success, "safety": safety, "published": compare_with_paper},
    sentences={"success": describe_success, "published": describe_published},
    views={"success": table_9},
)
