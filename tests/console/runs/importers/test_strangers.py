"""Logs of strangers in forms that were never seen here: calls, results and labels are read, or named as unknown."""
# ruff: noqa: E501 - a log is read more easily as it stands in its file, a record a line.

import orjson
import pytest

from console.errors import UnreadableFile
from console.runs.importers.parts.files import plain_files
from console.runs.log_reading import read_file
from console.trajectory import from_json
from console.trajectory.messages import split_opening
from tests.real_logs import calls_of

ASKED = {"role": "user", "content": "Bestellung 9 stornieren"}
CANCEL = [("cancel", {"order": 9})]
GIVEN = orjson.dumps({"order": 9}).decode()
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "cancel", "arguments": GIVEN}}]}


@pytest.fixture
def read(write, tmp_path):
    """A function that reads records as `import` does, and returns the report and the trajectories."""

    def read(*records, name="log.jsonl"):
        (tmp_path / "unpacked").mkdir(exist_ok=True)
        path = write(name, b"\n".join(map(orjson.dumps, records)))
        ((_, plain),) = plain_files(path, tmp_path / "unpacked")
        spool = read_file(plain)
        found = [from_json(body) for body in [*spool.lines][1::2]]
        spool.close()
        return spool.report, found

    return read


def calls(trajectory):
    return [call for step in trajectory.steps for call in calls_of(step)]


@pytest.mark.parametrize(
    "text",
    [
        f'<|python_tag|>{{"name": "cancel", "parameters": {GIVEN}}}<|eom_id|>',
        f'<tool_call>\n{{"name": "cancel", "parameters": {GIVEN}}}\n</tool_call>',
        f'[TOOL_CALLS] [{{"name": "cancel", "arguments": {GIVEN}}}]',
        f"<|channel|>commentary to=functions.cancel <|constrain|>json<|message|>{GIVEN}<|call|>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>cancel\n```json\n"
        + GIVEN
        + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        f'Thought: off it goes\n```json\n{{"action": "cancel", "action_input": {GIVEN}}}\n```',
        f'{{"action": "cancel", "action_input": {GIVEN}}}',
        f'{{"thoughts": {{"text": "off it goes"}}, "command": {{"name": "cancel", "args": {GIVEN}}}}}',
        "Thought: off it goes\nAction: cancel(order=9)",
        "Action: cancel(order=9)",
    ],
)
def test_a_call_that_a_model_writes_in_its_text_is_a_call_with_its_arguments(read, text):
    report, (one,) = read({"messages": [ASKED, {"role": "assistant", "content": text}, {**ASKED, "content": "ok"}]})
    assert calls(one) == CANCEL
    assert (report.calls, report.answers, one.steps[0].observation) == (1, 0, "ok")


def test_tags_of_a_call_hold_its_arguments(read):
    tags = (
        '<function_calls>\n<invoke name="cancel">\n<parameter name="order">9</parameter>\n</invoke>\n</function_calls>'
    )
    _, (one,) = read({"messages": [ASKED, {"role": "assistant", "content": tags}]})
    assert calls(one) == [("cancel", {"order": "9"})]
    assert one.steps[0].thought == ""


def test_actions_of_a_prompt_stay_in_the_agent_s_words(read):
    said = ["Thought: I look.\nAction: search[rote Tasse]", "Thought: there\n\nAction:\nput cup 1 in/on desk 1"]
    messages = [{"role": "assistant", "content": text} for text in said]
    _, (one,) = read({"messages": [ASKED, messages[0], {"role": "user", "content": "Observation: [B1]"}, messages[1]]})
    assert [(step.thought, step.action, step.observation) for step in one.steps] == [
        ("I look.", "search[rote Tasse]", "[B1]"),
        ("there", "put cup 1 in/on desk 1", ""),
    ]


def test_a_final_answer_as_a_json_action_is_an_answer(read):
    _, (one,) = read(
        {"messages": [ASKED, {"role": "assistant", "content": '{"action": "Final Answer", "action_input": "Done."}'}]}
    )
    assert [step.action for step in one.steps] == ['respond({"content":"Done."})']


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("The next action is ```click [12]```", "command in a code block (it stays in the text)"),
        ("```python\napi.cancel(9)\n```", "command in a code block (it stays in the text)"),
        ("Action: cancel it", "action in a text (it stays in the text)"),
    ],
)
def test_an_action_that_stays_in_a_text_is_named(read, text, what):
    report, _ = read({"messages": [ASKED, *[{"role": "assistant", "content": text}, ASKED] * 2]})
    assert (report.calls, {name: one.count for name, one in report.left_out.items()}) == (0, {what: 2})


