"""ReAct, a model as Actor: it thinks, acts, sees, and remembers what earlier attempts taught (Reflexion memory)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.actors.asking import chosen_model
from console.actors.move import Actor, ActorView, Move, Reflection, listed
from console.llm import LLM, Message
from console.llm.prompts import name_for, render
from console.trajectory import Step

RE_ASKS = 6
"""How often a reply of less than `SHORTEST` characters is asked for again (InferAct's reference loop)."""
SHORTEST = 5
_MOVE_TOKENS, _PLAN_TOKENS = 300, 500

_LABEL = re.compile(
    r"^[\s>*_#`-]*(thought|action|observation)\s*\d*\s*[*_`]*\s*:[*_]*[^\S\n]*", re.IGNORECASE | re.MULTILINE
)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_FENCE = re.compile(r"^\s*```.*$\n?", re.MULTILINE)
_PLAN_LABEL = re.compile(r"^[\s*_#]*(?:new\s+)?plan\s*[*_]*\s*:[\s*_]*", re.IGNORECASE)


async def act(llm: LLM, view: ActorView) -> Move:
    """The model's next move; raises ModelError where it gives none."""
    return read_move(await _reply(llm, conversation(view), _MOVE_TOKENS, view.seed))


async def reflect(llm: LLM, reflection: Reflection) -> str:
    """The plan that the model makes from its own trajectory, without any gold, as one line (Reflexion)."""
    prompt = render(
        name_for("reflect", reflection.environment, "plan"),
        instruction=reflection.instruction,
        trajectory=_record(reflection.steps),
        rejected_action=reflection.rejected_action,
        memory=listed(reflection.memory),
    )
    reply = await _reply(llm, [{"role": "user", "content": prompt}], _PLAN_TOKENS, 0)
    return " ".join(_PLAN_LABEL.sub("", reply.strip()).split())


def conversation(view: ActorView) -> list[Message]:
    """The trial as a chat: what to do, the task with the memory, then each move and what came of it."""
    task = render(
        name_for("react", view.environment, "task"),
        memory=listed(view.memory),
        instruction=view.instruction,
        opening=view.opening,
    )
    system = render(name_for("react", view.environment, "system"))
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    for step in view.steps:
        move = render("react/any/move", thought=step.thought, action=step.action)
        seen = render("react/any/observation", observation=step.observation)
        messages += [{"role": "assistant", "content": move}, {"role": "user", "content": seen}]
    return messages


def read_move(reply: str) -> Move:
    """The thought and the action in a reply. Without a labelled action the last line is taken for one.

    What follows the first action is dropped: a model that writes its own observation has made it up. Nothing is
    guessed: the environment answers an action that is none, and the trial goes on.
    """
    text = _own_words(_FENCE.sub("", reply).strip())
    labels = list(_LABEL.finditer(text))
    at = next((index for index, label in enumerate(labels) if label[1].lower() == "action"), None)
    if at is None:
        *before, last = text.splitlines() or [""]
        return Move(_thought("\n".join(before)), _bare(_LABEL.sub("", last)))
    end = labels[at + 1].start() if at + 1 < len(labels) else len(text)
    return Move(_thought(text[: labels[at].start()]), _bare(_first_call(text[labels[at].end() : end])))


def _own_words(text: str) -> str:
    """What stands before the first observation that the model made up."""
    return next((text[: label.start()] for label in _LABEL.finditer(text) if label[1].lower() == "observation"), text)


def _thought(text: str) -> str:
    return _LABEL.sub("", text).strip()


def _first_call(text: str) -> str:
    """The first line; where brackets are still open at its end, as many more as close them."""
    lines = text.strip().splitlines() or [""]
    for end in range(1, len(lines) + 1):
        so_far = "\n".join(lines[:end])
        if all(so_far.count(opening) <= so_far.count(closing) for opening, closing in _BRACKETS):
            return so_far
    return lines[0]


def _bare(action: str) -> str:
    """The action without quotation marks, emphasis and the prompt sign that some models put before it."""
    text = action.strip().removeprefix(">").strip()
    for sign in ("**", "`", '"'):
        if len(text) > 2 * len(sign) and text.startswith(sign) and text.endswith(sign):
            text = text.removeprefix(sign).removesuffix(sign).strip()
    return text.removeprefix(">").strip()


async def _reply(llm: LLM, messages: Sequence[Message], max_tokens: int, seed: int) -> str:
    """The first reply that is long enough, or the last one there is."""
    text = ""
    for take in range(RE_ASKS + 1):
        reply = await llm.complete(messages, temperature=0.0, max_tokens=max_tokens, seed=seed + take, take=take)
        text = reply.text.strip()
        if len(text) >= SHORTEST:
            break
    return text


def _record(steps: Sequence[Step]) -> str:
    turns = (
        render("react/any/move", thought=step.thought, action=step.action)
        + "\n"
        + render("react/any/observation", observation=step.observation)
        for step in steps
    )
    return "\n".join(turns)


async def _act(view: ActorView) -> Move:
    return await act(chosen_model(), view)


async def _reflect(reflection: Reflection) -> str:
    return await reflect(chosen_model(), reflection)


REACT = Actor("react", "ReAct", _act, _reflect, "asks a model")
"""The Actor that asks the model of the settings; it connects when it makes its first move."""
