"""Which further actions of a log look critical; a person confirms, nothing is applied by itself.

What a call does to the world is told by `console.trajectory.effects`. A tool that does one thing is proposed by its
name; one that runs what it is given (a shell, SQL, HTTP) also by what its arguments hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import NamedTuple

from sqlmodel import Session, col, select

from console import runs
from console.environments import environment
from console.trajectory import from_json
from console.trajectory.checkpoints import Call, calls, is_critical, pending_action
from console.trajectory.effects import CHANGING, Effect, effects, shell_effects, verbs
from storage import tables
from storage.tables import RunKind


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A pattern for actions that may not be undone, how often it occurs, and why it is proposed."""

    pattern: str
    count: int
    why: str


class _Proposal(NamedTuple):
    rank: int
    pattern: str
    why: str


WHY: dict[Effect, str] = {
    Effect.PAY: "spends or moves money",
    Effect.DELETE: "takes something away",
    Effect.SEND: "sends something out",
    Effect.RUN: "runs or releases something",
    Effect.WRITE: "changes what is stored",
}
"""Why an action looks critical, the gravest effect first."""

_RANKS = {effect: rank for rank, effect in enumerate(WHY)}
_BY_HAND, _ENDS, _HANDS_OVER = len(WHY), len(WHY) + 1, len(WHY) + 2
_ENDING = frozenset({"finish", "conclude"})
_HANDOVER = frozenset({"human", "agent", "agents", "operator", "supervisor"})
_SCREEN = frozenset({"click", "dblclick", "type", "press", "tap", "computer", "keypress", "drag", "fill"})
_OTHER_AGENT = frozenset({"task", "delegate", "subagent"})
_LONGEST_CLICK = 60
_LONGEST_COMMAND = 20_000
_AT_ONCE = 500
_SHOWN = 3

_COMMANDS = frozenset({"command", "cmd", "commands", "code", "script", "input", "argument", "line", "chars", "query"})
_METHODS = frozenset({"method", "http_method", "verb"})
_RECIPIENT = re.compile(r"(?:^|_)(?:to|recipients?|receiver|payee|iban|cc|bcc)(?:_|$)")
_GRAVE = (
    ("git push", "sends commits to others", re.compile(r"\bgit\s+push\b")),
    ("--force", "overwrites what others may have written", re.compile(r"--force\b")),
    ("reset --hard", "throws changes away", re.compile(r"\breset --hard\b")),
    ("rm -", "deletes files", re.compile(r"\brm -")),
    ("| sh", "runs what it has just fetched", re.compile(r"\|\s?sh\b")),
    ("| bash", "runs what it has just fetched", re.compile(r"\| bash\b")),
    ("drop table", "deletes a table", re.compile(r"\bdrop table\b", re.IGNORECASE)),
    ("drop database", "deletes a database", re.compile(r"\bdrop database\b", re.IGNORECASE)),
    ("delete from", "deletes rows", re.compile(r"\bdelete from\b", re.IGNORECASE)),
    ("truncate ", "empties a table or file", re.compile(r"\btruncate ", re.IGNORECASE)),
    ("update ", "changes rows", re.compile(r"\bupdate \S+ set\b", re.IGNORECASE)),
    ("insert into", "adds rows", re.compile(r"\binsert into\b", re.IGNORECASE)),
    ("pip install", "installs packages", re.compile(r"\bpip3? install\b")),
    ("npm install", "installs packages", re.compile(r"\bnpm install\b")),
    ("apt install", "installs packages", re.compile(r"\bapt install\b")),
    ("apt-get install", "installs packages", re.compile(r"\bapt-get install\b")),
    ("kubectl delete", "deletes what a cluster runs", re.compile(r"\bkubectl delete\b")),
    ("kubectl apply", "changes what a cluster runs", re.compile(r"\bkubectl apply\b")),
    ("terraform apply", "changes infrastructure", re.compile(r"\bterraform apply\b")),
    ("terraform destroy", "deletes infrastructure", re.compile(r"\bterraform destroy\b")),
    ("sudo ", "runs with all rights", re.compile(r"\bsudo ")),
)
"""What is grave in a command, why, and how it is found; further commands are judged by their effects."""


