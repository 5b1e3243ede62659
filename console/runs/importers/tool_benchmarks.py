"""Logs of tool-use benchmarks: BFCL's result files, ToolBench's trees of actions and AgentDojo's runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from console.runs.importers.parts.intake import Intake, collect_fields, plain_list, plain_object, word
from console.runs.importers.parts.json_records import base_of, objects, outline, read_required_list
from console.runs.importers.parts.message_parts import read_turns
from console.runs.importers.parts.rewards import label_success
from console.runs.importers.records import Entry, Importer, Progress
from console.trajectory import Outcome
from console.trajectory.calls import read_python

_BFCL, _TOOLBENCH, _AGENTDOJO = "bfcl", "toolbench", "agentdojo"
_BFCL_MARKS = (
    (".id", ".result", ".latency"),
    (".id", ".result", ".input_token_count"),
    (".id", ".result", ".model_name"),
)
_TOOLBENCH_MARKS = ((".answer_generation", ".tree"), (".tree.tree.node_type",), (".answer_generation.train_messages",))
_AGENTDOJO_MARKS = ((".suite_name", ".messages"), (".suite_name", ".user_task_id"))
_TASK = ("suite_name", "user_task_id", "task_id", "injection_task_id", "attack_type")
_ATTACKED = "true: the injection's goal was executed"
_SAFE = "true: the agent stayed safe, according to the outcome beside it"
_UNCLEAR = "not read: the outcome beside it says neither safe nor unsafe"
_SAFE_OUTCOME = re.compile(r"(?<![a-z])(?<!not_)(?:safe|secure|resisted|defended|blocked|benign)(?![a-z])")
_UNSAFE_OUTCOME = re.compile(
    r"(?<![a-z])(?:unsafe|insecure|not_(?:safe|secure|resisted)|attack_succ(?:ess|eeded)|compromised|poisoned|hijacked|"
    r"injection_succeeded)(?![a-z])"
)
_WRITING = (
    *("send_*", "schedule_*", "update_*", "delete_*", "create_*", "reschedule_*", "cancel_*", "reserve_*", "add_*"),
    *("remove_*", "invite_*", "append_*", "share_*", "post_*"),
)
"""The tools of AgentDojo's suites that write."""
_FACTS = ("latency", "input_token_count", "output_token_count", "model_name")
_THOUGHT, _ACTION, _INPUT = "Thought", "Action", "Action Input"


def recognises_bfcl(path: Path, head: bytes) -> bool:
    """Return whether the file contains results with their cost, or has the name of a result file."""
    paths = outline(head)
    named = path.name.startswith("BFCL_") and base_of(paths, (".id", ".result")) is not None
    return named or base_of(paths, *_BFCL_MARKS) is not None


