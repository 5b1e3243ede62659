"""Traces of Amazon Bedrock Agents: the parts of `InvokeAgent`'s stream, each with one step of the agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from console.runs.importers.parts.call_count import unfold
from console.runs.importers.parts.conversation import (
    AGENT,
    SYSTEM,
    TOOL,
    USER,
    LoggedCall,
    Turn,
    entry_of,
    join_thoughts,
)
from console.runs.importers.parts.intake import Intake, as_text, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import Record, group_records, objects
from console.runs.importers.parts.spans import unpack_json
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome

_NAME = "bedrock-agents"
_KINDS = (
    *("orchestrationTrace", "routingClassifierTrace", "customOrchestrationTrace", "preProcessingTrace"),
    *("postProcessingTrace", "guardrailTrace", "failureTrace"),
)
_MARKS = tuple((f"{holder}.{kind}",) for holder in (".trace", ".trace.trace", "") for kind in _KINDS)
_HELD = frozenset({*_KINDS, "chunk", "returnControl"})
_ALSO = ((".chunk.bytes",), (".returnControl.invocationInputs",))
_OUTPUTS = (
    *("actionGroupInvocationOutput", "knowledgeBaseLookupOutput", "codeInterpreterInvocationOutput"),
    *("agentCollaboratorInvocationOutput", "repromptResponse"),
)
_FACTS = ("agentId", "agentAliasId", "agentVersion")
_TEXT = re.compile(r"\A\[\{(?:text=(.*?)(?:, type=text)?|type=text, text=(.*))\}\]\Z", re.DOTALL)
"""A message in a prompt that Bedrock wrote as Java prints a list of maps."""
_NOT_IN_NAMES = re.compile(r"[^\w/.-]+")


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield one trajectory per session."""
    for session, parts in group_records(_parts(path, progress), path):
        intake = Intake(path, parts[0].line, _NAME)
        if not any(_HELD & {*one.value, *_step(one.value)} for one in parts):
            raise intake.refusal("This record has no step of a trace. Export the events of InvokeAgent again.")
        turns = [turn for number, one in enumerate(parts, 1) for turn in _turns(one, number, intake)]
        said = "".join(as_text(plain_object(one.value.get("chunk")).get("bytes") or "") for one in parts)
        if said and not any(turn.role == AGENT and turn.text for turn in turns):
            turns.append(Turn(AGENT, said, number=len(parts)))
        extra = collect_fields(next((one.value for one in parts if one.value.get("agentId")), {}), *_FACTS)
        yield entry_of(intake, list(join_thoughts(turns)), session or None, _result(parts), extra=extra)


def _parts(path: Path, progress: Progress | None) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield (session, line, part); the events of the stream without a session belong to the last one."""
    session = ""
    for record in objects(path, progress, *_MARKS, *_ALSO):
        part = plain_object(record.value.get("trace"))
        value = part if "trace" in part else record.value
        session = word(value.get("sessionId")) or session
        yield session, record.line, value


def _result(parts: Sequence[Record]) -> tuple[Outcome, dict[str, Any]]:
    failed = (plain_object(_step(one.value).get("failureTrace")).get("failureReason") for one in parts)
    reason = next(filter(None, failed), None)
    return (Outcome.ERROR, {"error": reason}) if reason else (Outcome.FINISHED, {})


def _step(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return plain_object(part.get("trace")) or part


def _turns(record: Record, number: int, intake: Intake) -> Iterator[Turn]:
    intake.at = record.line
    known: dict[str, Any] = {"speaker": word(record.value.get("collaboratorName")), "number": number}
    for kind, held in _step(record.value).items():
        step = plain_object(held)
        if kind in ("orchestrationTrace", "routingClassifierTrace"):
            if "modelInvocationInput" in step:
                yield from _asked(plain_object(step["modelInvocationInput"]), number, intake)
            yield from _acted(step, known)
            if "observation" in step:
                yield from _observed(plain_object(step["observation"]), known, intake)
        elif kind == "customOrchestrationTrace":
            yield Turn(AGENT, thought=word(plain_object(step.get("event")).get("text")), **known)
        elif kind in _KINDS and not (kind == "guardrailTrace" and step.get("action") == "NONE"):
            intake.leave_out(f"step of type {kind}")


def _asked(given: Mapping[str, Any], number: int, intake: Intake) -> Iterator[Turn]:
    """Yield the policy and the user's words in a prompt; a prompt that ends with results of tools repeats the rest."""
    prompt = plain_object(unpack_json(given.get("text")))
    messages = [plain_object(one) for one in plain_list(prompt.get("messages"))]
    if not messages:
        intake.leave_out("prompt of a model without messages")
        return
    content = messages[-1].get("content")
    texts = [word(plain_object(part).get("text")) for part in plain_list(content)]
    text = "\n".join(filter(None, texts)) if isinstance(content, list) else as_text(content)
    if written := _TEXT.match(text):
        text = written[1] or written[2] or ""
    if messages[-1].get("role") != USER or not text or text.startswith("[{"):
        return
    policy = prompt.get("system")
    if len(messages) == 1 and policy:
        yield Turn(SYSTEM, as_text(policy), number=number)
    yield Turn(USER, text, number=number)