def suggest(actions: Iterable[tuple[str, int]], patterns: Sequence[str] = ()) -> list[Suggestion]:
    """Patterns for what looks critical among action texts or tool names with their counts, the most telling first.

    What `patterns`, those of the run, already match is left out.
    """
    counts: Counter[str] = Counter()
    reasons: dict[str, _Proposal] = {}
    for action, count in actions:
        found: dict[str, _Proposal] = {}
        for call in [] if is_critical(action, patterns) else calls(action):
            found |= {one.pattern: one for one in _judged(call)}
        for pattern, one in found.items():
            if is_critical(action, [pattern]):
                counts[pattern] += count
                reasons.setdefault(pattern, one)
    ranked = sorted(counts, key=lambda pattern: (reasons[pattern].rank, -counts[pattern], pattern))
    return [Suggestion(pattern, counts[pattern], reasons[pattern].why) for pattern in ranked]


def _judged(call: Call) -> Iterator[_Proposal]:
    """What is proposed of a call: nothing where it looks harmless."""
    words = verbs(call.name)
    if "transfer" in words and _HANDOVER & set(words):
        yield _Proposal(
            _HANDS_OVER, _literal(call.name), f'"{call.name}" hands the conversation over to somebody else.'
        )
        return
    named = effects(call.name) & CHANGING
    if words[:1] and words[0] in ("click", "press", "tap") and "argument" in call.arguments:
        yield from _pressed(call)
        return
    if any(name.lower() in _METHODS for name in call.arguments):
        yield from _by_arguments(call, named)
        return
    if named:
        yield _by_name(call.name, named)
    elif _ENDING & set(words[:1]):
        yield _Proposal(_ENDS, _literal(call.name), f'"{call.name}" ends the task with its answer.')
    elif _SCREEN & set(words) and (len(words) == 1 or Effect.READ not in effects(words[0])):
        yield _Proposal(_BY_HAND, _literal(call.name), f'"{call.name}" works a screen, where a press can do anything.')
    elif words[:1] and words[0] in _OTHER_AGENT and len(words) == 1 and "argument" not in call.arguments:
        yield _Proposal(_BY_HAND, _literal(call.name), f'"{call.name}" sets another agent to work.')
    if not named or Effect.RUN in named:
        yield from _by_arguments(call, named)


def _by_name(name: str, named: frozenset[Effect]) -> _Proposal:
    gravest = min(named, key=_RANKS.__getitem__)
    return _Proposal(_RANKS[gravest], _literal(name), f'"{name}" {WHY[gravest]}.')


def _pressed(call: Call) -> Iterator[_Proposal]:
    pressed = str(call.arguments.get("argument", ""))
    first = effects(pressed.split(None, 1)[0]) & CHANGING if pressed.strip() else frozenset()
    if first and len(pressed) <= _LONGEST_CLICK:
        gravest = min(first, key=_RANKS.__getitem__)
        yield _Proposal(_RANKS[gravest], _literal(f"{call.name}[{pressed}]"), f'"{pressed}" {WHY[gravest]}.')


def _by_arguments(call: Call, named: frozenset[Effect]) -> Iterator[_Proposal]:
    """What single arguments tell: a command, a statement, a method, money or words to somebody."""
    for name, value in call.arguments.items():
        if not isinstance(value, str) or len(value) > _LONGEST_COMMAND:
            continue
        place = f"{call.name}.{name}="
        if name.lower() in _METHODS and effects("", {"method": value}) & CHANGING:
            gravest = min(effects("", {"method": value}) & CHANGING, key=_RANKS.__getitem__)
            yield _Proposal(_RANKS[gravest], _literal(f"{place}{value}"), f'"{value}" {WHY[gravest]}.')
        elif name.lower() in _COMMANDS and (named or effects(call.name, {name: value}) & CHANGING):
            yield from _in_command(place, value)
    if not named:
        yield from _to_somebody(call)