@pytest.mark.parametrize(
    ("values", "outcomes"),
    [
        ({"score": [0.85, 0.5, 1, 0]}, ["finished", "finished", "succeeded", "failed"]),
        ({"score": [87, 1, 0, 100]}, ["finished"] * 4),
        ({"reward": [-1, 1, -0.35]}, ["finished"] * 3),
        ({"success": ["PASS", "failed", "partial", "ja"]}, ["succeeded", "failed", "finished", "finished"]),
        ({"resolved": [True, False, None]}, ["succeeded", "failed", "finished"]),
        ({"correct": [1, "no", ""]}, ["succeeded", "failed", "finished"]),
    ],
)
def test_only_a_clear_result_is_a_success_or_a_failure(read, values, outcomes):
    ((name, told),) = values.items()
    report, found = read(*({"id": str(at), "messages": [ASKED, CALL], name: value} for at, value in enumerate(told)))
    assert [one.outcome for one in found] == outcomes
    assert [one.gold.get(name) for one in found] == told
    unclear = sum(value is not None and one == "finished" for one, value in zip(outcomes, told, strict=True))
    named = report.left_out.get(f"value of {name} kept but not used (neither success nor failure)")
    assert (named.count if named else 0) == unclear


def test_messages_as_a_json_text_are_messages(read):
    report, (one,) = read({"instance_id": "i-1", "messages": orjson.dumps([ASKED, CALL]).decode(), "resolved": False})
    assert (one.task_id, one.outcome, calls(one)) == ("i-1", "failed", CANCEL)
    assert report.fault == ""


def test_events_of_a_google_adk_session_are_messages(read):
    events = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "Bestellung 9 stornieren"}]}},
        {"author": "shop", "content": {"role": "model", "parts": [{"function_call": {"id": "1", "name": "cancel", "args": {"order": 9}}}]}},
        {"author": "shop", "content": {"role": "user", "parts": [{"function_response": {"id": "1", "name": "cancel", "response": {"result": "ok"}}}]}},
    ]  # fmt: skip
    _, (one,) = read({"id": "s-1", "app_name": "shop", "events": events}, name="session.json")
    assert (one.task_id, one.instruction, calls(one)) == ("s-1", "Bestellung 9 stornieren", CANCEL)
    assert (one.steps[0].speaker, one.steps[0].observation) == ("shop", '{"result": "ok"}')


def test_the_root_of_a_trace_without_model_spans_holds_request_and_answer(read):
    asked = orjson.dumps({"messages": [ASKED]}).decode()
    spans = [
        {"trace_id": "t", "span_id": "1", "name": "agent", "start_time_unix_nano": 1, "end_time_unix_nano": 9,
         "attributes": {"mlflow.spanType": '"AGENT"', "mlflow.spanInputs": asked, "mlflow.spanOutputs": '"Storniert."'}},
        {"trace_id": "t", "span_id": "2", "parent_span_id": "1", "name": "cancel", "start_time_unix_nano": 3, "end_time_unix_nano": 4,
         "attributes": {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": GIVEN, "mlflow.spanOutputs": '"ok"'}},
    ]  # fmt: skip
    _, (one,) = read({"info": {"trace_id": "t"}, "data": {"spans": spans}}, name="trace.json")
    assert one.instruction == "Bestellung 9 stornieren"
    assert [step.action for step in one.steps] == ['cancel({"order":9})', 'respond({"content":"Storniert."})']


def test_a_server_s_tool_in_openhands_has_its_own_name(read):
    events = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "Bestellung 9 stornieren"}},
        {"id": 1, "source": "agent", "action": "call_tool_mcp", "args": {"name": "cancel", "arguments": {"order": 9}, "thought": "So."}},
        {"id": 2, "observation": "mcp", "content": "ok", "cause": 1},
    ]  # fmt: skip
    _, (one,) = read(events, name="events.json")
    assert (calls(one), one.steps[0].thought, one.steps[0].observation) == (CANCEL, "So.", "ok")


