"""Rules and policies: the first rule that matches a call decides; for several calls, the strictest ruling counts.

The ruling is `ask` if it is undecidable whether a rule matches, as with a missing argument or an action that is not a
call. Later rules are then not tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import cache, partial
from zoneinfo import ZoneInfo

from console.auth.audit_log import Door
from console.gate.policy.expression import (
    NO_HINTS,
    NO_RESULTS,
    EarlierResults,
    ToolHints,
    holds,
    is_like,
    list_suffixes,
    names_suffix,
    names_tool,
    result_tools,
)
from console.review.access import OTHERS
from console.trajectory.call_values import MAX_ARGUMENTS
from console.trajectory.calls import ActionPart, Call, argument_text, name_suffixes, read_strictly
from console.trajectory.checkpoints import is_critical


class Then(StrEnum):
    """The outcome of a rule, by increasing strictness: run at once, let a detector judge, ask a person, never run."""

    ALLOW = "allow"
    JUDGE = "judge"
    ASK = "ask"
    DENY = "deny"


class PolicyMode(StrEnum):
    """The mode of a policy: its rulings are enforced or only recorded."""

    ENFORCE = "enforce"
    SHADOW = "shadow"


DEFAULT = "default"
"""The rule name of a ruling if no rule matches."""
STRICTNESS = tuple(Then)
LOOSENING = (Then.ALLOW, Then.JUDGE)
"""Outcomes that can be looser than the default; a rule with such an outcome must name the tool itself."""
UNSTATED_DOORS = (str(Door.BROWSER), str(Door.PYTHON))
"""The entry points for decisions if a rule names none. The command line is excluded, since it needs no session."""
DEADLINE_S = 1_800
"""The time that a person has to decide, in seconds, if neither the rule nor the agent sets one."""
UNDO_S = 5.0
"""The time to undo a decision, in seconds, unless the policy or the run sets another time."""
MAX_DEADLINE_S = 7 * 86_400
"""The longest deadline that a rule or an agent can set, in seconds."""
MAX_PARTS = 1_000
"""The most calls or lines of an action that are ruled on; with more, a person is asked."""
_LARGEST = 1e15
"""The largest amount that can be added without rounding."""
UTC_NAME = "UTC"
_Whole = Callable[[tuple[str, ...]], bool]
"""A function that returns whether patterns match the whole action."""


@dataclass(frozen=True, slots=True)
class Widen:
    """Further people (`to`, as in `who`) who may decide from `after_s` seconds after the check."""

    after_s: float
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a rule on actions that run without a person in a window: a count, or the sum of an argument.

    `by` is `task`, `agent` or `run`, each with its own counter; `argument` is empty for a count.
    """

    most: float
    window_s: int
    by: str = "run"
    argument: str = ""


@dataclass(frozen=True, slots=True)
class LimitedAmount:
    """The amount of a rule's limit that an action uses."""

    rule: str
    limit: Limit
    amount: float


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: conditions that must all hold (an empty condition holds), the outcome, and the terms of a decision.

    `tool`, `agent`, `environment` and `pattern` hold globs; at least one glob of each must match. `deadline_s` is in
    seconds. `doors` are the entry points at which decisions are accepted.
    """

    name: str
    then: Then
    tool: tuple[str, ...] = ()
    pattern: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    when: str = ""
    because: str = ""
    reviews: int = 1
    decisions: tuple[str, ...] = ()
    deadline_s: float | None = None
    who: tuple[str, ...] = ()
    doors: tuple[str, ...] = ()
    undo_s: float | None = None
    widen: Widen | None = None
    limit: Limit | None = None

    @property
    def is_unconditional(self) -> bool:
        """True if the rule matches every check."""
        return not (self.tool or self.pattern or self.agent or self.environment or self.when)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order, and the outcome of a check without a matching rule.

    `rollout` is the share of tasks, in (0, 1], that use this version; the other tasks use the previous version, or the
    common policy.
    """

    rules: tuple[Rule, ...] = ()
    default: Then = Then.ASK
    mode: PolicyMode = PolicyMode.ENFORCE
    rollout: float = 1.0
    undo_s: float | None = None
    timezone: str = UTC_NAME
    hints_from: tuple[str, ...] = ()
    """The agents, such as an MCP gateway, whose hints about tools count; hints of other agents are ignored."""


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """The facts that rules can use: the action as text, the agent, the environment, the task and the time.

    `at_ms` is in ms since 1970, or None if unknown; `timezone` is the policy's time zone. `hints` are the agent's hints
    about the tool. `results` are the earlier results in the task.
    """

    action: str
    agent: str = ""
    environment: str = ""
    task: str = ""
    at_ms: int | None = None
    timezone: str = UTC_NAME
    hints: ToolHints = NO_HINTS
    results: EarlierResults = NO_RESULTS


