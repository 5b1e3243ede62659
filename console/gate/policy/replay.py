"""Replay of recorded actions under a policy, with the numbers that it allows, judges, asks about or denies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlmodel import Session, col, select

from console.detection.detectors import Detector, detector
from console.detection.routing import OWN_DETECTOR, routing_name
from console.detection.verdicts import judge_as_row
from console.gate.policy.expression import EarlierResult, EarlierResults
from console.gate.policy.rules import CheckFacts, Policy, Ruling, Then, ruling
from console.gate.unchecked_values import explain_unchecked_value
from console.runs import patterns
from console.trajectory import Label, Outcome, Trajectory, from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at, digest, is_critical
from console.trajectory.strict_yaml import read_yaml
from storage import tables
from storage.tables import RunKind

EXAMPLES = 10
_CASES_HINT = "write `cases:` and a list of `action` and `then`"


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """Counts of checks under a policy by outcome, rule and tool; `asked_today` is the present number asked about."""

    checks: int
    asked_today: int
    allowed: int
    judged: int
    asked: int
    denied: int
    by_rule: dict[str, int] = field(default_factory=dict)
    by_tool: list[dict[str, Any]] = field(default_factory=list)
    detectors: list[str] = field(default_factory=list)
    """The detectors that judged: the run's, if it needs no model, and `rules`."""
    flagged: int = 0
    """The number of judged actions that a detector flags, so that a person is asked."""
    unchecked: int = 0
    """The number of other judged actions that need a person, because a value could not be checked."""
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    """The numbers of actions in trials with a known outcome, and in failed trials, of each kind."""
    examples: list[dict[str, Any]] = field(default_factory=list)
    """The first actions of each rule, with rule, outcome and whether the detectors flag them."""

    @property
    def sentence(self) -> str:
        """The counts as one sentence."""
        return (
            f"would have asked about {self.asked} of {self.checks} (today {self.asked_today}), denied {self.denied}, "
            f"let a detector judge {self.judged}, allowed {self.allowed}"
        )

    @property
    def further_sentences(self) -> list[str]:
        """Sentences about the detectors' flags and about the known outcomes of the trials."""
        found = []
        if self.judged:
            who, left = " and ".join(self.detectors), self.judged - self.flagged - self.unchecked
            found.append(
                f"Of {self.judged} judged, {who} would flag {self.flagged}. The gate would ask about {self.unchecked} "
                f"more, because something could not be checked. {left} would run at once."
            )
        words = {"asked": "asked about", "allowed": "run at once", "denied": "denied"}
        ended = [
            f"of {count['known']} {words[kind]}, {count['wrong']} in a failed trial"
            for kind, count in self.outcomes.items()
            if count["known"]
        ]
        return found + ([f"Actions of trials with a known outcome: {'; '.join(ended)}."] if ended else [])


def replay_policy(session: Session, run: tables.Run, policy: Policy, examples: int = EXAMPLES) -> PolicyTest:
    """Apply the policy to every recorded action of the run, executed or pending; detectors judge without a model.

    Skip checks that were only counted. `asked_today` counts the actions that match the run's critical patterns; in a
    gate's run, it counts the actions with an item.
    """
    critical, judges = patterns(run), _judges(run)
    word: Counter[Then] = Counter()
    by_tool: dict[str, Counter[Then]] = {}
    samples: list[_Sample] = []
    today = 0
    recorded = _recorded_results(session, run)
    for action, record, step, agent, record_id in _actions(session, run):
        results = _results_before(record, step, None if recorded is None else recorded.get(record_id, {}))
        environment = run.environment or record.environment
        found = ruling(policy, CheckFacts(action, agent, environment, record.instruction, results=results))
        seen = checkpoint_at(record, step, CheckpointKind.ACTION) if found.then is Then.JUDGE else None
        concern = _find_concern(run, judges, seen) if seen else None
        samples.append(_Sample(action, found, _ended_wrong(record), concern))
        word[found.then] += 1
        by_tool.setdefault(found.tool or "no tool", Counter())[found.then] += 1
        today += is_critical(action, critical)
    if run.kind == RunKind.GATE:
        asked = select(tables.Ask.id).where(tables.Ask.run_id == run.id, col(tables.Ask.item_id).is_not(None))
        today = len(session.exec(asked).all())
    tools = [{"tool": tool, **{str(then): counts[then] for then in Then}} for tool, counts in sorted(by_tool.items())]
    return PolicyTest(
        checks=word.total(),
        asked_today=today,
        allowed=word[Then.ALLOW],
        judged=word[Then.JUDGE],
        asked=word[Then.ASK],
        denied=word[Then.DENY],
        by_rule=dict(Counter(one.found.rule for one in samples)),
        by_tool=tools,
        detectors=[judge.name for judge in judges],
        flagged=sum(one.concern is _Concern.FLAGGED for one in samples),
        unchecked=sum(one.concern is _Concern.UNCHECKED for one in samples),
        outcomes=_outcomes(samples),
        examples=_examples(samples, examples),
    )