def test_roles_in_capitals_and_of_other_benchmarks_are_roles(read):
    said = [{"role": "User", "content": "Go"}, {**CALL, "role": "Agent"}, {"role": "environment", "content": "gone"}]
    report, (one,) = read({"messages": said})
    assert (one.instruction, calls(one), one.steps[0].observation, dict(report.left_out)) == ("Go", CANCEL, "gone", {})


@pytest.mark.parametrize(
    ("fields", "outcome", "named"),
    [
        ({"label": "aligned", "success": False}, "succeeded", "success kept but not used (contradicts label)"),
        ({"label": "misaligned", "reward": 1}, "failed", "reward kept but not used (contradicts label)"),
        ({"success": True, "resolved": "no"}, "succeeded", "resolved kept but not used (contradicts success)"),
        ({"label": "aligned", "success": True}, "succeeded", ""),
    ],
)
@pytest.mark.parametrize("shape", ["messages", "steps"])
def test_results_that_contradict_each_other_are_named(read, shape, fields, outcome, named):
    held = {"messages": [ASKED, CALL]} if shape == "messages" else {"steps": [{"action": "cancel_order(id=7)"}]}
    report, (one,) = read({"task_id": "t", "instruction": "Cancel order 7.", **held, **fields})
    assert one.outcome == outcome
    assert [name for name in report.left_out if "contradicts" in name] == ([f"value of {named}"] if named else [])


@pytest.mark.parametrize(
    ("reward", "outcome"),
    [(1, "succeeded"), (1.0000001, "succeeded"), (0.5, "failed"), (0, "failed"), (-1, "finished"), (7, "finished")],
)
def test_a_reward_outside_the_scale_of_tau_bench_is_no_result(read, reward, outcome):
    report, (one,) = read({"task_id": 3, "reward": reward, "info": {}, "traj": [ASKED, CALL]})
    assert (one.outcome, one.gold["reward"]) == (outcome, reward)
    assert ("value of reward kept but not used (neither success nor failure)" in report.left_out) == (
        outcome == "finished"
    )


def told(output):
    return {"id": "r-1", "object": "response", "output": output}


def test_a_program_and_a_search_of_tools_are_calls_with_their_results(read):
    report, (one,) = read(
        told(
            [
                {"type": "program", "call_id": "p", "code": "await tools.cancel({order: 9})", "fingerprint": "gAAA"},
                {"type": "program_output", "call_id": "p", "result": "gone"},
                {
                    "type": "tool_search_call",
                    "call_id": None,
                    "arguments": {"paths": ["cancel"]},
                    "execution": "server",
                },
                {"type": "tool_search_output", "call_id": None, "tools": [{"name": "cancel"}]},
            ]
        )
    )
    assert calls(one) == [
        ("program", {"code": "await tools.cancel({order: 9})"}),
        ("tool_search", {"paths": ["cancel"]}),
    ]
    assert [step.observation for step in one.steps] == ["gone", '[{"name": "cancel"}]']
    assert (report.format, report.left_out) == ("openai-responses", {})


@pytest.mark.parametrize("kind", ["tool_use", "mcp_tool_use"])
def test_an_answer_of_anthropic_alone_is_read_and_nothing_read_is_called_left_out(read, kind):
    report, (one,) = read({"type": "message", "role": "assistant", "id": "m-1", "stop_reason": "tool_use",
                           "content": [{"type": kind, "id": "1", "name": "cancel", "input": {"order": 9}}]})  # fmt: skip
    assert (report.format, report.left_out, calls(one)) == ("anthropic-messages", {}, CANCEL)
    assert one.extra == {"stop_reason": "tool_use"}


@pytest.mark.parametrize("wrapped", [True, False])
def test_messages_of_autogen_are_read(read, wrapped):
    said = [
        {"source": "user", "models_usage": None, "content": "Bestellung 9 stornieren", "type": "TextMessage"},
        {"source": "shop", "models_usage": {"prompt_tokens": 1}, "content": "Storniert.", "type": "TextMessage"},
    ]
    _, (one,) = read({"messages": said, "stop_reason": "done"} if wrapped else said, name="agent_history.json")
    assert (one.instruction, one.steps[0].action) == ("Bestellung 9 stornieren", 'respond({"content":"Storniert."})')


