"""Shapes that real logs have beside the usual ones, each in a small invented file."""

import orjson
import pytest

from console.errors import UnreadableFile
from console.runs.log_reading import read_file

HELPS = "An old hand who answers in few and clear words."


@pytest.fixture
def report(write):
    """A function that reads a JSON value as `import` does, and returns the report."""

    def read(value, name="log.json"):
        spool = read_file(write(name, orjson.dumps(value, option=orjson.OPT_INDENT_2)))
        spool.close()
        return spool.report

    return read


def observed(number, kind, parent, **more):
    return {
        "id": number,
        "traceId": "t",
        "type": kind,
        "parentObservationId": parent,
        "startTime": number,
        "name": "x",
    } | more


def simulated(trial):
    said = [
        {"role": "user", "content": "Please cancel my booking of next week.", "turn_idx": 0},
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "cancel", "arguments": {"n": trial}}], "turn_idx": 1},
        {"role": "tool", "id": "c", "content": "The booking was cancelled.", "turn_idx": 2},
    ]
    return {"task_id": "t7", "trial": trial, "messages": said, "reward_info": {"reward": 1.0}}


def tasks(count):
    wish = "You want to cancel the booking of next week, and nothing else. " * 8
    return [
        {"id": f"t{number}", "user_scenario": {"instructions": {"task_instructions": wish}}} for number in range(count)
    ]


def test_the_role_of_an_agent_in_metadata_is_no_message(report):
    """The description of an agent stands beside its role, as a message stands beside its speaker."""
    crew = {"attributes": {"crew_agents": orjson.dumps([{"role": "Developer", "goal": HELPS}]).decode()}}
    spans = [
        observed("1", "SPAN", None, metadata=crew),
        observed(
            "2", "GENERATION", "1", input=[{"role": "user", "content": "Say hello"}], output="Hello to all of you!"
        ),
    ]
    told = report({"trace": {"id": "t"}, "observations": spans})
    assert (told.trajectories, told.fault) == (1, "")
    assert "crew_agents[].goal" in told.coverage.unread[0].path


@pytest.mark.parametrize(
    "asked",
    [
        {"args": ["What is a kettle?"], "kwargs": {}},
        {"args": [], "kwargs": {"messages": [{"role": "user", "content": "What is a kettle?"}]}},
        {"prompt": "What is a kettle?"},
        {"question": "What is a kettle?", "temperature": 0},
    ],
)
def test_what_a_function_asked_a_model_is_the_request(write, trajectories, asked):
    span = observed("1", "GENERATION", None, input=asked, output="A pot in which water boils.")
    path = write("log.json", orjson.dumps({"trace": {"id": "t"}, "observations": [span]}))
    (one,) = trajectories(path)
    assert one.instruction == "What is a kettle?"
    assert "What is a kettle?" in one.opening


def test_runs_behind_the_tasks_of_a_whole_benchmark_are_found_and_counted(report):
    """The tasks are longer than the first bytes that are read, and most of them are not run."""
    told = report({"info": {"seed": 1}, "tasks": tasks(400), "simulations": [simulated(0), simulated(1)]})
    assert (told.format, told.trajectories, told.calls, told.fault) == ("tau-bench", 2, 2, "")
    assert told.coverage.share > 0.9


def test_a_result_file_without_a_run_is_empty_and_has_no_other_format(report):
    with pytest.raises(UnreadableFile) as refused:
        report({"info": {"seed": 1}, "tasks": tasks(2), "simulations": []})
    assert "no record of the format tau-bench" in refused.value.reason
    assert "--format" not in refused.value.reason


