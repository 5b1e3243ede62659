"""A chat loop whose calls go through the gate."""

import json
import threading

import pytest
from openai.types.chat import ChatCompletionMessage
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput
from console.gate import Gate
from console.gate.openai_tools import run_calls
from console.gate.policy import policy_store
from console.review import decisions
from console.trajectory import from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from storage import tables
from storage.queue import Claim


@pytest.fixture
def gate(url):
    with writing(url) as session:
        policy_store.save(session, None, "{default: ask, rules: [{tool: look_*, then: allow}]}", "ada", now_ms())
    return Gate("bot", "full-validation", ["refund"], undo_s=0, poll_s=0.01, url=url)


@pytest.fixture
def tools():
    """Two tools, and what was done with them."""
    done = []
    return done, {
        "look_up": lambda order: {"order": order, "paid": 20},
        "refund": lambda order, amount: done.append((order, amount)) or "refunded",
    }


def call(id, name, **arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def conversation(*calls):
    return [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Refund order 7, please."},
        {"role": "assistant", "content": None, "tool_calls": list(calls)},
    ]


def answering(gate, answer):
    """A reviewer in a thread who gives the next item that answer."""

    def work():
        url, claim = gate.open(), None
        while not isinstance(claim, Claim):
            with reading(url) as session:
                run = runs.get(session, "bot")
                claim = decisions.claim_next_item(review_queue(url), session, run, "ann", now_ms())
        decisions.submit(review_queue(url), run, claim, "ann", answer, now_ms())

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_call_that_is_not_critical_runs_at_once(gate, tools):
    (answer,) = run_calls(gate, conversation(call("a", "look_up", order=7)), tools[1], task_id="7")
    assert answer == {"role": "tool", "tool_call_id": "a", "content": '{"order":7,"paid":20}'}


def test_rejected_call_does_not_run_and_the_agent_reads_why(gate, tools):
    person = answering(gate, decisions.ReviewDecision("reject", "They paid 20."))
    (answer,) = run_calls(gate, conversation(call("a", "refund", order=7, amount=30)), tools[1], task_id="7")
    person.join()
    assert answer["content"] == "This call was not run. They paid 20."
    assert tools[0] == []


def test_edited_call_runs_as_the_reviewer_wrote_it(gate, tools):
    person = answering(gate, decisions.ReviewDecision("edit", edited_action='refund({"order": 7, "amount": 20})'))
    run_calls(gate, conversation(call("a", "refund", order=7, amount=30)), tools[1], task_id="7")
    person.join()
    assert tools[0] == [(7, 20)]


def test_edit_to_a_call_of_no_such_tool_runs_nothing(gate, tools):
    edit = decisions.ReviewDecision("edit", edited_action='drop_database({"order": 7})', allow_other_tool=True)
    person = answering(gate, edit)
    (answer,) = run_calls(gate, conversation(call("a", "refund", order=7, amount=30)), tools[1], task_id="7")
    person.join()
    assert "not run" in answer["content"]
    assert tools[0] == []


def test_arguments_that_cannot_be_read_run_nothing(gate, tools):
    broken = {"id": "a", "function": {"name": "look_up", "arguments": "{order: 7"}}
    person = answering(gate, decisions.ReviewDecision("approve"))
    (answer,) = run_calls(gate, conversation(broken), tools[1], task_id="7")
    person.join()
    assert answer["content"].startswith("This call was not run")


def test_second_call_of_a_message_is_seen_with_the_result_of_the_first(gate, tools):
    both = conversation(call("a", "look_up", order=7), call("b", "refund", order=7, amount=20))
    person = answering(gate, decisions.ReviewDecision("approve"))
    answers = run_calls(gate, both, tools[1], task_id="7")
    person.join()
    assert [answer["tool_call_id"] for answer in answers] == ["a", "b"]
    assert tools[0] == [(7, 20)]
    with reading(gate.open()) as session:
        item = session.exec(select(tables.Item)).one()
        body = session.exec(select(tables.TrajectoryBody.body)).one()
    seen = checkpoint_at(from_json(body), item.step, CheckpointKind.ACTION)
    assert seen.instruction == "Refund order 7, please."
    assert seen.action == 'refund({"order":7,"amount":20})'
    assert [(step.action, step.observation) for step in seen.steps] == [
        ('look_up({"order":7})', '{"order":7,"paid":20}')
    ]


def test_messages_of_the_client_are_understood(gate, tools):
    plain = conversation(call("a", "look_up", order=7))
    message = ChatCompletionMessage.model_validate(plain[-1])
    assert run_calls(gate, [*plain[:-1], message], tools[1], task_id="7")[0]["tool_call_id"] == "a"


def test_message_without_calls_has_nothing_to_run(gate, tools):
    assert run_calls(gate, [{"role": "user", "content": "hello"}], tools[1], task_id="7") == []
    with pytest.raises(BadInput, match="not a message"):
        run_calls(gate, ["hello"], tools[1], task_id="7")


def step_texts(gate):
    """The instruction, and each step's thought, action and observation before the action that was asked about last."""
    with reading(gate.open()) as session:
        item = session.exec(select(tables.Item).order_by(tables.Item.id.desc())).first()
        body = session.exec(select(tables.TrajectoryBody.body)).one()
    seen = checkpoint_at(from_json(body), item.step, CheckpointKind.ACTION)
    return seen.instruction, [(step.thought, step.action, step.observation) for step in seen.steps]


def test_what_the_agent_thought_stands_at_the_first_call_of_its_message_alone(gate, tools):
    first = [call("a", "look_up", order=6), call("b", "look_up", order=7)]
    second = [call("c", "look_up", order=8), call("d", "look_up", order=9), call("e", "refund", order=7, amount=20)]
    told = conversation(*first)
    told[-1]["content"] = "I look at both."
    told += [{"role": "tool", "tool_call_id": id, "content": f"order {id}"} for id in ("b", "a")]
    told += [{"role": "assistant", "content": "One moment."}, {"role": "user", "content": "Hurry."}]
    told += [{"role": "assistant", "reasoning": "They paid.", "content": "Two more.", "tool_calls": second}]
    person = answering(gate, decisions.ReviewDecision("approve"))
    run_calls(gate, told, tools[1], task_id="7")
    person.join()
    assert step_texts(gate) == (
        "Refund order 7, please.",
        [
            ("I look at both.", 'look_up({"order":6})', "order a"),
            ("", 'look_up({"order":7})', "order b"),
            ("", 'respond({"content":"One moment."})', "Hurry."),
            ("They paid.\n\nTwo more.", 'look_up({"order":8})', '{"order":8,"paid":20}'),
            ("", 'look_up({"order":9})', '{"order":9,"paid":20}'),
        ],
    )


def test_task_that_is_given_stands_for_the_users_first_words(gate, tools):
    person = answering(gate, decisions.ReviewDecision("reject"))
    told = conversation(call("a", "refund", order=7, amount=20))
    run_calls(gate, told, tools[1], task_id="7", task="Refund by the rules.", trial=2)
    person.join()
    assert step_texts(gate) == ("Refund by the rules.", [])
    with reading(gate.open()) as session:
        record = session.exec(select(tables.Trajectory)).one()
        assert (session.exec(select(tables.Task)).one().task_key, record.trial) == ("7", 2)


def test_rejected_first_call_is_a_step_of_the_second_as_the_agent_wrote_it(gate, tools):
    both = conversation(call("a", "refund", order=7, amount=30), call("b", "refund", order=7, amount=20))
    first = answering(gate, decisions.ReviewDecision("reject", "They paid 20."))

    def second():
        first.join()
        answering(gate, decisions.ReviewDecision("approve", "Fine.")).join()

    person = threading.Thread(target=second)
    person.start()
    answers = run_calls(gate, both, tools[1], task_id="7")
    person.join()
    assert [answer["content"] for answer in answers] == [
        "This call was not run. They paid 20.",
        "refunded\n(The reviewer says: Fine.)",
    ]
    assert tools[0] == [(7, 20)]
    assert ('refund({"order":7,"amount":30})', "This call was not run. They paid 20.") in [
        one[1:] for one in step_texts(gate)[1]
    ]


def test_what_a_tool_raises_goes_up_and_nothing_says_that_it_ran(gate):
    def refund(order, amount):
        raise ConnectionError(f"no answer about {order}")

    person = answering(gate, decisions.ReviewDecision("approve"))
    with pytest.raises(ConnectionError, match="no answer about 7"):
        run_calls(gate, conversation(call("a", "refund", order=7, amount=20)), {"refund": refund}, task_id="7")
    person.join()
    with reading(gate.open()) as session:
        assert session.exec(select(tables.Intent)).one().finished_ms is None


def test_result_of_an_approved_call_is_recorded_as_done(gate, tools):
    person = answering(gate, decisions.ReviewDecision("approve"))
    run_calls(gate, conversation(call("a", "refund", order=7, amount=20)), tools[1], task_id="7")
    person.join()
    with reading(gate.open()) as session:
        assert session.exec(select(tables.Intent)).one().finished_ms is not None
        last = from_json(session.exec(select(tables.TrajectoryBody.body)).one()).steps[-1]
    assert (last.action, last.observation) == ('refund({"order":7,"amount":20})', "refunded")


@pytest.mark.parametrize("arguments", ["[7]", "7", ""])
def test_arguments_that_are_no_names_and_values_run_nothing_and_name_the_tools(gate, tools, arguments):
    broken = {"id": "a", "function": {"name": "look_up", "arguments": arguments}}
    person = answering(gate, decisions.ReviewDecision("approve")) if arguments else None
    (answer,) = run_calls(gate, conversation(broken), {"look_up": lambda: "nothing asked"}, task_id="7")
    if person:
        person.join()
        assert answer["content"].startswith("This call was not run: look_up(")
        assert "is not a call of look_up with its arguments as JSON." in answer["content"]
    else:
        assert answer["content"] == "nothing asked"


@pytest.mark.parametrize(("given", "trial"), [({}, 0), ({"trial": 2}, 2)])
def test_calls_are_of_the_first_trial_unless_another_is_given(gate, tools, given, trial):
    alone = Gate("bot", "full-validation", ["refund"], timeout_s=0, url=gate.open())
    run_calls(alone, conversation(call("a", "refund", order=7, amount=2)), tools[1], task_id="t", **given)
    with reading(gate.open()) as session:
        assert session.exec(select(tables.Trajectory.trial)).all() == [trial]


def test_a_call_without_a_name_is_refused(gate, tools):
    _, known = tools
    call = {"id": "1", "type": "function", "function": {"arguments": "{}"}}
    messages = [{"role": "user", "content": "Refund order 12."}, {"role": "assistant", "tool_calls": [call]}]
    with pytest.raises(BadInput, match="A tool call has no name, so it cannot be checked"):
        run_calls(gate, messages, known, task_id="t")