class _Concern(StrEnum):
    """The reason for which a gate asks a person about a judged action."""

    FLAGGED = "flagged"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class _Sample:
    action: str
    found: Ruling
    wrong: bool | None
    """True if the trial failed or was misaligned; None if the outcome is unknown."""
    concern: _Concern | None

    @property
    def kind(self) -> str:
        if self.found.then is Then.DENY:
            return "denied"
        return "asked" if self.found.then is Then.ASK or self.concern else "allowed"


def _judges(run: tables.Run) -> list[Detector]:
    named = (detector(name) for name in dict.fromkeys((routing_name(run), OWN_DETECTOR)))
    return [judge for judge in named if judge.judge is not None]


def _find_concern(run: tables.Run, judges: Sequence[Detector], seen: Checkpoint) -> _Concern | None:
    try:
        rows = [judge_as_row(run, judge, _threshold(run, judge), 0, seen, 0) for judge in judges]
    except Exception:
        # In a gate, a failing detector asks too.
        return _Concern.FLAGGED
    if any(row["flagged"] for row in rows):
        return _Concern.FLAGGED
    return _Concern.UNCHECKED if explain_unchecked_value(seen, rows) else None


def _threshold(run: tables.Run, judge: Detector) -> float:
    of_run = run.threshold if judge.name == routing_name(run) else None
    if of_run is None:
        return judge.threshold
    return min(of_run, judge.threshold) if judge.name == OWN_DETECTOR else of_run


def _ended_wrong(record: Trajectory) -> bool | None:
    if record.label is not None:
        return record.label is Label.MISALIGNED
    return {Outcome.SUCCEEDED: False, Outcome.FAILED: True}.get(record.outcome)


def _outcomes(samples: Sequence[_Sample]) -> dict[str, dict[str, int]]:
    known = Counter(one.kind for one in samples if one.wrong is not None)
    wrong = Counter(one.kind for one in samples if one.wrong)
    return {kind: {"known": known[kind], "wrong": wrong[kind]} for kind in ("asked", "allowed", "denied")}


def _examples(samples: Sequence[_Sample], most: int) -> list[dict[str, Any]]:
    """Return up to `most` samples, grouped by rule: the first of each rule, then the second of each, and so on."""
    places: Counter[str] = Counter()
    ranked = []
    for one in samples:
        ranked.append((places[one.found.rule], one))
        places[one.found.rule] += 1
    rules = list(places)
    chosen = sorted(ranked, key=lambda each: each[0])[:most]
    return [
        {
            "rule": one.found.rule,
            "then": str(one.found.then),
            "flagged": one.concern is _Concern.FLAGGED if one.found.then is Then.JUDGE else None,
            "unchecked": one.concern is _Concern.UNCHECKED if one.found.then is Then.JUDGE else None,
            "wrong": one.wrong,
            "action": one.action,
        }
        for _, one in sorted(chosen, key=lambda each: rules.index(each[1].found.rule))
    ]


