"""Runs: creation, lists, options, critical-action patterns, inspection budgets and current decisions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from shlex import quote
from typing import Any

import orjson
from sqlalchemy import ColumnElement, func, literal_column
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from console.auth import audit_log
from console.database import now_ms, review_queue, writing
from console.environments import ENVIRONMENTS
from console.errors import BadInput, Refused, Unknown
from console.language import counted
from console.language import iso as iso
from console.runs import removal
from console.trajectory import Outcome, Trajectory
from console.trajectory.checkpoints import Checkpoint, checkpoints
from storage import tables
from storage.queue import Queue
from storage.tables import RunKind

_NAME = re.compile(r"[\w][\w.@ -]{0,79}")


def create(session: Session, name: str, kind: RunKind, now_ms: int, **fields: Any) -> tables.Run:
    """Create an empty run; raise Refused if the name is taken, or BadInput if the name is invalid."""
    check_name(name)
    if find(session, name) is not None:
        raise Refused(f"A run named {name!r} already exists. Choose another name.")
    run = tables.Run(name=name, kind=kind, environment="", created_ms=now_ms, **fields)
    session.add(run)
    session.flush()
    settings = {name: value for name, value in fields.items() if value is not None}
    audit_log.record(session, run, "run created", now_ms, after=settings, detail={"kind": kind})
    return run


def check_name(name: str) -> None:
    """Raise BadInput if the text is not a valid run name."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is not a valid run name. Use up to 80 letters, digits, spaces and . _ - @.")


def free_name(session: Session, wanted: str) -> str:
    """Return the name, or the first free name of `name @2`, `name @3`, ... if a run already has the name."""
    number, name = 1, wanted
    while find(session, name) is not None:
        number += 1
        name = f"{wanted} @{number}"
    return name


def find(session: Session, name: str) -> tables.Run | None:
    """Return the run with this name, or None if the run does not exist."""
    return session.exec(select(tables.Run).where(tables.Run.name == name)).first()


def get(session: Session, name: str) -> tables.Run:
    """Return the run with this name; raise Unknown, with the list of runs, if no run has this name."""
    run = find(session, name)
    if run is None:
        raise Unknown("run", name, [run.name for run in list_runs(session, archived=True)])
    return run


def list_runs(session: Session, *, archived: bool = False) -> list[tables.Run]:
    """Return the runs, newest first, without those of study participants; include archived runs only on request."""
    statement = select(tables.Run).where(col(tables.Run.study_id).is_(None)).order_by(col(tables.Run.id).desc())
    if not archived:
        statement = statement.where(col(tables.Run.archived_ms).is_(None))
    return list(session.exec(statement))


def list_active_runs(session: Session) -> list[tables.Run]:
    """Return the runs that can advance without a user: no archives, stopped runs or runs of studies.

    Only participants advance the runs of studies, because participants end their rounds themselves.
    """
    run = tables.Run
    alone = (col(run.kind) != RunKind.ARCHIVE) & col(run.study_id).is_(None)
    found = session.exec(select(run).where(alone).order_by(col(run.id)))
    return [one for one in found if not run_options(one).stopped]


def archive(session: Session, name: str, now_ms: int) -> tables.Run:
    """Return the archive run with this name for imported logs; create the run if it is missing. Raise Refused if the
    run is not an archive or belongs to a study.
    """
    run = find(session, name)
    if run is None:
        return create(session, name, RunKind.ARCHIVE, now_ms)
    if run.kind != RunKind.ARCHIVE:
        raise Refused(f"Run {name!r} is not an archive. Import into a run with another name.")
    if run.study_id is not None:
        raise Refused(f"Run {name!r} belongs to a participant of a study. Import into a run with another name.")
    return run