def _acted(step: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[Turn]:
    if thought := word(plain_object(step.get("rationale")).get("text")):
        yield Turn(AGENT, thought=thought, **known)
    if calls := tuple(_calls(plain_object(step.get("invocationInput")))):
        yield Turn(AGENT, calls=calls, **known)


def _calls(given: Mapping[str, Any]) -> Iterator[LoggedCall]:
    if action := plain_object(given.get("actionGroupInvocationInput")):
        path = f"{word(action.get('verb')).lower()}{word(action.get('apiPath'))}"
        name = word(action.get("function")) or path or word(action.get("actionGroupName"))
        bodies = plain_object(plain_object(action.get("requestBody")).get("content")).values()
        fields = [*plain_list(action.get("parameters")), *(one for body in bodies for one in plain_list(body))]
        held = {str(one.get("name")): _value(one) for one in map(plain_object, fields)}
        yield LoggedCall(_NOT_IN_NAMES.sub("", name), held)
    if asked := plain_object(given.get("knowledgeBaseLookupInput")):
        yield LoggedCall("knowledge_base", asked)
    if code := plain_object(given.get("codeInterpreterInvocationInput")):
        yield LoggedCall("code_interpreter", code)
    if other := plain_object(given.get("agentCollaboratorInvocationInput")):
        yield LoggedCall(word(other.get("agentCollaboratorName")) or "collaborator", other.get("input"))


def _value(field: Mapping[str, Any]) -> Any:
    """Return the value of a parameter, which Bedrock writes as text whatever its type is."""
    value = field.get("value")
    return unfold(value) if isinstance(value, str) and field.get("type") not in (None, "string") else value


def _observed(seen: Mapping[str, Any], known: Mapping[str, Any], intake: Intake) -> Iterator[Turn]:
    if answer := word(plain_object(seen.get("finalResponse")).get("text")):
        yield Turn(AGENT, answer, **known)
        return
    outputs = {name: plain_object(seen[name]) for name in _OUTPUTS if name in seen}
    if not outputs:
        intake.leave_out(f"observation of type {seen.get('type') or 'none'}")
    for held in outputs.values():
        references = (
            plain_object(plain_object(one).get("content")) for one in plain_list(held.get("retrievedReferences"))
        )
        told = [
            held.get("text"),
            plain_object(held.get("output")).get("text"),
            *(one.get("text") for one in references),
        ]
        told += [held.get(name) for name in ("executionOutput", "executionError")]
        yield Turn(TOOL, "\n".join(filter(None, map(word, told))), number=known["number"])


IMPORTER = Importer(_NAME, "Traces of Amazon Bedrock Agents", read, _MARKS, also=_ALSO)