def _recorded_results(session: Session, run: tables.Run) -> dict[int, dict[int, str]] | None:
    """Return the digests of a gate run's recorded results by trajectory and step, or None for an imported log.

    In a log, every result counts as recorded.
    """
    if run.kind != RunKind.GATE:
        return None
    intent, record, found = tables.Intent, tables.Trajectory, dict[int, dict[int, str]]()
    statement = select(intent.trajectory_id, intent.step, intent.result_digest).join(
        record, col(record.id) == intent.trajectory_id
    )
    for record_id, step, result_digest in session.exec(statement.where(record.run_id == run.id)):
        found.setdefault(record_id, {})[step] = result_digest or ""
    return found


def _results_before(record: Trajectory, step: int, recorded: Mapping[int, str] | None) -> EarlierResults:
    before = [EarlierResult(each.action, each.observation) for each in record.steps[:step]]
    if recorded is not None:
        known = (one for place, one in enumerate(before) if recorded.get(place) == digest(one.text))
        return EarlierResults(tuple(known), tuple(before))
    return EarlierResults(tuple(before))


def _actions(session: Session, run: tables.Run) -> Iterator[tuple[str, Trajectory, int, str, int]]:
    """Yield every action with its trajectory, its step, the agent that submitted it and the trajectory's row id.

    A pending action is yielded once.
    """
    body, record, ask = tables.TrajectoryBody, tables.Trajectory, tables.Ask
    asked = select(ask.trajectory_id, ask.asker).where(ask.run_id == run.id)
    askers = {trajectory: asker for trajectory, asker in session.exec(asked) if asker}
    statement = select(record.id, body.body).join(record, col(record.id) == body.trajectory_id)
    for record_id, text in session.exec(statement.where(record.run_id == run.id).order_by(col(record.id))):
        trajectory, agent = from_json(text), askers.get(record_id or 0, run.actor or "")
        taken = {place: step.action for place, step in enumerate(trajectory.steps) if step.action.strip()}
        for place, action in taken.items():
            yield action, trajectory, place, agent, record_id or 0
        # A gate's trajectory names only a pending action; one from a log may name one of its steps.
        pending = trajectory.critical_action
        if pending and (run.kind == RunKind.GATE or pending not in taken.values()):
            yield pending, trajectory, len(trajectory.steps), agent, record_id or 0


class _Case(BaseModel):
    """A case as written in YAML: an action with its facts, the expected outcome and, if given, the expected rule.

    `results` holds the latest recorded result of each tool, as text.
    """

    model_config = ConfigDict(extra="forbid")

    action: str
    then: Then
    rule: str = ""
    results: dict[str, str] = Field(default_factory=dict)
    task: str = ""
    agent: str = ""
    environment: str = ""


class _Cases(BaseModel):
    """A file of cases."""

    model_config = ConfigDict(extra="forbid")

    cases: list[_Case] = Field(min_length=1)


def run_cases(policy: Policy, text: str, where: str) -> list[dict[str, Any]]:
    """Return a row per case of the YAML text: the expected outcome, the ruling, and whether the two agree.

    Raise BadInput with the line if the text is not a valid list of cases.
    """
    rows = []
    for number, case in enumerate(read_yaml(text, _Cases, where, hint=_CASES_HINT, aliases=False).cases, 1):
        known = EarlierResults(tuple(EarlierResult(f"{tool}({{}})", text) for tool, text in case.results.items()))
        found = ruling(policy, CheckFacts(case.action, case.agent, case.environment, case.task, results=known))
        agrees = found.then is case.then and case.rule in ("", found.rule)
        expected = {"expected": str(case.then), "expected_rule": case.rule or None}
        ruled = {"then": str(found.then), "rule": found.rule, "agrees": agrees}
        rows.append({"case": number, "action": case.action} | expected | ruled)
    return rows