def _in_command(place: str, command: str) -> Iterator[_Proposal]:
    grave = [(text, why) for text, why, found in _GRAVE if found.search(command)]
    for text, why in grave:
        yield _Proposal(0, _literal_within(place, text), f'"{text.strip()}" {why}.')
    if grave:
        return
    for part in re.split(r"\|\||&&|[;\n|]", command):
        told = shell_effects(part) & CHANGING
        words = part.split()
        if told and words and words[0].isidentifier():
            gravest = min(told, key=_RANKS.__getitem__)
            yield _Proposal(_RANKS[gravest], _literal_within(place, f"{words[0]} "), f'"{words[0]}" {WHY[gravest]}.')


def _to_somebody(call: Call) -> Iterator[_Proposal]:
    """Money or words that go to somebody, where the tool's name does not say so."""
    told = effects(call.name, call.arguments) & {Effect.PAY, Effect.SEND}
    to = next((name for name in call.arguments if _RECIPIENT.search(name.lower())), None)
    if told and to is not None:
        gravest = min(told, key=_RANKS.__getitem__)
        yield _Proposal(
            _RANKS[gravest], _literal_within(f"{call.name}.{to}=", ""), f'"{to}" says to whom: {WHY[gravest]}.'
        )


def _literal_within(place: str, text: str) -> str:
    return f"{_literal(place)}*{_literal(text)}*" if text else f"{_literal(place)}*"


def _literal(text: str) -> str:
    return text.replace("*", "?")


@dataclass(frozen=True, slots=True)
class Candidates:
    """What looks critical in a run and is not yet, as far as `seen` of its `total` trajectories show.

    `critical` is how many of the actions seen there do count as critical.
    """

    found: list[Suggestion]
    seen: int
    total: int
    critical: int = 0

    @property
    def share(self) -> str:
        """Which part of the log was looked at, in words."""
        if self.seen == self.total == 1:
            return "The one trajectory was looked at."
        if self.seen == self.total:
            return f"All {self.total:,} trajectories were looked at."
        return f"{self.seen:,} of {self.total:,} trajectories were looked at, spread over the log."


def candidates(session: Session, run: tables.Run, limit: int = 2_000) -> Candidates:
    """Further actions that look critical among at most `limit` trajectories; a person confirms them."""
    body, record = tables.TrajectoryBody, tables.Trajectory
    ids = session.exec(select(record.id).where(record.run_id == run.id).order_by(col(record.id))).all()
    chosen = ids[:: max(1, -(-len(ids) // limit))]
    counts: Counter[str] = Counter()
    held = 0
    for start in range(0, len(chosen), _AT_ONCE):
        statement = select(body.body).where(col(body.trajectory_id).in_(chosen[start : start + _AT_ONCE]))
        for text in session.exec(statement):
            trajectory = from_json(text)
            counts.update(step.action for step in trajectory.steps)
            held += pending_action(trajectory) is not None
    known = runs.patterns(run)
    critical = held + sum(count for action, count in counts.items() if is_critical(action, known))
    return Candidates(suggest(counts.items(), known), len(chosen), len(ids), critical)


def dead_end(session: Session, run: tables.Run) -> tuple[str, list[str]] | None:
    """A sentence and the patterns to accept where no action of the run could be reviewed; None where one can.

    An environment whose trials end in a checkpoint has something to review, and a gate's policy decides for itself.
    """
    ends = run.ends or any(environment(name).ends for name in run.environment.split(","))
    looked = Candidates([], 0, 0) if ends or run.kind == RunKind.GATE else candidates(session, run)
    if not looked.seen or looked.critical:
        return None
    part = "" if looked.seen == looked.total else f" ({looked.share.removesuffix('.')})"
    first = f"No action of {run.name} counts as critical{part}"
    shown = looked.found[:_SHOWN]
    if not shown:
        return f"{first}, and none looks it; name one: inferact run critical {quote(run.name)} --add PATTERN", []
    listed = ", ".join(f"{one.pattern} ({one.count}×)" for one in shown)
    these = "this one looks it" if len(shown) == 1 else f"these {len(shown)} look it"
    return f"{first}; {these}: {listed}.", [one.pattern for one in shown]
