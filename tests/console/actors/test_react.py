"""The model as Actor, against a real server: what it is told, how its replies are read, and a whole trial."""

import asyncio
import re
from dataclasses import replace
from functools import partial

import pytest

from console.actors.move import Actor, ActorView, Move, Reflection
from console.actors.react import REACT, act, build_chat, read_move, reflect
from console.environments import ENVIRONMENTS
from console.environments.alfworld.tasks import WORDINGS
from console.llm import LLM, ClientOptions
from console.llm.errors import ModelRefused, ModelUnavailable, NoModel
from console.settings import settings
from console.trajectory import Step
from tests.fakes.answers import Fault
from tests.fakes.endpoint import serving
from tests.fakes.judges import in_turn

VIEW = ActorView("webshop", "find me a lamp", "Webshop [Search]", (Step("I search.", "search[lamp]", "two lamps"),))


def with_actor(endpoint, use, **options):
    """What `use` makes of an Actor at that endpoint."""

    async def made():
        async with LLM("test", ClientOptions(base_url=endpoint.url, **options)) as llm:
            return await use(Actor("react", "ReAct", partial(act, llm), partial(reflect, llm)))

    return asyncio.run(made())


@pytest.mark.parametrize(
    ("reply", "thought", "action"),
    [
        ("Thought: I look.\nAction: search[lamp]", "I look.", "search[lamp]"),
        ("I look.\nAction: search[lamp]", "I look.", "search[lamp]"),
        ("Thought 3: I look.\nAction 3: search[lamp]", "I look.", "search[lamp]"),
        ("**Thought:** I look.\n**Action:** `search[lamp]`", "I look.", "search[lamp]"),
        ("```\nThought: I look.\nAction: search[lamp]\n```", "I look.", "search[lamp]"),
        ("thought: I look.\naction: > go to fridge 1", "I look.", "go to fridge 1"),
        ("> go to fridge 1", "", "go to fridge 1"),
        ("I look.\n> go to fridge 1", "I look.", "go to fridge 1"),
        (
            "Thought: I look.\nAction: search[lamp]\nObservation: found\nAction: click[Buy Now]",
            "I look.",
            "search[lamp]",
        ),
        ("Action: click[a]\nAction: click[b]", "", "click[a]"),
        ("Thought: I look.\nAction: search[lamp]\nThen I will buy it.", "I look.", "search[lamp]"),
        ('Thought: pay\nAction: pay({\n  "to": "a"\n})\nDone.', "pay", 'pay({\n  "to": "a"\n})'),
        ("I would rather not say.", "", "I would rather not say."),
        ("Thought: I see: a lamp\nAction: Finish[yes: it is]", "I see: a lamp", "Finish[yes: it is]"),
        ('{"thought": "I look.", "action": "search[lamp]"}', "I look.", "search[lamp]"),
        ('```json\n{"action": "search[lamp]"}\n```', "", "search[lamp]"),
        ('{"name": "search", "arguments": {"q": "lamp"}}', "", '{"name": "search", "arguments": {"q": "lamp"}}'),
        ("Thought: I should look around first.", "I should look around first.", ""),
        ("Thought: I look.\nThought: and again", "I look.\nand again", ""),
        ("Thought: I look.\nsearch[lamp]", "I look.", "search[lamp]"),
        ("", "", ""),
        ("Action:", "", ""),
        ("Observation: made up", "", ""),
    ],
)
def test_a_reply_is_read_tolerantly_and_only_its_first_action(reply, thought, action):
    assert read_move(reply) == Move(thought, action)


def test_the_model_is_told_the_task_its_moves_and_what_came_of_them():
    system, task, move, seen = build_chat(VIEW)
    assert system["role"] == "system"
    assert "click[Buy Now]" in system["content"]
    assert "find me a lamp" in task["content"]
    assert move == {"role": "assistant", "content": "Thought: I search.\nAction: search[lamp]"}
    assert seen == {"role": "user", "content": "Observation: two lamps"}


def test_of_its_memory_it_sees_the_last_three_entries():
    view = ActorView("alfworld", "put a mug", "You are here.", (), ("alpha", "beta", "gamma\nover two lines", "delta"))
    told = build_chat(view)[1]["content"]
    assert "alpha" not in told
    assert told.index("- beta") < told.index("- gamma\n  over two lines") < told.index("- delta")


def test_without_memory_nothing_is_said_of_earlier_attempts():
    assert "before" not in build_chat(VIEW)[1]["content"]


@pytest.mark.parametrize("environment", ["webshop", "hotpotqa", "alfworld", "tau-bench", "generic"])
def test_every_environment_can_be_told(environment):
    assert len(build_chat(ActorView(environment, "a task", "a start", ()))) == 2


def test_a_reply_that_is_too_short_is_asked_for_again():
    with serving(in_turn("", "Ok.", "Action: search[lamp]")) as endpoint:
        move = with_actor(endpoint, lambda actor: actor.act(VIEW))
    assert move.action == "search[lamp]"
    assert endpoint.requests == 3


def test_a_thought_alone_is_a_step_without_effect_and_never_an_action():
    with serving("Thought: I should look around first.") as endpoint:
        move = with_actor(endpoint, lambda actor: actor.act(VIEW))
        question = with_actor(endpoint, lambda actor: actor.act(replace(VIEW, environment="hotpotqa")))
    assert (move.thought, move.action) == ("", "think[I should look around first.]")
    assert question.action.startswith("think[I should look around first.")
    with serving("Action:          ") as endpoint:
        assert with_actor(endpoint, lambda actor: actor.act(VIEW)).action.startswith("think[no action")


