"""OpenHands outputs and events: actions and observations linked by ids; older files hold pairs of both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.runs.importers.parts.conversation import AGENT, SYSTEM, TOOL, USER, LoggedCall, Turn, entry_of
from console.runs.importers.parts.intake import Intake, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, json_records
from console.runs.importers.parts.message_parts import message_turns, result_text, spoken_text
from console.runs.importers.parts.part_kinds import call_id
from console.runs.importers.parts.rewards import read_resolved_result
from console.runs.importers.records import SHELL_TOOLS, Entry, Importer, Progress, build_decision_extra
from console.trajectory import Outcome, Picture

_NAME = "openhands"
_MARKS = (
    (".instance_id", ".instruction", ".history"),
    (".history[].action", ".history[].source"),
    (".history[].action", ".history[].observation"),
    (".history[][].action",),
    (".history[].kind",),
    ("[].source", "[].action", "[].args"),
    ("[].kind", "[].source"),
    (".action", ".source", ".args"),
    (".kind", ".source", ".timestamp"),
)
_QUIET = frozenset({"null", "agent_state_changed", "change_agent_state", "recall", "noop", "pause", "resume"})
_QUIET |= {"condensation", "condensation_request"}
_QUIET_KINDS = frozenset({"CondensationRequest", "TokenEvent", "PauseEvent"})
_NOT_ARGUMENTS = frozenset({"thought", "confirmation_state", "security_risk", "is_confirmed", "action_risk"})
_ENVELOPE = frozenset({"id", "action", "source", "cause", "timestamp", "message", "tool_call_metadata", "timeout"})
"""Event fields that are not arguments; older files write the arguments beside these fields."""
_EVENT = frozenset({"action", "observation", "kind"})
_NAME_OF_ACTION = re.compile(r"[\w.:/-]+")
_MCP = "call_tool_mcp"
"""The action that calls the tool of a server; its arguments hold the tool's name and arguments."""
_BY = "the user of the session"
_LIMITS = ("iteration", "stuck", "limit", "budget")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the trajectory of each record; raise UnreadableFile if a record has no history."""
    for record in _runs(path, progress):
        intake = Intake(path, record.line, _NAME)
        fields = plain_object(record.value)
        history = fields.get("history") if fields else record.value
        if not isinstance(history, list):
            raise intake.refusal('"history" is missing or is not a list of events. Export the log again.')
        turns = [turn for number, event in _events(history, intake) for turn in _turns(event, number, intake)]
        task_id = str(fields.get("instance_id") or path.stem)
        extra = collect_fields(fields, "error", "result_explanation", "git_patch") | record.notes
        asked = fields.get("instruction")
        yield entry_of(intake, turns, task_id, _result(path, fields), instruction=asked, extra=extra)


def _runs(path: Path, progress: Progress | None) -> Iterator[Record]:
    """Yield the runs; if each line of the file is an event, all events form one run."""
    line, events = 0, []
    for record in json_records(path, progress, *_MARKS):
        if _EVENT & plain_object(record.value).keys() and "history" not in record.value:
            line = line or record.line
            events.append(record.value)
        else:
            yield record
    if events:
        yield Record(line, events)


def _events(history: Sequence[Any], intake: Intake) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, event); link the two events of a pair by the pair's number."""
    for number, event in enumerate(history, 1):
        if isinstance(event, dict):
            yield number, event
        elif isinstance(event, list):
            for one in map(plain_object, event):
                known = {"cause": f"pair {number}"} if "observation" in one else {"id": f"pair {number}"}
                yield number, {**one, **known}
        else:
            intake.leave_out("event that is not an object")