def test_the_setup_of_a_tool_is_not_the_request(read):
    setup = {"role": "user", "content": "<session_context>\nToday is Monday.\n</session_context>"}
    _, (one,) = read({"messages": [setup, {"role": "assistant", "content": "Got it."}, ASKED, CALL]})
    assert one.instruction == "Bestellung 9 stornieren"
    _, (alone,) = read({"messages": [setup, CALL]})
    assert alone.instruction == setup["content"]


def test_one_output_of_several_commands_is_not_shown_before_the_last(read):
    keys = [{"tool_call_id": str(at), "function_name": "bash", "arguments": {"keys": at}} for at in range(3)]
    steps = [
        {"step_id": 1, "source": "user", "message": "Aufräumen"},
        {"step_id": 2, "source": "agent", "message": "", "tool_calls": keys, "observation": {"results": [{"content": "$ 0\n$ 1\n$ 2"}]}},
    ]  # fmt: skip
    _, (one,) = read({"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "a"}, "steps": steps})
    assert [step.observation for step in one.steps] == ["", "", "$ 0\n$ 1\n$ 2"]


def test_the_prompt_of_terminus_is_not_the_user_s_request(read):
    told = 'Answer as JSON.\n{"keys": "ls", "duration": 0.1}\n\nTask Description:\nSort the invoices.\n\n\nCurrent terminal state:\n$'
    steps = [{"step_id": 1, "source": "user", "message": told}, {"step_id": 2, "source": "agent", "message": "Done."}]
    _, (one,) = read(
        {"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "terminus-2"}, "steps": steps}
    )
    assert one.instruction == "Sort the invoices."
    policy, _, words = split_opening(one.opening)
    assert (policy.split()[:3], "terminal state:" in policy, words) == (
        ["Answer", "as", "JSON."],
        True,
        one.instruction,
    )


def test_a_call_in_the_blocks_and_in_the_calls_of_a_message_is_one_call(read):
    """As LangChain writes answers of the Responses API, whose items have ids of their own."""
    block = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "cancel", "arguments": GIVEN}
    call = {"name": "cancel", "args": {"order": 9}, "id": "call_1", "type": "tool_call"}
    said = {"type": "text", "text": "Off it goes.", "id": "msg_1"}
    report, (one,) = read(
        {
            "messages": [
                {"type": "human", "content": "Bestellung 9 stornieren"},
                {"type": "ai", "content": [said, block], "tool_calls": [call]},
                {"type": "tool", "tool_call_id": "call_1", "name": "cancel", "content": "ok"},
            ]
        }
    )
    assert calls(one) == CANCEL
    assert (report.calls, report.left_out, one.steps[0].observation) == (1, {}, "ok")


def test_a_thought_of_autogen_is_no_answer(read):
    asked = {"type": "TextMessage", "source": "user", "content": "Bestellung 9 stornieren"}
    thought = {"type": "ThoughtEvent", "source": "shop", "content": "Off it goes."}
    call = {"id": "c1", "name": "cancel", "arguments": GIVEN}
    made = {"type": "ToolCallRequestEvent", "source": "shop", "content": [call]}
    back = {"content": "ok", "call_id": "c1", "name": "cancel", "is_error": False}
    ran = {"type": "ToolCallExecutionEvent", "source": "shop", "content": [back]}
    report, (one,) = read({"messages": [asked, thought, made, ran]})
    assert (calls(one), report.answers, report.left_out) == (CANCEL, 0, {})
    assert [(step.thought, step.observation) for step in one.steps] == [("Off it goes.", "ok")]
    inside = {"type": "AssistantMessage", "source": "shop", "content": [call], "thought": "Off it goes."}
    back = {"type": "FunctionExecutionResultMessage", "content": [back]}
    stored = {"messages": [{**asked, "type": "UserMessage"}, inside, back]}
    _, (again,) = read({"type": "AssistantAgentState", "version": "1.0.0", "llm_context": stored})
    assert (again.instruction, again.steps) == (one.instruction, one.steps)


def test_a_stored_run_of_the_agents_sdk_is_read_with_its_pending_call(read):
    call = {"type": "function_call", "call_id": "c1", "name": "cancel", "arguments": GIVEN}
    items = [
        {"type": "tool_call_item", "raw_item": call},
        {
            "type": "tool_call_output_item",
            "raw_item": {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        },
        {"type": "tool_approval_item", "raw_item": {**call, "call_id": "c2", "arguments": '{"order": 8}'}},
    ]
    state = {"$schemaVersion": "1.21", "original_input": "Bestellung 9 stornieren", "generated_items": items}
    report, (one,) = read({**state, "model_responses": [{"output": [call]}], "max_turns": 10})
    assert (one.instruction, calls(one)) == ("Bestellung 9 stornieren", [*CANCEL, ("cancel", {"order": 8})])
    assert [step.observation for step in one.steps] == ["ok", ""]
    assert (one.extra, report.left_out) == ({"max_turns": 10}, {})


def test_the_instructions_of_a_short_codex_session_are_its_policy(read):
    """A short session of a current version consists mostly of its instructions."""
    policy = "\n".join(f"{number}. Say what you are going to do before you do it." for number in range(300))
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Bestellung 9 stornieren"}]}
    call = {"type": "function_call", "name": "cancel", "arguments": GIVEN, "call_id": "c1"}
    back = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    records = [{"type": "session_meta", "payload": {"id": "s1", "base_instructions": {"text": policy}}}]
    records += [{"type": "response_item", "payload": one} for one in (item, call, back)]
    report, (one,) = read(*records, {"type": "token_usage_record", "payload": {"usage": {"input_tokens": 3}}})
    assert (one.instruction, calls(one), report.left_out) == ("Bestellung 9 stornieren", CANCEL, {})
    assert split_opening(one.opening)[0].strip() == policy


def test_the_prompts_of_browser_use_hold_the_task_and_the_pages(read):
    page = "Available tabs: 1\n[9]<button>Cancel order 9</button>"
    seen = (
        f"<agent_history>{'Nothing was done so far. ' * 400}</agent_history>\n<browser_state>\n{page}\n</browser_state>"
    )
    prompt = f"<user_request>\nBestellung 9 stornieren\n</user_request>\n\n{seen}"
    state = {"url": "https://shop.example", "title": "Shop", "tabs": [], "interacted_element": [None]}
    output = {"memory": "", "next_goal": "Cancel it", "action": [{"cancel": {"order": 9}}]}
    step = {"model_output": output, "result": [{"extracted_content": "ok"}], "state": state, "state_message": prompt}
    done = {**output, "action": [{"done": {"text": "Storniert.", "success": True}}]}
    report, (one,) = read({"history": [step, {**step, "model_output": done, "result": [{"is_done": True}]}]})
    assert (one.instruction, calls(one), report.left_out) == ("Bestellung 9 stornieren", CANCEL, {})
    assert page in one.opening
    assert one.steps[0].observation == f"ok\nPage: Shop https://shop.example\n{page}"


def test_a_stored_team_of_autogen_holds_its_thread_and_the_call_that_was_cut_off(read):
    call = {"id": "c1", "name": "cancel", "arguments": GIVEN}
    asked = {"content": "Bestellung 9 stornieren", "source": "user", "type": "TextMessage", "models_usage": None}
    context = [{**asked, "type": "UserMessage"}, {"content": [call], "source": "shop", "type": "AssistantMessage"}]
    agent = {"type": "ChatAgentContainerState", "agent_state": {"llm_context": {"messages": context}}}
    manager = {"type": "RoundRobinManagerState", "message_thread": [asked]}
    team = {"type": "TeamState", "version": "1.0.0", "agent_states": {"shop": agent, "Manager": manager}}
    _, (one,) = read(team)
    assert (one.instruction, calls(one)) == ("Bestellung 9 stornieren", CANCEL)
    done = {"source": "shop", "type": "ToolCallRequestEvent", "content": [call]}
    manager["message_thread"] = [asked, done, {**done, "type": "TextMessage", "content": "Storniert."}]
    _, (one,) = read(team)
    assert [step.action for step in one.steps] == ['cancel({"order":9})', 'respond({"content":"Storniert."})']


def test_prompts_of_smolagents_are_refused_with_the_file_to_bring(read):
    called = "Calling tools:\n[{'id': 'c1', 'type': 'function', 'function': {'name': 'cancel', 'arguments': {}}}]"
    told = [ASKED, {"role": "assistant", "content": "So."}, {"role": "tool-call", "content": called}]
    with pytest.raises(UnreadableFile, match=r"Write the steps of agent\.memory\.get_full_steps"):
        read(told)


def test_the_prompts_that_bedrock_prints_as_java_does_are_accounted_for(read):
    said = "Bitte die Bestellung 9 stornieren.\nDas eilt sehr, denn sie wird heute verschickt."
    thought = "I cancel the order with the number nine."
    use = {"role": "assistant", "content": f"[{{text={thought}, type=text}}, {{input={{order=9}}, name=shop__cancel}}]"}
    told = {"role": "user", "content": f"[{{text={said}, type=text}}]"}

    def part(**step):
        return {"agentId": "A1", "sessionId": "b-1", "trace": {"orchestrationTrace": step}}

    def prompt(*messages):
        return {"text": orjson.dumps({"system": "Be exact.", "messages": messages}).decode()}

    call = {"function": "cancel", "parameters": [{"name": "order", "type": "integer", "value": "9"}]}
    records = [part(modelInvocationInput=prompt(told)), part(rationale={"text": thought})]
    records += [part(invocationInput={"actionGroupInvocationInput": call})]
    records += [part(observation={"actionGroupInvocationOutput": {"text": "ok"}})]
    records += [part(modelInvocationInput=prompt(told, use, {"role": "user", "content": "[{toolUseId=t1, text=ok}]"}))]
    records += [part(observation={"finalResponse": {"text": "Storniert."}})]
    report, (one,) = read(*records)
    assert (one.instruction, calls(one), report.fault) == (said, CANCEL, "")
    assert "prompts" not in one.extra
    assert report.coverage.share == 1


def block(name, **fields):
    return {"block_type": name, **fields}


BACK = {"role": "tool", "content": "ok", "tool_call_id": "c1"}
FORMS = {
    "haystack": [
        {"role": "user", "content": [{"text": ASKED["content"]}], "meta": {}, "name": None},
        {
            "role": "assistant",
            "content": [{"tool_call": {"tool_name": "cancel", "arguments": {"order": 9}, "id": "c1"}}],
        },
        {"role": "tool", "content": [{"tool_call_result": {"result": "ok", "origin": {"id": "c1"}, "error": False}}]},
    ],
    "haystack, older": [
        {"_role": "user", "_content": [{"text": ASKED["content"]}], "_meta": {}, "_name": None},
        {
            "_role": "assistant",
            "_content": [{"tool_call": {"tool_name": "cancel", "arguments": {"order": 9}, "id": "c1"}}],
        },
        {"_role": "tool", "_content": [{"tool_call_result": {"result": "ok", "origin": {"id": "c1"}, "error": False}}]},
    ],
    "llama-index": [
        {"role": "user", "additional_kwargs": {}, "blocks": [block("text", text=ASKED["content"])]},
        {"role": "assistant", "blocks": [block("tool_call", tool_call_id="c1", tool_name="cancel", tool_kwargs=GIVEN)]},
        {"role": "tool", "additional_kwargs": {"tool_call_id": "c1"}, "blocks": [block("text", text="ok")]},
    ],
    "semantic-kernel": [
        {"role": "user", "items": [{"content_type": "text", "text": ASKED["content"]}]},
        {
            "role": "assistant",
            "items": [{"content_type": "function_call", "id": "c1", "name": "cancel", "arguments": GIVEN}],
        },
        {"role": "tool", "items": [{"content_type": "function_result", "id": "c1", "name": "cancel", "result": "ok"}]},
    ],
    "adk": [
        {"author": "user", "content": {"role": "user", "parts": [{"text": ASKED["content"]}]}, "invocationId": "i1"},
        {
            "author": "shop",
            "content": {
                "role": "model",
                "parts": [{"functionCall": {"id": "c1", "name": "cancel", "args": {"order": 9}}}],
            },
        },
        {
            "author": "shop",
            "content": {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "cancel", "response": {"result": "ok"}}}],
            },
        },
    ],
    "openai": [ASKED, {**CALL, "tool_calls": [{"id": "c1", **CALL["tool_calls"][0]}]}, BACK],
    "strands": [
        {"message_id": place, "redact_message": None, "message": {"role": role, "content": [part]}}
        for place, (role, part) in enumerate(
            [
                ("user", {"text": ASKED["content"]}),
                ("assistant", {"toolUse": {"toolUseId": "c1", "name": "cancel", "input": {"order": 9}}}),
                ("user", {"toolResult": {"toolUseId": "c1", "content": [{"text": "ok"}]}}),
            ]
        )
    ],
    "langchain": [
        {"type": "human", "content": ASKED["content"]},
        {"type": "ai", "content": "", "tool_calls": [{"name": "cancel", "args": {"order": 9}, "id": "c1"}]},
        {"type": "tool", "content": "ok", "tool_call_id": "c1"},
    ],
}


