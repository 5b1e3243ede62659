"""The audit reserve of a run: random draws among the actions that the detector did not flag, each stored.

Each unflagged action has a random number that follows only from the run's seed and the place of the action. The action
is audited if the number is below the probability of the run or of its stratum of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sqlalchemy import delete, func, insert
from sqlalchemy import select as sa_select
from sqlmodel import Session, col, select

from console import runs
from console.auth import audit_log
from console.errors import BadInput, Refused
from console.runs import RunOptions, run_options
from console.trajectory import from_json
from storage import tables
from storage.queue import NewItem
from storage.tables import RunKind

_HIDDEN = dict.fromkeys(("score", "explanation", "detector_name", "highlights"), "hidden")
"""The parts of a page that would distinguish an audited action from a flagged one."""


def draw_number(run: tables.Run, task_key: str, trial: int, step: int, kind: str) -> float:
    """Return the random number (0 to 1) of an action; equal seeds give equal numbers."""
    return Random(f"{run.seed} audit {task_key} {trial} {step} {kind}").random()


def get_probability(options: RunOptions, score: float) -> float:
    """Return the probability (0 to 1) with which an unflagged action of this score is audited."""
    strata = options.audit_strata
    return strata["high"] if strata and score > strata["cut"] else options.audited


def build_draw(
    run: tables.Run, options: RunOptions, verdict: tables.Verdict, number: float, at_ms: int
) -> tables.AuditDraw | None:
    """Return the draw of an unflagged action; None if the run has no audits or the action is flagged."""
    if verdict.flagged or not options.audited or verdict.score is None:
        return None
    return tables.AuditDraw(
        run_id=run.id or 0,
        trajectory_id=verdict.trajectory_id,
        step=verdict.step,
        kind=verdict.kind,
        score=verdict.score,
        probability=get_probability(options, verdict.score),
        number=number,
        at_ms=at_ms,
    )


def store_draw(session: Session, draw: tables.AuditDraw) -> None:
    """Store the draw unless the action has one."""
    place = {name: getattr(draw, name) for name in ("trajectory_id", "step", "kind")}
    if session.exec(select(tables.AuditDraw.id).filter_by(**place)).first() is None:
        session.add(draw)
        session.flush()


def draw_again(session: Session, run: tables.Run, options: RunOptions, at_ms: int) -> None:
    """Replace the draws of a run that was judged after its actions; each action keeps its number.

    The runs of studies audit at most the first action of a trajectory, and only if none is flagged.
    """
    draw = tables.AuditDraw
    session.execute(delete(draw).where(col(draw.run_id) == run.id))
    if not options.audited or options.every_action:
        return
    fixed = {"run_id": run.id, "at_ms": at_ms}
    rows = [
        row
        | fixed
        | {
            "probability": get_probability(options, row["score"]),
            "number": draw_number(run, key, trial, row["step"], row["kind"]),
        }
        for row, key, trial in _list_unflagged(session, run, options)
    ]
    if rows:
        session.execute(insert(draw), rows)


def _list_unflagged(session: Session, run: tables.Run, options: RunOptions) -> list[tuple[dict[str, Any], str, int]]:
    """Return the place and score of each unflagged action with its task's key and its trial."""
    verdict, record, task = tables.Verdict, tables.Trajectory, tables.Task
    columns = (verdict.trajectory_id, verdict.step, verdict.kind, verdict.score, verdict.flagged)
    statement = (
        sa_select(*map(col, columns), col(task.task_key), col(record.trial))
        .join(record, col(record.id) == verdict.trajectory_id)
        .join(task, col(task.id) == record.task_id)
        .where(col(verdict.run_id) == run.id, col(verdict.detector) == run.detector)
        .order_by(col(verdict.trajectory_id), col(verdict.flagged).desc(), col(verdict.step))
    )
    found: list[tuple[dict[str, Any], str, int]] = []
    previous = None
    for trajectory_id, step, kind, score, flagged, key, trial in session.execute(statement):
        is_first, previous = trajectory_id != previous, trajectory_id
        if flagged or score is None or (run.study_id is not None and not is_first):
            continue
        if not options.narrowed or is_critical(session, run, trajectory_id, step, kind):
            row = {"trajectory_id": trajectory_id, "step": step, "kind": kind, "score": score}
            found.append((row, key, trial))
    return found


def is_critical(session: Session, run: tables.Run, trajectory_id: int, step: int, kind: str) -> bool:
    """Return whether the run's patterns match the action at that place."""
    body = session.get_one(tables.TrajectoryBody, trajectory_id).body
    return (step, kind) in {(found.index, str(found.kind)) for found in runs.run_checkpoints(run, from_json(body))}


def place_audits(flagged: Sequence[NewItem], audits: Sequence[NewItem], cap: int | None, seed: int) -> list[NewItem]:
    """Return the items with each audit at a random place among the flagged items that the cap covers.

    The place does not depend on the score, so the audits that reviewers have reached are a random part of all audits.
    """
    by_trial: dict[int, list[int]] = {}
    for position in sorted(range(len(flagged)), key=lambda at: -flagged[at].priority):
        by_trial.setdefault(flagged[position].trial, []).append(position)
    drawn = {trial: sum(item.trial == trial for item in audits) for trial in {item.trial for item in audits}}
    before: dict[int, list[NewItem]] = {}
    for item in audits:
        among = by_trial.get(item.trial, [])
        covered = among if cap is None else among[: max(cap - drawn[item.trial], 1)]
        place = Random(f"{seed} place {item.trajectory_id} {item.step} {item.kind}").random()
        rank = int(place * (len(covered) + 1))
        # Items of equal priority are offered in this order; behind the last one, too.
        nearest = covered[min(rank, len(covered) - 1)] if covered else len(flagged)
        at = nearest + (0 < len(covered) == rank)
        priority = flagged[nearest].priority if covered else place
        before.setdefault(at, []).append(replace(item, priority=priority))
    placed = [one for at, item in enumerate(flagged) for one in (*before.get(at, ()), item)]
    return [*placed, *before.get(len(flagged), ())]


