"""Suggestions for further critical actions in a log. A person must confirm each suggestion.

`console.trajectory.effects` returns the effects of a call. For most tools, the suggested pattern is the tool's name.
For shell, SQL and HTTP tools, the suggestions also include patterns on the arguments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import NamedTuple

from sqlmodel import Session, col, select

from console import runs
from console.environments import ENVIRONMENTS
from console.language import counted
from console.runs.status import count_trajectories
from console.trajectory import from_json
from console.trajectory.calls import Call, read_action
from console.trajectory.checkpoints import find_unapplied_patterns, is_critical, pending_action
from console.trajectory.effects import (
    CHANGING,
    HANDOVER,
    IN_WORDS,
    Effect,
    Kind,
    effects,
    find_kind,
    gravest,
    shell_effects,
)
from console.trajectory.shell_effects import GRAVE_COMMANDS
from console.trajectory.tools import list_words
from storage import tables
from storage.tables import RunKind


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A pattern for actions that may be irreversible, with the number of matches and the reason."""

    pattern: str
    count: int
    why: str


class _Proposal(NamedTuple):
    rank: int
    pattern: str
    why: str


_RANKS = {effect: rank for rank, effect in enumerate(IN_WORDS)}
_BY_HAND, _ENDS, _HANDS_OVER = range(len(IN_WORDS), len(IN_WORDS) + 3)
_SCREEN = frozenset({"click", "dblclick", "type", "press", "tap", "computer", "keypress", "drag", "fill"})
_PRESSING = frozenset({"click", "dblclick", "press", "tap"})
_LABELLING = frozenset({"element", "text", "label", "button", "name", "title", "description", "target"})
_ROLE = re.compile(r"(?:^(?:the|a) | ?(?:button|link|icon|tab|element|checkbox|menu item)$)", re.IGNORECASE)
_SENDING = frozenset({"submit", "agree", "authorize", "authorise"})
_PAGES = frozenset({"file", "page", "webpage", "url", "document", "link", "site", "website", "tab", "browser"})
_PROGRAMS = frozenset({"kubectl", "helm", "docker", "git", "terraform", "systemctl", "npm", "aws", "gcloud", "az"})
_FINAL = frozenset({"rollback", "finalize", "finalise", "revert", "commit", "settle", "publish", "merge"})
_OTHER_AGENT = frozenset({"task", "delegate", "subagent"})
_LONGEST_CLICK = 60
_LONGEST_COMMAND = 20_000
_AT_ONCE = 500
_SHOWN = 3

_COMMANDS = frozenset({"command", "cmd", "commands", "code", "script", "input", "argument", "line", "chars", "query"})
_METHODS = frozenset({"method", "http_method", "verb"})
_RECIPIENT = re.compile(r"(?:^|_)(?:to|recipients?|receiver|payee|iban|cc|bcc)(?:_|$)")


def suggest(actions: Iterable[tuple[str, int]], patterns: Sequence[str] = ()) -> list[Suggestion]:
    """Return patterns for actions that look critical, most serious first; `actions` are action texts with their counts.

    Omit actions that match the run's own `patterns`.
    """
    counts: Counter[str] = Counter()
    reasons: dict[str, _Proposal] = {}
    for action, count in actions:
        found: dict[str, _Proposal] = {}
        for call in [] if is_critical(action, patterns) else read_action(action):
            found |= {one.pattern: one for one in _judged(call)}
        for pattern, one in found.items():
            if is_critical(action, [pattern]):
                counts[pattern] += count
                reasons.setdefault(pattern, one)
    ranked = sorted(counts, key=lambda pattern: (reasons[pattern].rank, -counts[pattern], pattern))
    return [Suggestion(pattern, counts[pattern], reasons[pattern].why) for pattern in ranked]


def _judged(call: Call) -> Iterator[_Proposal]:
    """Yield the proposals for a call; yield nothing for a harmless call."""
    words = [*list_words(call.name)]
    if "transfer" in words and HANDOVER & set(words):
        yield _Proposal(
            _HANDS_OVER, _literal(call.name), f'"{call.name}" hands the conversation over to another person or agent.'
        )
        return
    named = effects(call.name) & CHANGING
    if words[:1] and words[0] in ("click", "press", "tap") and "argument" in call.arguments:
        yield from _pressed(call)
        return
    if _PRESSING & set(words) and (labels := _labels(call)):
        yield from _pressed_labels(call, labels)
        return
    if words[:1] == ["open"] and _PAGES & set(words[1:]):
        return
    if (final := _finality(words)) and not named:
        yield _Proposal(_RANKS[Effect.WRITE], _literal(call.name), f'"{call.name}" {final}.')
        return
    if any(name.lower() in _METHODS for name in call.arguments):
        yield from _by_arguments(call, named)
        return
    if named:
        yield _by_name(call.name, named)
    elif find_kind(call.name, call.arguments) is Kind.ENDING:
        yield _Proposal(_ENDS, _literal(call.name), f'"{call.name}" ends the task with its answer.')
    elif _SCREEN & set(words) and (len(words) == 1 or Effect.READ not in effects(words[0])):
        yield _Proposal(
            _BY_HAND, _literal(call.name), f'"{call.name}" controls a screen, where a click can do anything.'
        )
    elif words[:1] and words[0] in _OTHER_AGENT and len(words) == 1 and "argument" not in call.arguments:
        yield _Proposal(_BY_HAND, _literal(call.name), f'"{call.name}" starts another agent.')
    if not named or Effect.RUN in named:
        yield from _by_arguments(call, named)


