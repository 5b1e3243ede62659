"""Sessions of coding agents: one trajectory per user request, with the earlier requests as its history.

Slash commands, caveats, interrupts, an editor's context and small talk are not requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, Turn, entry_of, join_thoughts
from console.runs.importers.parts.intake import Intake
from console.runs.importers.records import CONTEXT, Entry, Skipped
from console.trajectory.messages import EARLIER_ACTS, EARLIER_REQUESTS, join_paragraphs, split_tool_texts

_NOT_ASKED = re.compile(
    r"\s*(?:\[Request interrupted by user|Caveat: The messages below were generated|# AGENTS\.md|<permissions"
    r"|This session is being continued from a previous conversation|/[a-z][\w:-]*\s*\Z)"
)
_COMMAND = re.compile(r"<command-(name|args)>\s*(.*?)\s*</command-\1>", re.DOTALL)
_GREETING = re.compile(
    r"(?:hi+|hey+|hello|hallo|yo|good (?:morning|afternoon|evening))(?:[ ,]+\w+)?[\s!.,?)(:]*", re.IGNORECASE
)
_NO_ACTION = "The agent did nothing after this request, so there is nothing to review"
_MOST_REQUESTS, _MOST_OF_REQUEST, _MOST_OF_ACTS = 20, 2_000, 400
"""Limits of the quoted history: number of latest requests, characters of a request, characters of the acts."""


@dataclass(slots=True)
class _Request:
    number: int
    text: str
    turns: list[Turn] = field(default_factory=list)

    @property
    def has_acts(self) -> bool:
        """True if the agent acted or wrote; after a request, an answer without text also counts."""
        said = (turn for turn in self.turns if turn.role == AGENT)
        return any(self.text or turn.text.strip() or turn.thought or turn.calls for turn in said)

    @property
    def is_greeting(self) -> bool:
        """True if the request is small talk without a following call."""
        return _GREETING.fullmatch(self.text) is not None and not any(turn.calls for turn in self.turns)


def request_text(text: str) -> str:
    """Return the user's request in a user message, or "" if the text is not a request."""
    text = split_tool_texts(text)[0]
    return "" if _NOT_ASKED.match(text) else text.strip()