def renamed(name):
    """The messages of a form with another id of the call."""
    return orjson.loads(orjson.dumps(FORMS[name]).replace(b'"c1"', b'"c2"'))


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_list", [True, False])
def test_messages_of_a_framework_are_read_from_a_list_and_from_lines(read, name, is_list):
    messages = FORMS[name]
    report, (one,) = read(messages) if is_list else read(*messages)
    assert (one.instruction, calls(one), report.left_out) == (ASKED["content"], CANCEL, {})
    assert "ok" in one.steps[-1].observation
    assert report.coverage.share == 1


@pytest.mark.parametrize(
    "stored",
    [
        {"class_name": "SimpleChatStore", "store": {"ada": FORMS["llama-index"], "bob": renamed("llama-index")}},
        [{"session_id": "s1", "runs": [{"messages": FORMS["openai"]}, {"messages": renamed("openai")}]}],
        {"raw": "ok", "tasks_output": [{"messages": FORMS["openai"]}, {"messages": renamed("openai")}]},
        [{"run_id": name, "run_data": {"messages": FORMS["openai"]}} for name in ("r1", "r2")],
    ],
)
def test_every_conversation_of_a_store_is_read(read, stored):
    _, found = read(stored)
    assert [calls(one) for one in found] == [CANCEL, CANCEL]