@dataclass(frozen=True, slots=True)
class Ruling:
    """A policy's ruling on a check: the outcome, the rule, the tool, and the terms of a person's decision."""

    then: Then
    rule: str
    tool: str = ""
    because: str = ""
    reviews: int = 1
    decisions: tuple[str, ...] = ()
    deadline_s: float | None = None
    who: tuple[str, ...] | None = None
    """Names and roles of the people who may decide; None for everyone, empty for no one."""
    doors: tuple[str, ...] = UNSTATED_DOORS
    """The entry points at which these people may decide; empty for none."""
    undo_s: float | None = None
    """The time to undo a decision, in seconds; None for the run's setting."""
    widen: Widen | None = None
    uses: tuple[LimitedAmount, ...] = ()

    @property
    def stays(self) -> bool:
        """True if a check stays open until its deadline after its agent leaves, because a rule sets the deadline."""
        return self.deadline_s is not None


def ruling(policy: Policy, facts: CheckFacts, further: Sequence[str] = ()) -> Ruling:
    """Return the policy's ruling; with `further` patterns, `allow` becomes `judge` for a match or a too long action."""
    facts = replace(facts, timezone=policy.timezone) if facts.timezone != policy.timezone else facts
    if facts.hints is not NO_HINTS and facts.agent not in policy.hints_from:
        facts = replace(facts, hints=NO_HINTS)
    # Computed once for all parts; otherwise an action would be read once per line.
    whole = cache(partial(is_critical, facts.action))
    parts = read_strictly(facts.action)
    ruled = [_rule_part(policy, facts, part, whole) for part in parts[:MAX_PARTS]]
    found = strictest(ruled + [Ruling(Then.ASK, DEFAULT, undo_s=policy.undo_s)] * (len(parts) > MAX_PARTS))
    is_long = len(facts.action) > MAX_ARGUMENTS
    if found.then is Then.ALLOW and further and (is_long or is_critical(facts.action, further)):
        return replace(found, then=Then.JUDGE)
    return found


def strictest(found: Sequence[Ruling]) -> Ruling:
    """Return the strictest ruling, with the terms that all rulings allow."""
    first = max(found, key=lambda one: STRICTNESS.index(one.then))
    if len(found) > 1 and (uses := tuple(use for one in found for use in one.uses)):
        first = replace(first, uses=uses)
    asking = [one for one in found if one.then in (Then.JUDGE, Then.ASK)]
    if len(asking) < 2 or first.then is Then.DENY:
        return first
    return replace(
        first,
        reviews=max(one.reviews for one in asking),
        decisions=_decisions(asking),
        deadline_s=min((one.deadline_s for one in asking if one.deadline_s is not None), default=None),
        who=_common_people(one.who for one in asking),
        doors=_common(one.doors for one in asking) or (),
        undo_s=max(UNDO_S if one.undo_s is None else one.undo_s for one in asking)
        if any(one.undo_s is not None for one in asking)
        else None,
        widen=_latest_widening(asking),
    )