def _finality(words: Sequence[str]) -> str:
    """Return the effect of a tool named like an operations command or a final step, otherwise ""."""
    if words[:1] and words[0] in _PROGRAMS and (told := shell_effects(" ".join(words)) & CHANGING):
        return IN_WORDS[gravest(told)]
    if words[:1] and (words[0] in _FINAL or words[:2] == ["roll", "back"]):
        return "makes something final, or undoes it"
    return ""


def _labels(call: Call) -> dict[str, str]:
    """Return the arguments with the visible text of the pressed element."""
    texts = {name: value for name, value in call.arguments.items() if isinstance(value, str) and value.strip()}
    return {name: value for name, value in texts.items() if name.lower() in _LABELLING and len(value) <= _LONGEST_CLICK}


def _pressed_labels(call: Call, labels: Mapping[str, str]) -> Iterator[_Proposal]:
    """Yield a proposal with the text of a button such as "Pay now"; yield nothing for a text without an effect."""
    for name, value in labels.items():
        words = _ROLE.sub("", value).strip(" '\"")
        first = words.split(None, 1)[0] if words else ""
        told = effects(first) & CHANGING or ({Effect.SEND} if first.lower() in _SENDING else frozenset())
        if told:
            effect = gravest(frozenset(told))
            pattern = _literal_within(f"{call.name}.{name}=", words)
            yield _Proposal(_RANKS[effect], pattern, f'"{words}" {IN_WORDS[effect]}.')
            return


def _by_name(name: str, named: frozenset[Effect]) -> _Proposal:
    effect = gravest(named)
    return _Proposal(_RANKS[effect], _literal(name), f'"{name}" {IN_WORDS[effect]}.')


def _pressed(call: Call) -> Iterator[_Proposal]:
    pressed = str(call.arguments.get("argument", ""))
    first = effects(pressed.split(None, 1)[0]) & CHANGING if pressed.strip() else frozenset()
    if first and len(pressed) <= _LONGEST_CLICK:
        effect = gravest(first)
        yield _Proposal(_RANKS[effect], _literal(f"{call.name}[{pressed}]"), f'"{pressed}" {IN_WORDS[effect]}.')


def _by_arguments(call: Call, named: frozenset[Effect]) -> Iterator[_Proposal]:
    """Yield proposals based on the arguments: a command, an SQL statement, an HTTP method, a payment or a message."""
    for name, told in call.arguments.items():
        value = _joined(told)
        if value is None or len(value) > _LONGEST_COMMAND:
            continue
        place = f"{call.name}.{name}="
        if name.lower() in _METHODS and effects("", {"method": value}) & CHANGING:
            effect = gravest(effects("", {"method": value}) & CHANGING)
            yield _Proposal(_RANKS[effect], _literal(f"{place}{value}"), f'"{value}" {IN_WORDS[effect]}.')
        elif name.lower() in _COMMANDS and (named or effects(call.name, {name: value}) & CHANGING):
            yield from _in_command(place, value, is_list=value is not told)
    if not named:
        yield from _to_somebody(call)