def test_lines_of_several_sessions_are_apart(read):
    policy = {"role": "system", "content": "Be exact."}
    _, found = read(policy, *FORMS["openai"], policy, *FORMS["openai"])
    assert [calls(one) for one in found] == [CANCEL, CANCEL]
    _, found = read(*({**one, "session_id": name} for one in FORMS["openai"] for name in ("s1", "s2")))
    assert [calls(one) for one in found] == [CANCEL, CANCEL]
    _, found = read(*FORMS["strands"], *FORMS["strands"])
    assert [calls(one) for one in found] == [CANCEL, CANCEL]


def test_a_single_message_of_a_session_is_named_as_such(read):
    report, (one,) = read(FORMS["strands"][1])
    assert calls(one) == CANCEL
    assert [*report.left_out] == ["beginning of the session (its first message has number 1)"]


def test_a_request_that_two_instrumentations_recorded_is_read_once(read):
    def model(span_id, parent, start):
        told = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": orjson.dumps([ASKED]).decode()}
        told["gen_ai.output.messages"] = orjson.dumps([CALL]).decode()
        ids = {"trace_id": "t", "span_id": span_id}
        return {"name": "chat", "context": ids, "parent_id": parent, "start_time": start, "attributes": told}

    _, (one,) = read(model("a", None, "1"), model("b", "a", "2"), model("c", None, "3"), model("d", "c", "4"))
    assert calls(one) == CANCEL * 2