def joined_words(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the turns; merge an agent's text with the calls that follow it in the same message."""
    before: Turn | None = None
    for turn in join_thoughts(turns):
        if before is not None:
            if turn.role == AGENT and turn.calls and not turn.text and turn.number == before.number:
                thought = join_paragraphs(before.thought, turn.thought)
                turn = replace(turn, text=before.text, thought=thought)
            else:
                yield before
        before = turn if turn.role == AGENT and turn.text and not turn.calls else None
        if before is None:
            yield turn
    if before is not None:
        yield before


def session_entries(
    intake: Intake,
    turns: Sequence[Turn],
    session: str,
    *,
    whole: bool = False,
    asked: str = "",
    extra: Mapping[str, Any] | None = None,
) -> Iterator[Entry]:
    """Yield one trajectory per request of the session, `session/1` first, or a single one named `session` if `whole`.

    `asked` is the request if no turn has one. Each entry has its own pictures; the first entry has the left-out parts.
    """
    requests = _requests(turns)
    context = [turn.text for turn in turns if turn.is_context and turn.text.strip()]
    if whole or len(requests) == 1:
        first = next((one.text for one in requests if one.text), "") or asked
        told = {**(extra or {}), **({CONTEXT: context} if context else {})}
        name = session if whole else f"{session}/{requests[0].number}"
        spoken = [turn for turn in turns if not turn.is_context]
        yield locate_entry(entry_of(intake, spoken, name, instruction=first, extra=told), session, requests[-1].number)
        return
    policy = [turn for turn in requests[0].turns if turn.role == SYSTEM]
    for place, request in enumerate(requests):
        own = _own_intake(intake, request, is_first=place == 0)
        yield _entry(own, requests[:place], request, policy if place else [], session, asked, extra or {})


def _entry(
    intake: Intake,
    earlier: Sequence[_Request],
    request: _Request,
    policy: Sequence[Turn],
    session: str,
    asked: str,
    extra: Mapping[str, Any],
) -> Entry:
    if not request.has_acts:
        return Skipped(intake.line, _NO_ACTION)
    context = [turn.text for turn in request.turns if turn.is_context and turn.text.strip()]
    told = {**extra, **({CONTEXT: context} if context else {})}
    turns = [*policy, *(turn for turn in request.turns if not turn.is_context)]
    name, text = f"{session}/{request.number}", request.text or ("" if earlier else asked)
    made = entry_of(intake, turns, name, instruction=text, extra=told, history=list(_history(earlier)))
    return locate_entry(made, session, request.number)


def _requests(turns: Sequence[Turn]) -> list[_Request]:
    """Return the requests of the session in order; each turn is in one request, and a result in its call's request."""
    current = _Request(0, "")
    found, owners, command = [current], dict[str, _Request](), ""
    for turn in turns:
        if turn.role == TOOL and turn.answers in owners:
            owners[turn.answers].turns.append(turn)
            continue
        text = request_text(turn.text) if turn.role == USER and not turn.is_context else ""
        if text:
            current = _next(found, text)
        elif turn.role == USER and (named := dict(_COMMAND.findall(turn.text))):
            command = " ".join(filter(None, (named.get("name"), named.get("args"))))
        elif turn.role == AGENT and not current.text and current.number == 0:
            current.text = command
        current.turns.append(replace(turn, is_context=True) if turn.role == USER and not text else turn)
        owners.update({call.id: current for call in turn.calls if call.id})
    return found


def _next(found: list[_Request], text: str) -> _Request:
    """Return the request that begins with this text, including earlier turns that belong to no request."""
    last = found[-1]
    if (last.number == 0 and not last.has_acts) or (last.number and last.is_greeting and last.has_acts):
        if not last.number:
            last.turns = [turn for turn in last.turns if turn.role != AGENT]
        last.number, last.text = max(1, last.number), text
        return last
    found.append(_Request(last.number + 1, text))
    return found[-1]


def _history(earlier: Sequence[_Request]) -> Iterator[tuple[str, str]]:
    """Yield the sections of the opening on the earlier requests: first the agent's acts, then the requests."""
    told = [one for one in earlier if one.text or one.has_acts]
    if not told:
        return
    shown = told[-_MOST_REQUESTS:]
    left = [f"({len(told) - len(shown)} earlier requests are not shown.)"] if len(told) > len(shown) else []
    yield EARLIER_ACTS, "\n".join([*left, *(f"{one.number}. {_acts(one)}" for one in shown)])
    yield (
        EARLIER_REQUESTS,
        "\n".join([*left, *(f"{one.number}. {_short(one.text, _MOST_OF_REQUEST)}" for one in shown)]),
    )


def _acts(request: _Request) -> str:
    names: dict[str, int] = {}
    for turn in request.turns:
        for call in turn.calls:
            names[call.name] = names.get(call.name, 0) + 1
    calls = ", ".join(f"{name} x {count}" if count > 1 else name for name, count in names.items())
    said = next((turn.text for turn in reversed(request.turns) if turn.role == AGENT and turn.text.strip()), "")
    parts = (f"calls: {calls}" if calls else "", f"last words: {_short(said, _MOST_OF_ACTS)}" if said else "")
    return "; ".join(filter(None, parts)) or "nothing"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} ... ({len(text) - most:,} more characters)"


def _own_intake(intake: Intake, request: _Request, *, is_first: bool) -> Intake:
    digests = {picture.digest for turn in request.turns for picture in turn.pictures}
    line = next((turn.number for turn in request.turns if turn.number), intake.line)
    return replace(
        intake,
        line=intake.line if is_first else line,
        at=0,
        left_out=intake.left_out if is_first else {},
        pictures={digest: raw for digest, raw in intake.pictures.items() if digest in digests},
        read_as=[],
    )


def locate_entry(entry: Entry, session: str, request: int) -> Entry:
    """Return the entry with the session's id and the request's number in its source."""
    if isinstance(entry, Skipped):
        return entry
    record = entry.trajectory
    source = {**record.source, "session": session, "request": request}
    return replace(entry, trajectory=replace(record, source=source))