Costs = Mapping[str, float | str]
"""The cost of a wrong action by pattern: an amount, or `price` for the last price in the observations."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run; the JSON keys are the fields' names, and options at their defaults may be missing.

    `view` controls a reviewer's page: score, explanation, detector, highlights and earlier are `shown` or `hidden`,
    brief is `none` or `target`, and `alias` is the displayed name of the detector. Only runs of studies and blind runs
    with audits have a view; missing parts of the view count as shown.
    `costs` are the stated costs of wrong actions (`console.runs.costs`); without costs, items rank by score.
    `reasons` are the reasons that reviewers can select; they replace the environment's reasons.
    `questions` are questions to reviewers beside the decision, each with its `key`, `text` and `choices`.
    `goes_on`: the agents start the next trial automatically after the last review, as in the demo.
    `budget_frozen`: the percentage budget of a live run no longer changes, because trial 0 has stopped.
    `playing`: the Actor of a participant's run is running, or was running when its process crashed.
    `narrowed`: a user removed patterns, so some verdicts may concern actions that are no longer critical.
    `plans` are the ids of the run's plan versions by type of task (empty: every type); `explores` marks a run whose
    trials train a plan.
    `rates_answers`: the run's items are answers that people rate as correct or incorrect.
    `labels_trials`: the run's items are copies of trials, for labels by reviewers who see no output of a detector.
    `audited` is the probability (0 to 1) of a review for each unflagged action. With `audit_strata`, `audited` holds
    for scores up to `cut`, and `high` for higher scores; `adaptive` is 1 if labels changed these probabilities.
    `audits_after`: audited actions of a live run are reviewed after they ran, and flagged ones wait.
    `protocol` is the control protocol of a live run (`console.trials.protocols`); without one, flagged actions wait.
    `rationale` is the share of tasks (0 to 1) whose feedback includes the reasons of the detector.
    `stops_at_capacity`: a reviewer whose next inspection is expected to lower safety gets no further item.
    `every_action`: reviewers get each critical action, not only the first flagged action of a trajectory.
    `stopped`: no agent of the run may act until an operator lets the agents continue.
    `traced_by` is the agent whose live traces the run holds; `followed` marks a run of logs that are still written.
    `unknown` holds the keys of an older or newer console; `to_json` writes them back unchanged.
    """

    view: Mapping[str, str] = field(default_factory=dict)
    costs: Costs = field(default_factory=dict)
    reasons: Sequence[str] = ()
    questions: Sequence[Mapping[str, Any]] = ()
    goes_on: bool = False
    budget_frozen: bool = False
    playing: bool = False
    narrowed: bool = False
    plans: Mapping[str, int] = field(default_factory=dict)
    explores: bool = False
    rates_answers: bool = False
    labels_trials: bool = False
    audited: float = 0.0
    audit_strata: Mapping[str, float] = field(default_factory=dict)
    audits_after: bool = False
    protocol: str = ""
    rationale: float = 0.0
    stops_at_capacity: bool = False
    every_action: bool = False
    traced_by: str = ""
    followed: bool = False
    stopped: bool = False
    unknown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def acts_first(self) -> bool:
        """True if flagged actions run before their review."""
        return self.protocol in ("audit", "undo")

    @property
    def grows(self) -> bool:
        """True if actions are recorded as agents run them, so that each flagged action is an item of its own."""
        return self.followed or bool(self.traced_by)

    def to_json(self) -> str:
        """Return the options as JSON for the column, without options at their defaults."""
        known = {name: value for name in _KINDS if (value := getattr(self, name))}
        return orjson.dumps({**self.unknown, **known}).decode()


_DEFAULTS = {name: value for name, value in asdict(RunOptions()).items() if name != "unknown"}
_KINDS = {name: list if value == () else type(value) for name, value in _DEFAULTS.items()}
"""The JSON type of each option, which is that of its default."""


def run_options(run: tables.Run) -> RunOptions:
    """Return the options of a run; raise BadInput if a known option has the wrong type.

    Change an option as in `run.options = replace(run_options(run), playing=True).to_json()`.
    """
    stored: dict[str, Any] = orjson.loads(run.options or "{}")
    known = {name: value for name in _KINDS if (value := stored.pop(name, None)) is not None}
    for name, value in known.items():
        if not isinstance(value, _KINDS[name]):
            raise BadInput(
                f"The option {name!r} of run {run.name!r} is invalid: {value!r}. Restore a backup of the database."
            )
    return RunOptions(**known, unknown=stored)


def patterns(run: tables.Run) -> list[str]:
    """Return the run's critical-action patterns."""
    found: list[str] = orjson.loads(run.critical)
    return found


def run_checkpoints(run: tables.Run, record: Trajectory) -> list[Checkpoint]:
    """Return the checkpoints of a trajectory for the run's patterns and its setting for end checkpoints."""
    ends = ENVIRONMENTS[record.environment].ends if run.ends is None else run.ends
    return checkpoints(record, patterns(run), ends=ends)


def set_patterns(session: Session, run: tables.Run, wanted: Sequence[str], now_ms: int) -> list[int]:
    """Replace the critical-action patterns; withdraw pending items without a matching pattern, and return their ids.

    Keep verdicts and decisions. Raise Refused if the run is a gate, because its policy selects the critical actions.
    """
    if run.kind == RunKind.GATE:
        raise Refused(
            f"The patterns of the gate {run.name} cannot be changed, because its policy sets the critical actions. "
            f"Show the policy: inferact policy show {quote(run.name)}"
        )
    cleaned = list(dict.fromkeys(pattern.strip() for pattern in wanted if pattern.strip()))
    before, run.critical = patterns(run), orjson.dumps(cleaned).decode()
    told: dict[str, Any] = {"patterns": cleaned}
    withdrawn: list[int] = []
    if set(before) - set(cleaned):
        run.options = replace(run_options(run), narrowed=True).to_json()
        session.add(run)
        withdrawn = removal.withdraw_uncritical(session, run, cleaned, now_ms)
        told |= {"withdrawn": withdrawn}
    session.add(run)
    audit_log.record(session, run, "critical actions set", now_ms, before=before, after=cleaned, detail=told)
    return withdrawn