def _common_people(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Return the people who are in every list; keep `others` (all people but the asker) if any list has `others`."""
    stated = [each for each in lists if each is not None]
    named = _common(tuple(one for one in each if one != OTHERS) for each in stated if {*each} != {OTHERS})
    left_out = (OTHERS,) if any(OTHERS in each for each in stated) else ()
    if named is None:
        return left_out or None
    return (*named, *left_out) if named else ()


def _latest_widening(asking: Sequence[Ruling]) -> Widen | None:
    """Return the common widening of all rulings with `who`, at the latest of their times, or None."""
    found = [one.widen for one in asking if one.who is not None]
    widened = [each for each in found if each is not None]
    if not widened or len(widened) < len(found):
        return None
    to = _common(each.to for each in widened)
    return Widen(max(each.after_s for each in widened), to) if to else None


def _decisions(asking: Sequence[Ruling]) -> tuple[str, ...]:
    """Return the decisions that all rulings offer, or only `reject` if they have none in common."""
    offered = _common(one.decisions or None for one in asking)
    return () if offered is None else offered or ("reject",)


def _common(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    stated = [each for each in lists if each is not None]
    return tuple(one for one in stated[0] if all(one in each for each in stated)) if stated else None


def _rule_part(policy: Policy, facts: CheckFacts, part: ActionPart, whole: _Whole) -> Ruling:
    """Rule on one part by the first match; an earlier `judge` rule for a suffix of the name can tighten the ruling.

    `allow` and `judge` loosen the default, so they must name the tool itself; `judge` also tightens a later `allow`. A
    rule that matches only by unrecorded or missing results can only tighten.
    """
    tool = name_suffixes(part.call.name)[-1] if part.call else ""
    tightened: list[Ruling] = []
    for rule in policy.rules:
        matches = _matches(rule, facts, part, whole, loosens=rule.then in LOOSENING)
        if matches is not False:
            found = _ruling_of(policy, rule if matches else replace(rule, then=Then.ASK), tool, part)
            return strictest([found, *tightened])
        if rule.then is Then.JUDGE or (rule.then is not Then.ALLOW and result_tools(rule.when)):
            tight = _matches(rule, facts, part, whole, loosens=False, firmly=False)
            if tight is not False:
                then = rule.then if tight or rule.then is Then.DENY else Then.ASK
                tightened.append(_ruling_of(policy, replace(rule, then=then), tool, part))
    return strictest([Ruling(policy.default, DEFAULT, tool, undo_s=policy.undo_s), *tightened])


def _ruling_of(policy: Policy, rule: Rule, tool: str, part: ActionPart) -> Ruling:
    terms = (rule.reviews, rule.decisions, rule.deadline_s, rule.who or None, rule.doors or UNSTATED_DOORS)
    undo_s = policy.undo_s if rule.undo_s is None else rule.undo_s
    found = Ruling(rule.then, rule.name, tool, rule.because, *terms, undo_s=undo_s, widen=rule.widen)
    if rule.limit is None:
        return found
    amount = _amount(rule.limit, part)
    if amount is None:
        return replace(found, then=Then.ASK)
    return replace(found, uses=(LimitedAmount(rule.name, rule.limit, amount),))


def _amount(limit: Limit, part: ActionPart) -> float | None:
    """Return the amount that one call uses of the limit; None if the argument is not a valid number."""
    if not limit.argument:
        return 1.0
    value = part.call.arguments.get(limit.argument) if part.call else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _LARGEST:
        return None
    return float(value)


def _matches(
    rule: Rule, facts: CheckFacts, part: ActionPart, whole: _Whole, *, loosens: bool, firmly: bool = True
) -> bool | None:
    """Return whether all conditions of the rule hold, or None if this is undecidable; `firmly` is as in `_holds`."""
    if rule.agent and not is_like((facts.agent,), rule.agent):
        return False
    if rule.environment and not is_like((facts.environment,), rule.environment):
        return False
    if rule.pattern and not (_loosens(rule, part) if loosens else _tightens(rule, part, whole)):
        return False
    if rule.pattern and loosens and part.call is None and {*"([{"} & {*part.text}:
        return None
    if rule.tool and part.call is None:
        return None
    if rule.tool and part.call:
        named = names_tool if loosens else names_suffix
        if not any(named(part.call.name, glob) for glob in rule.tool):
            return False
    return _holds(rule.when, facts, part, firmly=firmly) if rule.when else True


def _holds(condition: str, facts: CheckFacts, part: ActionPart, *, firmly: bool) -> bool | None:
    """Return whether the condition holds, or None if this is undecidable.

    If `firmly`, a condition with `results` must hold for the latest recorded results. Otherwise the condition may also
    hold for results that the agent stated, and is None if the recorded results do not decide it.
    """
    tools, variables = result_tools(condition), _variables(facts, part)
    if not tools:
        return holds(condition, variables)
    recorded = holds(condition, variables, facts.results.latest(tools))
    if firmly or recorded is not False:
        return recorded is True if firmly else recorded
    choices = facts.results.choices(tools)
    return None if choices is None else any(holds(condition, variables, one) for one in choices)


def _tightens(rule: Rule, part: ActionPart, whole: _Whole) -> bool:
    """Return whether a pattern matches the part, the whole action, or a suffix of the tool's name."""
    names = list_suffixes(part.call.name) if part.call else ()
    # Elsewhere a thought is never critical, but here the text behind it may run.
    return (
        is_critical(part.text, rule.pattern)
        or whole(rule.pattern)
        or is_like((part.text.strip(), *names), rule.pattern)
    )


def _loosens(rule: Rule, part: ActionPart) -> bool:
    """Return whether a pattern matches the part and, if the part is a call, names the tool itself."""
    call = part.call
    if call is None or not is_critical(part.text, rule.pattern):
        return call is None and is_critical(part.text, rule.pattern)
    return any(is_critical(part.text, (each,)) and _pattern_names_tool(call, each.strip()) for each in rule.pattern)


def _pattern_names_tool(call: Call, pattern: str) -> bool:
    """Return whether a pattern names the tool: `name`, `name.argument=value`, or as in `click[Buy *]`."""
    sign = re.search(r"[=(\[]", pattern)
    if sign is None:
        return names_tool(call.name, pattern)
    head, rest = pattern[: sign.start()], pattern[sign.start() :]
    if sign[0] != "=":
        return names_tool(call.name, head.strip()) and is_like((call.text.strip()[len(call.name) :].strip(),), (rest,))
    tool, _, argument = head.rpartition(".")
    texts = (argument_text(value) for name, value in call.arguments.items() if is_like((name,), (argument,)))
    return names_tool(call.name, tool) and is_like(texts, (rest[1:],))


def _variables(facts: CheckFacts, part: ActionPart) -> dict[str, object]:
    """Return the variables of a condition; if the part is not a call, `args` and `tool` are missing."""
    found: dict[str, object] = {"agent": facts.agent, "environment": facts.environment, "task": facts.task}
    found["hints"] = {"read_only": facts.hints.read_only, "destructive": facts.hints.destructive}
    if part.call is not None:
        found |= {"args": dict(part.call.arguments), "tool": name_suffixes(part.call.name)[-1]}
    return found | _clock(facts)


def _clock(facts: CheckFacts) -> dict[str, object]:
    """Return hour (0 to 23), weekday (1 is Monday) and date (2026-12-31) of the check; empty if its time is unknown."""
    if facts.at_ms is None:
        return {}
    now = datetime.fromtimestamp(facts.at_ms / 1_000, ZoneInfo(facts.timezone))
    return {"hour": now.hour, "weekday": now.isoweekday(), "date": now.date().isoformat()}