def test_a_short_reply_is_requested_six_times_and_no_more(tmp_path):
    with serving("no") as endpoint:
        move = with_actor(endpoint, lambda actor: actor.act(VIEW), cache_dir=tmp_path)
        assert (move.thought, move.action) == ("", "no")
        assert endpoint.requests == 6
        with_actor(endpoint, lambda actor: actor.act(VIEW), cache_dir=tmp_path)
        assert endpoint.requests == 6


def test_an_endpoint_that_fails_is_a_named_error_and_no_move():
    with serving(in_turn(Fault("500"))) as endpoint, pytest.raises(ModelUnavailable):
        with_actor(endpoint, lambda actor: actor.act(VIEW), retries=0)


def test_after_a_refusal_it_writes_a_plan_from_its_own_record_without_gold():
    steps = (Step("I search.", "search[lamp]", "two lamps"),)
    reflection = Reflection("webshop", "find me a lamp", steps, "click[Buy Now]", ("read the features",))
    with serving("**New plan:** The lamp was blue.\nChoose the white one.") as endpoint:
        plan = with_actor(endpoint, lambda actor: actor.reflect(reflection))
    assert plan == "The lamp was blue. Choose the white one."
    told = endpoint.asks[0].text
    for part in ("search[lamp]", "two lamps", "find me a lamp", "click[Buy Now]", "- read the features"):
        assert part in told
    assert endpoint.asks[0].body["temperature"] == 0


def test_a_halted_trial_has_no_rejected_action_in_its_plan():
    with serving("New plan: stop earlier.") as endpoint:
        with_actor(endpoint, lambda actor: actor.reflect(Reflection("hotpotqa", "who?", (), "")))
    assert "no result" in endpoint.asks[0].text


def test_a_whole_trial_is_played():
    task = ENVIRONMENTS["hotpotqa"].tasks(3, 1)[0]
    subject = task.gold["supporting_facts"][0]["title"]
    script = in_turn(
        "Thought: I open it.",
        f"Action: Search[{subject}]",
        "I wonder.",
        "I am not sure.",
        f"Thought: That is it.\nAction: Finish[{task.gold['answer']}]",
        f"Finish[{task.gold['answer']}]",
    )
    world = ENVIRONMENTS["hotpotqa"].start(task)

    async def play(actor):
        opening, _ = world.reset()
        steps, ended = [], False
        while not ended:
            move = await actor.act(ActorView("hotpotqa", task.instruction, opening, tuple(steps)))
            observation, _, ended, _, info = world.step(move.action)
            steps.append(Step(move.thought, move.action, observation))
        return steps, info

    with serving(script) as endpoint:
        steps, info = with_actor(endpoint, play)
    assert "Invalid action" in steps[1].observation
    assert info["success"]
    assert [step.thought for step in steps] == ["I open it.", "I wonder.", "That is it."]
    assert [len(ask.messages) for ask in endpoint.asks] == [2, 4, 4, 6, 6, 8]
    assert endpoint.asks[0].messages[0]["content"].count("\nQuestion: ") == 6


def test_a_step_tells_what_its_calls_used():
    with serving("Action: search[lamp]") as endpoint:
        shop = with_actor(endpoint, lambda actor: actor.act(VIEW))
        reader = with_actor(endpoint, lambda actor: actor.act(ActorView("hotpotqa", "who?", "Question: who?", ())))
    assert (shop.extra["usage"]["requests"], reader.extra["usage"]["requests"]) == (1, 2)
    assert shop.extra["usage"]["prompt_tokens"] > 0


@pytest.mark.parametrize("task_type", WORDINGS)
def test_a_household_task_is_shown_two_examples_of_its_own_type(task_type):
    told = build_chat(ActorView("alfworld", "a chore", "a room", (), task_type=task_type))[0]["content"]
    tasks = re.findall(r"^Your task is to: (.*)$", told, re.MULTILINE)
    assert len(tasks) == 2
    assert all(any(re.fullmatch(re.sub(r"{\w+}", ".+", form), one) for form in WORDINGS[task_type]) for one in tasks)


@pytest.mark.parametrize("environment", ["webshop", "hotpotqa"])
def test_a_refusal_in_words_is_never_an_action(environment):
    with serving("I'm sorry, but I can't help with that.") as endpoint:
        with pytest.raises(ModelRefused, match="I'm sorry, but I can't help"):
            with_actor(endpoint, lambda actor: actor.act(ActorView(environment, "a task", "a start", ())))
        assert endpoint.requests == 3


def test_a_thought_that_says_cannot_beside_an_action_is_no_refusal():
    with serving("Thought: I am sorry, I cannot do that here.\nAction: go to shelf 1") as endpoint:
        move = with_actor(endpoint, lambda actor: actor.act(VIEW))
    assert move.action == "go to shelf 1"


def test_the_registered_actor_asks_the_model_of_the_settings(monkeypatch):
    with serving("Action: search[lamp]") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("INFERACT_MODEL", "llama")
        settings.cache_clear()
        assert asyncio.run(REACT.act(VIEW)).action == "search[lamp]"
        assert asyncio.run(REACT.reflect(Reflection("webshop", "a lamp", (), ""))) == "Action: search[lamp]"
        assert endpoint.asks[0].body["model"] == "llama"


def test_without_a_model_it_says_what_to_set():
    with pytest.raises(NoModel, match="INFERACT_MODEL"):
        asyncio.run(REACT.act(VIEW))