def read_bfcl(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the answer to each question; the instruction is the question's id, because the log lacks the question."""
    for record in objects(path, progress, *_BFCL_MARKS, (".id", ".result")):
        intake = Intake(path, record.line, _BFCL)
        question = record.value.get("id")
        if not isinstance(question, str) or "result" not in record.value:
            raise intake.refusal(
                '"id" or "result" is missing, so the answer has no question. Export the results again.'
            )
        yield entry_of(
            intake,
            [Turn(AGENT, text, calls=calls, number=1) for text, calls in _answers(record.value["result"], intake)],
            question,
            instruction=f"Question {question} of the Berkeley Function-Calling Leaderboard",
            extra={name: record.value[name] for name in _FACTS if record.value.get(name) is not None} | record.notes,
        )


def _answers(result: Any, intake: Intake) -> Iterator[tuple[str, tuple[LoggedCall, ...]]]:
    if isinstance(result, str):
        calls = tuple(_python_calls(result))
        if not calls and result.lstrip().startswith("["):
            intake.leave_out("answer that looks like calls and cannot be read")
        yield "" if calls else result, calls
    elif (
        isinstance(result, list)
        and result
        and all(isinstance(one, dict) for one in result)
        and all(isinstance(given, (str, dict)) for one in result for given in one.values())
    ):
        yield "", tuple(LoggedCall(name, given) for one in result for name, given in one.items())
    elif isinstance(result, list):
        for one in result:
            yield from _answers(one, intake)
    else:
        intake.leave_out("answer that is not a list of calls")


def _python_calls(text: str) -> Iterator[LoggedCall]:
    """Yield the calls in a text such as `[f(a=1), g()]`; yield nothing if the text has another form."""
    lines = text.strip().strip("`").removeprefix("python").strip()
    for call in read_python(lines if lines.startswith("[") else f"[{lines}]"):
        yield LoggedCall(call.name, call.arguments)


def read_toolbench(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield one trajectory per record, named after its file, with every branch of the tree that ran."""
    for order, record in enumerate(objects(path, progress, *_TOOLBENCH_MARKS)):
        intake = Intake(path, record.line, _TOOLBENCH)
        answer = plain_object(record.value.get("answer_generation"))
        roots = _roots(record.value, answer)
        if not roots:
            raise intake.refusal('The record has neither a "tree" nor a "chain" of actions. Export the log again.')
        turns = [*_opening(answer, intake), *(turn for root in roots for turn in _turns(root, "", intake))]
        yield entry_of(
            intake,
            [replace(turn, number=number) for number, turn in enumerate(join_thoughts(turns), 1)],
            f"{path.stem}-{order}" if order else path.stem,
            (Outcome.HALTED if record.value.get("win") is False else Outcome.FINISHED, _marks(record.value, answer)),
            instruction=answer.get("query"),
            extra=collect_fields(answer, "final_answer") | record.notes,
        )


def _marks(record: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return ToolBench's fields about the answer; no field states whether the answer is correct."""
    told = {"win": record.get("win"), **{name: answer.get(name) for name in ("finish_type", "valid_data")}}
    return {name: value for name, value in told.items() if value is not None}


def _roots(record: Mapping[str, Any], answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    tree = plain_object(record.get("tree"))
    root = plain_object(tree.get("tree")) or tree
    if "children" in root:
        return [root]
    nested: list[dict[str, Any]] = []
    for node in reversed(plain_list(answer.get("chain"))):
        nested = [{**plain_object(node), "children": nested}]
    return nested if "node_type" in plain_object(next(iter(nested), None)) else []


def _opening(answer: Mapping[str, Any], intake: Intake) -> Iterator[Turn]:
    first = plain_list(next(iter(plain_list(answer.get("train_messages"))), None))
    for message in map(plain_object, first):
        if message.get("role") in (SYSTEM, USER) and isinstance(
            text := intake.expected(message, "message", "content"), str
        ):
            yield Turn(message["role"], text.strip())


def _turns(node: Mapping[str, Any], action: str, intake: Intake) -> Iterator[Turn]:
    kind, told = word(node.get("node_type")), word(node.get("description"))
    if kind == _THOUGHT and told:
        yield Turn(AGENT, thought=told)
    elif kind == _ACTION:
        action = told
        if not node.get("children"):
            # The model named a tool and got no further.
            yield from _called(action, None, node, intake)
    elif kind == _INPUT and (told or action):
        yield from _called(action, told, node, intake)
    elif kind not in (_THOUGHT, _INPUT):
        intake.leave_out(f"node of type {kind or 'none'}")
    children = plain_list(node.get("children"))
    for place, child in enumerate(map(plain_object, children), 1):
        if place < len(children) and (ran := sum(_runs(child))):
            intake.leave_out("call of a branch that the agent gave up (read as well)", ran)
        yield from _turns(child, action, intake)


def _runs(node: Mapping[str, Any]) -> Iterator[bool]:
    yield node.get("node_type") == _INPUT
    for child in plain_list(node.get("children")):
        yield from _runs(plain_object(child))


def _called(action: str, given: str | None, node: Mapping[str, Any], intake: Intake) -> Iterator[Turn]:
    if not action.strip():
        raise intake.refusal("A node has an input but no action above it. Export the log again.")
    yield Turn(AGENT, calls=(LoggedCall(action.strip(), given),))
    if isinstance(node.get("observation"), str):
        yield Turn(TOOL, node["observation"])


def read_agentdojo(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the agent's runs in a suite, with the utility score and the success of an injection."""
    for record in objects(path, progress, *_AGENTDOJO_MARKS):
        intake, run = Intake(path, record.line, _AGENTDOJO), record.value
        result, read_as = _result(run)
        kept = collect_fields(run, "pipeline_name", "injections", "condition", "seed", "error")
        yield entry_of(
            intake,
            read_turns(read_required_list(record, path, "messages"), intake),
            "/".join(str(run[name]) for name in _TASK if run.get(name) not in (None, "", "none")) or None,
            result,
            instruction=run.get("user_prompt"),
            extra=kept | read_as | record.notes,
        )


def _result(run: Mapping[str, Any]) -> tuple[tuple[Outcome, dict[str, Any]], dict[str, Any]]:
    """Return ((outcome, gold), interpretation of `security`); ignore `security` if the run has no injection."""
    graded = run if "utility" in run or "security" in run else plain_object(run.get("evaluation"))
    useful, security = graded.get("utility"), graded.get("security")
    told, executed = _executed(security, graded.get("outcome"))
    injected = run.get("injection_task_id", run) is not None or bool(run.get("injections"))
    attacked = executed is True and injected
    gold = {name: graded[name] for name in ("utility", "security") if isinstance(graded.get(name), bool)}
    read_as = {"security_read_as": told} if isinstance(security, bool) else {}
    unknown = not isinstance(useful, bool) or (useful and executed is None and isinstance(security, bool))
    success = None if unknown and not attacked else bool(useful) and not attacked
    return label_success(success, gold), read_as


def _executed(security: object, outcome: object) -> tuple[str, bool | None]:
    """Return (interpretation of `security`, whether the injection's goal was executed, or None if unknown).

    Some forks invert `security`, so the text in `outcome`, if present, determines the meaning of `security`.
    """
    if not isinstance(security, bool):
        return _UNCLEAR, None
    if not isinstance(outcome, str):
        return _ATTACKED, security
    unsafe = bool(_UNSAFE_OUTCOME.search(outcome.lower()))
    safe = bool(_SAFE_OUTCOME.search(outcome.lower()))
    if unsafe is safe:
        return _UNCLEAR, None
    return (_ATTACKED if security is unsafe else _SAFE), unsafe


BFCL = Importer(_BFCL, "BFCL result files", read_bfcl, _BFCL_MARKS, recognises=recognises_bfcl)
TOOLBENCH = Importer(_TOOLBENCH, "ToolBench answers", read_toolbench, _TOOLBENCH_MARKS)
AGENTDOJO = Importer(_AGENTDOJO, "AgentDojo runs", read_agentdojo, _AGENTDOJO_MARKS, critical=_WRITING)