def _joined(value: object) -> str | None:
    """Return a command from a text or a list of words, or None; a list that calls a shell yields only its script."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(word, str) for word in value):
        return None
    return str(value[-1]) if len(value) > 2 and value[1] in ("-c", "-lc", "/c") else " ".join(value)


def _in_command(place: str, command: str, *, is_list: bool = False) -> Iterator[_Proposal]:
    """Yield proposals for the effects of a command; if `is_list`, the patterns allow any text between two words."""
    grave = [one for one in GRAVE_COMMANDS if one.pattern.search(command)]
    for one in grave:
        pattern = _literal_within(place, one.typed)
        if is_list:
            pattern = f"{_literal(place)}*{'*'.join(map(_literal, one.typed.split()))}*"
        yield _Proposal(0, pattern, f'"{one.typed.strip()}" {one.why}.')
    if grave:
        return
    for part in re.split(r"\|\||&&|[;\n|]", command):
        told = shell_effects(part) & CHANGING
        words = part.split()
        if told and words and words[0].isidentifier():
            effect = gravest(told)
            typed = words[0] if is_list else f"{words[0]} "
            yield _Proposal(_RANKS[effect], _literal_within(place, typed), f'"{words[0]}" {IN_WORDS[effect]}.')


def _to_somebody(call: Call) -> Iterator[_Proposal]:
    """Yield a proposal for a call that pays or sends a message, based on the argument with the recipient."""
    told = effects(call.name, call.arguments) & {Effect.PAY, Effect.SEND}
    to = next((name for name in call.arguments if _RECIPIENT.search(name.lower())), None)
    if told and to is not None:
        effect = gravest(told)
        yield _Proposal(
            _RANKS[effect],
            _literal_within(f"{call.name}.{to}=", ""),
            f'"{to}" names the recipient: {IN_WORDS[effect]}.',
        )


def _literal_within(place: str, text: str) -> str:
    return f"{_literal(place)}*{_literal(text)}*" if text else f"{_literal(place)}*"


def _literal(text: str) -> str:
    return text.replace("*", "?")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The actions that look critical but match no pattern, from `seen` of a run's `total` trajectories.

    `critical` is the number of critical actions in these trajectories. For each pattern of the run, `unapplied` is the
    number of calls that the pattern cannot match, because their arguments cannot be parsed.
    """

    found: list[Suggestion]
    seen: int
    total: int
    critical: int = 0
    unapplied: Mapping[str, int] = field(default_factory=dict)

    @property
    def share(self) -> str:
        """A sentence with the share of the log that the suggestions cover."""
        if self.seen == self.total == 1:
            return "The only trajectory was read."
        if self.seen == self.total:
            return f"All {self.total:,} trajectories were read."
        return f"{self.seen:,} of {self.total:,} trajectories were read: a sample drawn by content digest."


def explain_unapplied(unapplied: Mapping[str, int]) -> str:
    """Return a sentence with the patterns that cannot match some calls and the advice for the user, or "" if every
    pattern can match.
    """
    if not unapplied:
        return ""
    listed = ", ".join(f"{pattern} to {counted(count, 'call')}" for pattern, count in unapplied.items())
    return (
        f"Could not apply {listed}: the arguments cannot be read. Add a pattern for the tool's name to review these "
        "calls."
    )


def candidates(session: Session, run: tables.Run, limit: int = 2_000) -> Candidates:
    """Return further actions that look critical, from at most `limit` trajectories; a person must confirm them."""
    body, record = tables.TrajectoryBody, tables.Trajectory
    total = count_trajectories(session, run).total()
    by_digest = select(record.id).where(record.run_id == run.id).order_by(col(record.digest))
    chosen = session.exec(by_digest.limit(limit)).all()
    counts: Counter[str] = Counter()
    held = 0
    for start in range(0, len(chosen), _AT_ONCE):
        statement = select(body.body).where(col(body.trajectory_id).in_(chosen[start : start + _AT_ONCE]))
        for text in session.exec(statement):
            trajectory = from_json(text)
            counts.update(step.action for step in trajectory.steps)
            held += pending_action(trajectory) is not None
    known = runs.patterns(run)
    critical, unapplied = held, Counter[str]()
    for action, count in counts.items():
        if is_critical(action, known):
            critical += count
        else:
            unapplied.update(dict.fromkeys(find_unapplied_patterns(action, known), count))
    return Candidates(suggest(counts.items(), known), len(chosen), total, critical, unapplied)


def dead_end(session: Session, run: tables.Run) -> tuple[str, list[str]] | None:
    """Return (sentence, suggested patterns) if no action of the run can be reviewed, else None.

    Return None for a run with end checkpoints, because its trajectories always have items, and for a gate, because its
    policy selects the actions.
    """
    ends = run.ends or any(ENVIRONMENTS[name].ends for name in run.environment.split(","))
    looked = Candidates([], 0, 0) if ends or run.kind == RunKind.GATE else candidates(session, run)
    if not looked.seen or looked.critical:
        return None
    part = "" if looked.seen == looked.total else f" ({looked.share.removesuffix('.')})"
    first = f"No action of {run.name} counts as critical{part}"
    shown = looked.found[:_SHOWN]
    if not shown:
        return (
            f"{first}, and none looks critical. Add a pattern: inferact run critical {quote(run.name)} --add PATTERN",
            [],
        )
    listed = ", ".join(f"{one.pattern} ({counted(one.count, 'time')})" for one in shown)
    these = "this one looks critical" if len(shown) == 1 else f"these {len(shown)} look critical"
    return f"{first}; {these}: {listed}.", [one.pattern for one in shown]
