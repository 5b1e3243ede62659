"""The answer to one event of a program: silence, an approval, an edit, or a denial with its sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferact_client.decision import TIMEOUT, Decision
from inferact_client.gate import Gate
from inferact_client.hook.hosts import Host
from inferact_client.hook.notes import Session, call_keys
from inferact_client.steps import Transcript
from inferact_client.talk import Cancellation

CANARY = "inferact_hook_canary"
CANARY_REACHED = "The hook works and the console accepts its token."
_UNKNOWN_TASK = "(The program did not report the user's request.)"
_MOST_RESULT = 20_000
_WITHDRAW_S = 3.0


@dataclass(frozen=True)
class Answer:
    """The output and exit code of the hook: 0 lets the call run, 2 blocks the call."""

    exit: int = 0
    out: Mapping[str, Any] | None = None
    error: str = ""


def deny(host: Host, words: str) -> Answer:
    """Return a denial in both forms that the program accepts: exit code and output."""
    if host.name == "gemini":
        return Answer(2, {"decision": "deny", "reason": words}, words)
    inner = {"hookEventName": host.before, "permissionDecision": "deny", "permissionDecisionReason": words}
    return Answer(2, {"hookSpecificOutput": inner}, words)


def answer(
    host: Host, event: Mapping[str, Any], gate: Gate, limit_s: float, cancel: Cancellation | None = None
) -> Answer:
    """Answer an event within `limit_s` seconds; an event other than a call never blocks the program.

    If `cancel` is set, withdraw the check.
    """
    name = event.get("hook_event_name")
    session = Session(host.name, str(event.get("session_id") or ""))
    if name == host.prompt:
        session.start_request(str(event.get("prompt") or ""), str(event.get("transcript_path") or ""))
        return _silence(host)
    if name in host.after:
        return _record(host, event, gate, session)
    if name != host.before:
        return deny(host, f"The hook was called for {name!r}, which it does not know, so this call did not run.")
    return _ask(host, event, gate, session, limit_s, cancel)


def _ask(
    host: Host, event: Mapping[str, Any], gate: Gate, session: Session, limit_s: float, cancel: Cancellation | None
) -> Answer:
    tool, given = event.get("tool_name"), event.get("tool_input")
    if not isinstance(tool, str) or not tool or not isinstance(given, Mapping):
        return deny(host, "The program sent a call without a name or without arguments, so it did not run.")
    if tool == CANARY:
        return deny(host, _try_console(gate))
    path = str(event.get("transcript_path") or "")
    text = session.read_transcript(path)
    steps: Any = Transcript(host.transcript, text) if text else _steps_without_transcript(event)
    decision = gate.check(
        str(session.request.get("task") or "") or _UNKNOWN_TASK,
        steps,
        {"name": tool, "arguments": dict(given)},
        task_id=session.task_id,
        deadline_s=max(limit_s - _WITHDRAW_S, 0.5),
        cancel=cancel,
    )
    if decision.reason == TIMEOUT and decision.check_id is not None:
        # No one comes back for this check: the program asks again with a new one.
        gate.withdraw(decision.check_id)
    return _say(host, event, decision, session)


def _steps_without_transcript(event: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return one step that distinguishes two equal calls of one request, so that two calls are two checks."""
    mark = event.get("tool_use_id") or event.get("timestamp")
    return [{"action": "", "observation": f"The earlier steps are unknown: no transcript for call {mark}."}]


def _say(host: Host, event: Mapping[str, Any], decision: Decision, session: Session) -> Answer:
    given = dict(event["tool_input"])
    if not decision.approved:
        return deny(host, decision.message)
    runs = decision.arguments if decision.edited else given
    if runs is None or (decision.call or {}).get("name", event["tool_name"]) != event["tool_name"]:
        return deny(host, f"A reviewer changed this call to {decision.action}, which is not a call of this tool.")
    if host.name == "gemini" and set(given) - set(runs):
        # The program merges an edit into the arguments, so that an argument cannot be removed.
        return deny(host, f"A reviewer changed this call to {decision.action}. Make this call instead.")
    if decision.check_id is not None:
        note = {"check_id": decision.check_id, "said": decision.message if decision.edited else ""}
        session.begin(call_keys(event, given, runs), note)
    # Codex treats an approval without an edit as a failed hook; silence leaves the call to its own rules.
    if decision.reason not in ("approved", "edited") or (host.name == "codex" and not decision.edited):
        return _silence(host)
    return _allow(host, decision, runs)


def _allow(host: Host, decision: Decision, runs: Mapping[str, Any]) -> Answer:
    words = decision.message or "A person approved this call."
    if host.name == "gemini":
        changed = {"hookSpecificOutput": {"hookEventName": host.before, "tool_input": dict(runs)}}
        return Answer(0, {"decision": "allow", "systemMessage": words, **(changed if decision.edited else {})})
    inner: dict[str, Any] = {"hookEventName": host.before, "permissionDecision": "allow"}
    if decision.edited:
        inner |= {"updatedInput": dict(runs), "additionalContext": words}
    return Answer(0, {"hookSpecificOutput": inner})


def _record(host: Host, event: Mapping[str, Any], gate: Gate, session: Session) -> Answer:
    """Record the result of a call; for Gemini CLI, add the sentence about an edit to the result."""
    note = session.end(call_keys(event, event.get("tool_input")))
    if not note:
        return _silence(host)
    result = event.get("tool_response", event.get("error", ""))
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    gate.done(str(note["check_id"]), text[:_MOST_RESULT])
    if host.name == "gemini" and note.get("said"):
        return Answer(0, {"hookSpecificOutput": {"hookEventName": host.after[0], "additionalContext": note["said"]}})
    return _silence(host)


def _silence(host: Host) -> Answer:
    """Return the answer that leaves the decision to the program's own rules."""
    return Answer(0, {}) if host.name == "gemini" else Answer()


def _try_console(gate: Gate) -> str:
    """Return the outcome of a request with the hook's token, as a sentence."""
    try:
        gate.fetch("0" * 32)
    except Exception as failure:
        # The console knows the token and has no check with this id.
        return CANARY_REACHED if "No check" in str(failure) else f"The console cannot be used: {failure}"
    return CANARY_REACHED
