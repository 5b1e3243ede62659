"""The conversation with a served console, without input and output: the next call after each reply.

A lost reply is repeated until the deadline: the console recognizes an identical request as the same check. A reply that
refuses the request is final. After any failure, the decision does not allow the action.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from inferact_client.decision import REFUSED, STILL_PENDING, TIMEOUT, UNREACHABLE, Check, Decision, read_check

ANSWER_S = 35.0
"""Seconds that a reply may take beyond the requested wait, because a detector may ask a model first."""
PAUSE_S = 0.3
UNDO_S = 5.0
"""The seconds for which a reviewer can undo a decision, unless the policy sets another time."""

_WAIT_S, _WAIT_CANCELLABLE_S = 20.0, 1.0
_NOT_BEGUN = {403: "denied", 409: "already_handed_out", 410: "void"}


class Cancellation(Protocol):
    """A signal to stop waiting: a threading.Event or any object like it."""

    def is_set(self) -> bool:
        """Return whether to stop waiting."""
        ...


@dataclass(frozen=True)
class Call:
    """One request to the console; the reply may take `patience_s` seconds."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    patience_s: float = ANSWER_S


@dataclass(frozen=True)
class Reply:
    """The console's reply; status 0 means that no console answered."""

    status: int
    document: Mapping[str, Any]

    @property
    def error(self) -> str:
        """The console's sentence about a refusal."""
        return str(self.document.get("error") or f"The console answered {self.status}.")


AWAY = Reply(0, {})
Talk = Generator["Call | float", "Reply", Decision]
"""A generator of calls, to be resumed with their replies, and of pauses in seconds; it returns the decision."""


def spare_s(deadline_s: float) -> float:
    """Return the seconds of a deadline that are left for closing connections and for waking up on a busy machine."""
    return min(max(0.3, deadline_s / 20), 2.0, deadline_s / 5)


def person_s(deadline_s: float, undo_s: float | None) -> float:
    """Return the seconds that people get, so that the decision and its time to undo fit into `deadline_s`."""
    undo = UNDO_S if undo_s is None else max(undo_s, 0.0)
    return max(deadline_s - min(undo + 0.7 + spare_s(deadline_s), deadline_s / 4), 0.001)


def ask(question: Mapping[str, Any], action: str, ends: float, cancel: Cancellation | None) -> Talk:
    """Submit the question and wait for its decision until `ends` (monotonic seconds); then begin the action."""
    submit = Call("POST", "checks", question)
    call, pending, begun_at = submit, "", 0.0
    while True:
        reply = yield call
        check, now = _read(reply), time.monotonic()
        if check is not None and check.decision is not None:
            break
        if reply.status and check is None:
            return Decision(False, action, reply.error, REFUSED)
        if now >= ends:
            return _late(action, pending)
        if check is None:
            # The console treats the same request as the same check, so repeating it is safe.
            call = submit
            yield _pause(ends)
            continue
        pending = check.check_id or ""
        if now - begun_at < PAUSE_S:
            # A console that shuts down answers a waiting request at once.
            yield _pause(ends)
        begun_at = time.monotonic() if call is not submit else 0.0
        call = _next_look(pending, cancel, ends)
    if not check.decision.approved or check.check_id is None:
        return check.decision
    return (yield from begin(check.decision, ends))


def begin(decision: Decision, ends: float) -> Talk:
    """Record that the approved action begins now, until `ends` (monotonic seconds)."""
    call = Call("POST", f"checks/{decision.check_id}/begin")
    while not (reply := (yield call)).status:
        if time.monotonic() >= ends:
            words = "The console could not be reached before the action began, so it must not run."
            return replace(decision, approved=False, feedback=words, reason=UNREACHABLE)
        yield _pause(ends)
    check = _read(reply)
    if check is not None and check.decision is not None:
        return replace(check.decision, begun=check.decision.approved)
    return replace(decision, approved=False, feedback=reply.error, reason=_NOT_BEGUN.get(reply.status, REFUSED))


def _next_look(check_id: str, cancel: Cancellation | None, ends: float) -> Call:
    if cancel is not None and cancel.is_set():
        return Call("DELETE", f"checks/{check_id}")
    longest = _WAIT_S if cancel is None else _WAIT_CANCELLABLE_S
    wait = max(min(longest, ends - time.monotonic() - PAUSE_S), 0.0)
    return Call("GET", f"checks/{check_id}?wait={wait:.3g}", patience_s=wait + ANSWER_S)


def _pause(ends: float) -> float:
    return min(PAUSE_S, max(ends - time.monotonic(), 0.0))


def _late(action: str, check_id: str) -> Decision:
    if check_id:
        return Decision(False, action, STILL_PENDING, TIMEOUT, check_id=check_id)
    return Decision(False, action, "", UNREACHABLE)


def _read(reply: Reply) -> Check | None:
    """Return the check in a reply, or None if the reply holds no check."""
    if reply.status not in (200, 202):
        return None
    try:
        return read_check(reply.document)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
