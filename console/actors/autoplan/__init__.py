"""AutoPlan, an Actor that goes by a plan for all tasks of a type, which it learns from batches of trials.

Each action takes three calls: a thought that names the plan's step, the action in the model's own words, and a
formalizer that rewrites it in the environment's grammar. While a plan is learnt replies are drawn with p = 0.9; at the
test they are greedy. `reflection` makes the next plan.
"""

from __future__ import annotations

from console.actors import react
from console.actors.asking import NO_ACTION, ModelCalls, Sampling, chosen_model, question
from console.actors.move import Actor, ActorView, Move, Reflection, listed
from console.llm import LLM, Message
from console.llm.prompts import name_for, render
from console.trajectory import Step

KEY = "autoplan"
"""Where a step's `extra` holds the action in the model's own words."""
STEP_CAPS = {"hotpotqa": 10, "alfworld": 35}
"""Actions of a trial in the paper; elsewhere the environment's own cap holds."""
EXPLORING = Sampling(temperature=1.0, top_p=0.9, max_tokens=300)
_GREEDY = Sampling(temperature=0.0, max_tokens=300)


async def act(llm: LLM, view: ActorView) -> Move:
    """The next move, of three calls; raises ModelError where the model gives no reply."""
    calls = ModelCalls(llm, view.seed, EXPLORING if view.explores else _GREEDY)
    chat = [*conversation(view), *_thinking(view, view.steps[-1].observation if view.steps else "")]
    thought = await calls.text(chat)
    chat += [{"role": "assistant", "content": thought}, {"role": "user", "content": filled(view, "action")}]
    wording = await calls.text(chat)
    formal = question(filled(view, "formalizer", world=_world(view), action=wording))
    action = await calls.read(formal, lambda reply: react.read_move(reply).action or None)
    return Move(thought, action or NO_ACTION, {KEY: {"wording": wording}, "usage": calls.usage.as_dict()})


def conversation(view: ActorView) -> list[Message]:
    """The trial as a chat, the last observation left out, which the next question holds."""
    task = filled(view, "task", memory=listed(view.memory), instruction=view.instruction, opening=view.opening)
    chat: list[Message] = [
        {"role": "system", "content": filled(view, "system", world=_world(view), plan=view.plan)},
        {"role": "user", "content": task},
    ]
    asked = {"role": "user", "content": filled(view, "action")}
    for position, step in enumerate(view.steps):
        before = view.steps[position - 1].observation if position else ""
        chat += [*_thinking(view, before), {"role": "assistant", "content": step.thought}, asked]
        chat.append({"role": "assistant", "content": _wording(step)})
    return chat


def _thinking(view: ActorView, observation: str) -> list[Message]:
    return question(filled(view, "thought", observation=observation, plan=view.plan))


def _wording(step: Step) -> str:
    """The action as the model worded it; as it ran, where a reviewer wrote it."""
    kept = step.extra.get(KEY)
    return step.action if kept is None or "instead_of" in step.extra else str(kept["wording"])


def filled(view: ActorView, step: str, **values: object) -> str:
    """A prompt of the environment's own where there is one."""
    return render(name_for(KEY, view.environment, step), **values)


def _world(view: ActorView) -> str:
    return render(name_for("shared", view.environment, "actions"))


async def _act(view: ActorView) -> Move:
    return await act(chosen_model(), view)


async def _reflect_on(reflection: Reflection) -> str:
    return await react.reflect(chosen_model(), reflection)


AUTOPLAN = Actor(
    "autoplan", "AutoPlan", _act, _reflect_on, "asks a model, which goes by a plan learnt before", STEP_CAPS
)
"""The Actor that asks the model of the settings."""