def place_live_audit(item: NewItem, threshold: float, number: float, probability: float) -> NewItem:
    """Return the item with a random priority in the range of flagged scores, independent of its own score."""
    return replace(item, priority=threshold + (1 - threshold) * min(number / probability, 1.0))


Allocate = Callable[[float], tuple[float, dict[str, float]]]
"""A function from a probability over all scores to the probability of low scores and the strata."""


def set_audits(
    session: Session,
    run: tables.Run,
    wanted: str,
    now_ms: int,
    allocate: Allocate | None = None,
    *,
    after: bool = False,
) -> RunOptions:
    """Set the audits of a run: `P%` of the unflagged actions, `P%budget` of its budget, or 0; return the new options.

    One probability holds for all scores unless `allocate` returns strata. In a blind run, hide the parts of a page that
    would distinguish an audit. With `after`, audited actions are reviewed after they ran. Raise BadInput if `wanted` is
    invalid, and Refused if the run cannot have such audits.
    """
    if run.study_id is not None:
        raise Refused(f"Run {run.name!r} belongs to a study. Set `audited` in the design of the study instead.")
    options = run_options(run)
    if options.every_action:
        raise Refused(f"Every action of run {run.name!r} is reviewed. Leave the audits at 0.")
    if after:
        _refuse_after(run, options)
    probability = _parse_audits(session, run, wanted)
    view = {name: value for name, value in options.view.items() if _HIDDEN.get(name) != value}
    if probability and run.blind:
        view |= _HIDDEN
    before, strata = options.audited, dict[str, float]()
    if probability and allocate is not None:
        probability, strata = allocate(probability)
    options = replace(options, audited=probability, audit_strata=strata, audits_after=after, view=view)
    run.options = options.to_json()
    session.add(run)
    detail = {"wanted": wanted, "strata": strata, "after": after}
    audit_log.record(session, run, "audits set", now_ms, before=before, after=probability, detail=detail)
    return options


def _refuse_after(run: tables.Run, options: RunOptions) -> None:
    if options.grows:
        return
    if run.kind not in (RunKind.LIVE, RunKind.GATE):
        raise Refused(f"The actions of run {run.name!r} are recorded, so its audits hold none. Leave out --after.")
    if run.blind and not options.acts_first:
        raise Refused(
            f"Run {run.name!r} is blind. An audited action that has run would differ from a flagged action that waits. "
            "Leave out --after, or use a run that is not blind."
        )


def _parse_audits(session: Session, run: tables.Run, wanted: str) -> float:
    text, of_budget = wanted.strip().removesuffix("budget").rstrip(), wanted.strip().endswith("budget")
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1 or (not text.endswith("%") and share):
        raise BadInput(f"{wanted!r} is not a valid share of audits. Write 5%, 20% budget, or 0 for none.")
    return _probability_of_reserve(session, run, share) if of_budget and share else share


def _probability_of_reserve(session: Session, run: tables.Run, share: float) -> float:
    """Return the probability whose expected number of audits is this share of the budget."""
    cap, verdict = runs.cap(session, run), tables.Verdict
    if run.kind in (RunKind.LIVE, RunKind.GATE):
        raise Refused(
            f"Run {run.name!r} gets its actions later, so audits cannot be a share of its budget. "
            "State a share of the unflagged actions, such as 5%."
        )
    statement = select(func.count()).select_from(verdict).where(verdict.run_id == run.id)
    unflagged = session.exec(statement.where(verdict.detector == run.detector, col(verdict.flagged).is_(False))).one()
    if cap is None or not unflagged:
        lacks = "a budget" if cap is None else "an unflagged action"
        raise Refused(f"Run {run.name!r} does not have {lacks}. State a share of the unflagged actions, such as 5%.")
    return min(1.0, runs.share_of(share, cap) / unflagged)


@dataclass(frozen=True, slots=True)
class Reserve:
    """The audit reserve of a run: its probability (0 to 1), its unflagged actions, and the number of draws.

    `strata` is empty if one probability holds for all scores; `expected` is the mean probability.
    """

    probability: float
    population: int
    drawn: int
    strata: Mapping[str, float] = field(default_factory=dict)
    expected: float = 0.0


def count_draws(session: Session, run: tables.Run) -> Reserve:
    """Return the audit reserve of a run."""
    draw = tables.AuditDraw
    is_drawn = col(draw.number) < col(draw.probability)
    counts = sa_select(func.count(), func.count().filter(is_drawn), func.avg(draw.probability))
    population, drawn, mean = session.execute(counts.where(col(draw.run_id) == run.id)).one()
    options = run_options(run)
    expected = mean if options.audit_strata and mean is not None else options.audited
    return Reserve(options.audited, population, drawn, options.audit_strata, expected)