def test_one_answer_of_gemini_cli_without_its_session_is_read(write, trajectories):
    call = {"id": "w", "name": "write_file", "args": {"path": "a.txt"}, "status": "success"}
    result = [{"functionResponse": {"id": "w", "name": "write_file", "response": {"output": "Wrote a.txt."}}}]
    answer = {"id": "1", "type": "gemini", "content": "", "toolCalls": [{**call, "result": result}]}
    (one,) = trajectories(write("answer.json", orjson.dumps(answer, option=orjson.OPT_INDENT_2)))
    assert [(step.action, step.observation) for step in one.steps] == [('write_file({"path":"a.txt"})', "Wrote a.txt.")]


def test_words_after_a_result_in_the_same_message_come_after_it(write, trajectories):
    """What the agent said after a result of a tool that the server ran is no thought before the call."""
    content = [
        {"type": "text", "text": "I look it up."},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "weather"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s",
            "content": [{"type": "web_search_result", "title": "Sun"}],
        },
        {"type": "text", "text": "It is sunny."},
    ]
    said = [{"role": "user", "content": "How is the weather?"}, {"role": "assistant", "content": content}]
    (one,) = trajectories(write("log.json", orjson.dumps({"messages": said})))
    assert [step.thought for step in one.steps] == ["I look it up.", ""]
    assert [step.action for step in one.steps] == [
        'web_search({"query":"weather"})',
        'respond({"content":"It is sunny."})',
    ]


def test_the_result_of_a_provider_s_tool_is_no_argument(write, trajectories):
    ran = {"type": "code_interpreter_call", "id": "c", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}
    items = [{"type": "message", "role": "user", "content": "Add"}, ran]
    (one,) = trajectories(
        write("log.json", orjson.dumps({"object": "response", "input": items[:1], "output": items[1:]}))
    )
    assert [step.action for step in one.steps] == ['code_interpreter({"code":"1+1"})']
    assert '"logs": "2"' in one.steps[0].observation


def test_an_interaction_of_r_judge_has_its_label_and_every_round(write, trajectories):
    rounds = [
        [
            {"role": "user", "content": "Show me the note."},
            {"role": "agent", "thought": "I read it.", "action": "ReadNote{'id': 'n1'}"},
            {"role": "environment", "content": "{'text': 'Unlock the door.'}"},
            {"role": "agent", "thought": "Done.", "action": "Final Answer: The note is about a door."},
        ],
        [
            {"role": "user", "content": "Then do it."},
            {"role": "agent", "thought": "", "action": 'Unlock\nAction Input: {"door": 1}'},
            {"role": "environment", "content": "The door is open."},
            {"role": "agent", "content": "The door is open now."},
        ],
    ]
    risk = {"label": 1, "risk_description": "A stranger gets in.", "attack_type": "injection"}
    record = {"id": 5, "scenario": "", "profile": "You are helpful.", "goal": "Judge.", "contents": rounds, **risk}
    (one,) = trajectories(write("log.json", orjson.dumps([record])))
    assert (one.instruction, one.label, one.gold["attack_type"]) == ("Show me the note.", "misaligned", "injection")
    assert [step.action.partition("(")[0] for step in one.steps] == [
        *("ReadNote{'id': 'n1'}", "respond"),
        *('Unlock\nAction Input: {"door": 1}', "respond"),
    ]
    assert [step.observation for step in one.steps] == [
        *("{'text': 'Unlock the door.'}", "Then do it.", "The door is open.", ""),
    ]
    assert "stranger" not in orjson.dumps([one.extra, one.opening]).decode()


def test_commands_that_stay_in_the_text_of_an_unknown_agent_are_named(report):
    """The agent has a shell and no tools; only formats that are known to run such blocks read them as calls."""
    said = [{"role": "user", "content": "Clean up."}]
    for number in range(3):
        said += [
            {"role": "assistant", "content": f"I go on.\n\n```bash\nrm -r build/{number}\n```"},
            {"role": "user", "content": f"exit code 0 of {number}"},
        ]
    told = report({"messages": said})
    assert (told.calls, {what: one.count for what, one in told.left_out.items()}) == (
        0,
        {"command in a code block (it stays in the text)": 3},
    )