def withdrawn_sentence(items: Sequence[int]) -> str:
    """Return a sentence on the items that left the queue because of narrower patterns."""
    left = counted(len(items), "item")
    return f"{left} left the queue because no pattern matches any longer. The units of claims are refunded."


def set_budget(run_name: str, wanted: str | None) -> int | None:
    """Set the cap of every trial and return the cap. `wanted` is a number of inspections, `P%` of the non-halted
    trajectories of trial 0, or None for no cap.

    Raise BadInput if `wanted` is invalid, or Unknown if no run has this name.
    """
    with writing() as session:
        run = get(session, run_name)
        before = _budget_in_words(run)
        run.budget_cap, run.budget_percent = parse_budget(wanted)
        session.add(run)
        audit_log.record(session, run, "budget set", now_ms(), before=before, after=_budget_in_words(run))
        session.flush()
        run_id, limit = run.id or 0, cap(session, run)
        record = tables.Trajectory
        trials = session.exec(select(record.trial).where(record.run_id == run_id).distinct()).all()
    review_queue().open_budgets(run_id, sorted(trials), limit, again=True)
    return limit


def budget_sentence(run_name: str, limit: int | None) -> str:
    """Return a sentence with the cap of each trial of the run."""
    return f"Every trial of {run_name} has {'no cap' if limit is None else counted(limit, 'inspection')}."


def _budget_in_words(run: tables.Run) -> str:
    if run.budget_percent is not None:
        return f"{run.budget_percent:g}%"
    return "no cap" if run.budget_cap is None else str(run.budget_cap)


def parse_budget(wanted: str | None) -> tuple[int | None, float | None]:
    """Parse `50` or `50%` into (cap, percent), or None into (None, None); raise BadInput for any other text."""
    if wanted is None:
        return None, None
    text = wanted.strip()
    try:
        if text.endswith("%"):
            percent = float(text[:-1])
            if not 0 <= percent <= 100:
                raise ValueError
            return None, percent
        if int(text) < 0:
            raise ValueError
        return int(text), None
    except ValueError:
        raise BadInput(
            f"{wanted!r} is not a valid budget. Use a whole number such as 50 or a percentage such as 50%."
        ) from None


def cap(session: Session, run: tables.Run) -> int | None:
    """Return the cap of every trial; a percentage is relative to the non-halted trajectories of trial 0 (InferAct,
    section 4.4).
    """
    if run.budget_percent is None:
        return run.budget_cap
    record = tables.Trajectory
    first = session.exec(select(func.min(record.trial)).where(record.run_id == run.id)).one()
    statement = (
        select(func.count())
        .select_from(record)
        .where(record.run_id == run.id, record.trial == first, record.recorded_outcome != Outcome.HALTED)
    )
    return share_of(run.budget_percent / 100, session.exec(statement).one())


def share_of(share: float, non_halted: int) -> int:
    """Return ceil(share x non-halted trajectories of trial 0), without rounding up because of floating-point error."""
    return math.ceil(round(share * non_halted, 9))


def withholds_items(run: tables.Run) -> bool:
    """Return whether the queue offers no item of the run: its agents are stopped, so they would use no decision."""
    return run.kind == RunKind.LIVE and run_options(run).stopped


def budgets(session: Session, run: tables.Run) -> dict[int, dict[str, int | None]]:
    """Return the budget by trial: `cap` and `left` (None if the run has no cap), `used`, and `halted`, the number of
    reviewed halted items.
    """
    budget = tables.Budget
    statement = select(budget).where(budget.run_id == run.id, budget.scope == "").order_by(col(budget.trial))
    return {
        row.trial: {
            "cap": row.cap,
            "used": row.used,
            "left": None if row.cap is None else row.cap - row.used,
            "halted": row.halted,
        }
        for row in session.exec(statement)
    }


_item, _seeded = tables.Item, tables.SeededItem
IS_SEEDED = select(_seeded.item_id).where(_seeded.item_id == _item.id).correlate(_item).exists()
"""The SQL condition for an item with a known answer: it measures the reviewer, and its action never runs."""
IS_LOGGED = col(_item.reviews_required) == 0
"""The SQL condition for an item that needs no review, because the imported log states the decision on it."""
IS_TAKEN: Any = literal_column("(item.open_slots = 0 OR item.open_slots < item.reviews_required)")
"""The SQL condition for an item that can have a current decision; its index holds these items of a run alone."""


def is_current(decision: Any = tables.Decision) -> ColumnElement[bool]:
    """Return the SQL condition for a current decision; `decision` is the table, an alias or a subquery's `c`."""
    return col(decision.superseded).is_(False)


def current_decisions() -> SelectOfScalar[tables.Decision]:
    """Return a select statement for current decisions; the caller adds filters and order."""
    return select(tables.Decision).where(is_current())