def _result(path: Path, fields: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    tests = plain_object(fields.get("test_result"))
    holders = (fields.get("report"), tests.get("report"), tests.get("result"), tests, fields)
    told = next((one["resolved"] for one in map(plain_object, holders) if one.get("resolved") is not None), None)
    instance = str(fields.get("instance_id") or "")
    outcome, gold = read_resolved_result(path, instance, bool(told) if told is not None else None)
    # A model gave these marks, so they are kept and do not label the run.
    gold |= {name: fields[name] for name in ("success", "comment_success") if fields.get(name) is not None}
    error = str(fields.get("error") or "").lower()
    if error:
        outcome = Outcome.HALTED if any(limit in error for limit in _LIMITS) else Outcome.ERROR
    return outcome, gold


def _turns(event: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    if isinstance(event.get("kind"), str):
        yield from _newer(event, event["kind"], number, intake)
    elif _NAME_OF_ACTION.fullmatch(word(event.get("action"))):
        yield from _acted(event, number, intake)
    elif isinstance(event.get("observation"), str):
        yield from _observed(event, number, intake)
    else:
        intake.leave_out("event that is neither an action nor an observation")


def _acted(event: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    name, source = event["action"], event.get("source")
    args = {key: value for key, value in event.items() if key not in _ENVELOPE and value is not None}
    args = plain_object(event.get("args")) or args
    if args and source is not None and not isinstance(event.get("args"), dict):
        intake.leave_out("action without its field args (its other fields were taken)")
    if name in ("message", "system"):
        role = SYSTEM if name == "system" else AGENT if source == "agent" else USER
        if "content" not in args and "message" not in event:
            intake.leave_out("message without its content")
        pictures = _pictures(args.get("image_urls"), intake)
        text = _with(word(args.get("content", event.get("message"))), pictures)
        yield Turn(role, text, pictures=pictures, number=number)
        return
    if name in _QUIET:
        return
    if name == "finish" and source != "user":
        yield Turn(AGENT, _last_words(args, event), number=number)
        return
    arguments: Any = {key: value for key, value in args.items() if key not in _NOT_ARGUMENTS}
    if name == _MCP and word(args.get("name")):
        name, arguments = args["name"], args.get("arguments")
    call = LoggedCall(name, arguments, str(event.get("id", "")), _facts(args))
    if source == "agent" or source is None:
        thought = word(args.get("thought")) if name != "think" else ""
        call = LoggedCall(name, args, call.id) if name == "think" else call
        yield Turn(AGENT, thought=thought, calls=(call,), number=number)
    else:
        yield Turn(USER, f"{source} calls {call.action}", number=number)


def _last_words(args: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    """Return the agent's final text at the end of its task, from the field that this log version uses."""
    outputs = plain_object(args.get("outputs"))
    told = (args.get("final_thought"), outputs.get("content"), args.get("thought"), event.get("message"))
    return next((text for text in map(word, told) if text.strip()), "")


def _facts(args: Mapping[str, Any]) -> dict[str, Any]:
    risk = {"security_risk": args["security_risk"]} if args.get("security_risk") not in (None, "", -1) else {}
    # Without confirmation mode every call counts as confirmed, without a person's decision.
    refused = args.get("confirmation_state") == "rejected"
    return {**risk, **(build_decision_extra("reject", _BY) if refused else {})}


def _observed(event: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    kind, extras = event["observation"], plain_object(event.get("extras"))
    if kind in _QUIET:
        return
    if "content" not in event:
        intake.leave_out("observation without its content")
    text, shown = result_text(event.get("content"), intake)
    code = extras.get("exit_code", plain_object(extras.get("metadata")).get("exit_code"))
    if code not in (None, 0, -1):
        text = f"{text}\nexit code {code}"
    pictures = (*shown, *_pictures([extras.get("screenshot")], intake), *_pictures(extras.get("image_urls"), intake))
    cause = event.get("cause")
    extra = build_decision_extra("reject", _BY, text) if kind == "user_rejected" else {}
    by_cause = cause not in (None, -1)
    yield Turn(
        TOOL if by_cause else USER,
        _with(text, pictures[len(shown) :]),
        answers=str(cause) if by_cause else "",
        pictures=pictures,
        number=number,
        step_extra=extra,
    )


def _newer(event: Mapping[str, Any], kind: str, number: int, intake: Intake) -> Iterator[Turn]:
    answers = call_id(event) or str(event.get("action_id") or "")
    if kind in ("SystemPromptEvent", "SystemPromptUpdateEvent"):
        yield Turn(SYSTEM, spoken_text(event.get("system_prompt"), intake), number=number)
    elif kind == "MessageEvent":
        yield from message_turns(plain_object(event.get("llm_message")), intake)
    elif kind == "ActionEvent":
        held = plain_object(event.get("tool_call"))
        function = plain_object(held.get("function")) or held
        given = function["arguments"] if "arguments" in function else intake.expected(event, "call", "action")
        made = plain_object(event.get("action"))
        # Some versions name only the class of the action, such as TerminalAction.
        name = event.get("tool_name") or function.get("name") or word(made.get("kind")).removesuffix("Action") or None
        if name == "finish" and "message" in made:
            yield Turn(AGENT, word(made["message"]), number=number)
            return
        if not isinstance(name, str):
            raise intake.refusal(f"The call of event {number} has no name. Add its tool's name, or remove the event.")
        thoughts = [str(event.get("reasoning_content") or ""), spoken_text(event.get("thought"), intake)]
        thought = "\n".join(filter(None, thoughts))
        yield Turn(AGENT, thought=thought, calls=(LoggedCall(name, given, answers),), number=number)
    elif event.get("tool_name") == "finish" and kind == "ObservationEvent":
        return
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        seen = plain_object(event.get("observation"))
        if not {"error", "rejection_reason"} & event.keys() and not {"content", "output"} & seen.keys():
            intake.leave_out("observation without its content (shown as JSON)")
        value = event.get("error") or event.get("rejection_reason") or seen.get("content") or seen.get("output") or seen
        text, pictures = result_text(value, intake)
        extra = build_decision_extra("reject", _BY, text) if kind == "UserRejectObservation" else {}
        yield Turn(TOOL, text, answers=answers, pictures=tuple(pictures), number=number, step_extra=extra)
    elif kind not in _QUIET_KINDS:
        intake.leave_out(f"event of kind {kind}")


def _pictures(addresses: object, intake: Intake) -> tuple[Picture, ...]:
    return tuple(picture for one in plain_list(addresses) if one if (picture := intake.picture(one)))


def _with(text: str, pictures: Sequence[Picture]) -> str:
    return "\n".join(filter(None, [text, *(picture.text for picture in pictures)]))


IMPORTER = Importer(
    _NAME,
    "OpenHands outputs and events",
    read,
    _MARKS,
    renames=True,
    answering=frozenset({"finish"}),
    critical=(*SHELL_TOOLS, "run", "run_ipython", "execute_bash", "execute_ipython_cell"),
)