def test_a_failed_request_of_a_batch_is_skipped_with_the_reason(read):
    answer = {"status_code": 200, "body": {"choices": [{"message": CALL}]}}
    failed = {"status_code": 500, "body": {"error": {"message": "overloaded"}}}
    report, (one,) = read({"custom_id": "r-1", "response": answer}, {"custom_id": "r-2", "response": failed})
    assert (calls(one), report.skipped, report.unasked) == (CANCEL, 1, 1)
    assert report.notes == [{"line": 2, "reason": "The request failed, so there is nothing to review"}]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"index": 0, "output": {"history": [ASKED]}, "time": {}}, "runs of AgentBench"),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, "Import the log of the agent"),
        ([{"task_name": "t", "task": "Cancel", "agent": "shop", "output": "ok"}], r"model_dump_json\(\)"),
        ([{"session_id": "s1", "session_data": {}, "agent_data": {}}], r"Import agno_runs\.json"),
    ],
)
def test_a_file_beside_the_log_of_a_program_is_refused_with_what_to_bring(read, record, sentence):
    with pytest.raises(UnreadableFile, match=sentence):
        read(record)


def test_a_second_document_behind_a_list_is_named(read):
    session = {"session_id": "s1", "runs": [{"messages": FORMS["openai"]}]}
    with pytest.raises(UnreadableFile, match="A second JSON document follows the first"):
        read(session, session)
