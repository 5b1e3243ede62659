"""ReAct: an Actor that uses a model to think and act, and that remembers earlier lessons (Reflexion memory)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.actors.asking import with_chosen_model
from console.actors.move import Actor, ActorView, Move, Reflection, format_memory
from console.llm import LLM, Message, Sampling
from console.llm.prompts import name_for, render
from console.trajectory import Step

RE_ASKS = 6
"""How often a reply shorter than `SHORTEST` characters is requested again (InferAct's reference loop)."""
SHORTEST = 5
_MOVE_TOKENS, _PLAN_TOKENS = 300, 500

_LABEL = re.compile(
    r"^[\s>*_#`-]*(thought|action|observation)\s*\d*\s*[*_`]*\s*:[*_]*[^\S\n]*", re.IGNORECASE | re.MULTILINE
)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_FENCE = re.compile(r"^\s*```.*$\n?", re.MULTILINE)
_PLAN_LABEL = re.compile(r"^[\s*_#]*(?:new\s+)?plan\s*[*_]*\s*:[\s*_]*", re.IGNORECASE)


async def act(llm: LLM, view: ActorView) -> Move:
    """Return the model's next move; raise ModelError if the model gives no usable reply."""
    return read_move(await _reply(llm, build_chat(view), _MOVE_TOKENS, view.seed))


async def reflect(llm: LLM, reflection: Reflection) -> str:
    """Return a one-line plan that the model writes from its own trajectory, without the gold answer (Reflexion)."""
    prompt = render(
        name_for("reflect", reflection.environment, "plan"),
        instruction=reflection.instruction,
        trajectory=_record(reflection.steps),
        rejected_action=reflection.rejected_action,
        memory=format_memory(reflection.memory),
    )
    reply = await _reply(llm, [{"role": "user", "content": prompt}], _PLAN_TOKENS, 0)
    return " ".join(_PLAN_LABEL.sub("", reply.strip()).split())


def build_chat(view: ActorView) -> list[Message]:
    """Return the trial as a chat: instructions, the task with the memory, then each move and its observation."""
    task = render(
        name_for("react", view.environment, "task"),
        memory=format_memory(view.memory),
        instruction=view.instruction,
        opening=view.opening,
    )
    system = render(name_for("react", view.environment, "system"))
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    for step in view.steps:
        move, seen = _turn(step)
        messages += [{"role": "assistant", "content": move}, {"role": "user", "content": seen}]
    return messages


def read_move(reply: str) -> Move:
    """Parse the thought and the action of a reply; without a labelled action, use the last line.

    Text after the first action is dropped, because an observation in a reply is invented. An invalid action is kept.
    """
    text = _FENCE.sub("", reply).strip()
    invented = (label.start() for label in _LABEL.finditer(text) if label[1].lower() == "observation")
    text = text[: next(invented, len(text))]
    labels = list(_LABEL.finditer(text))
    at = next((index for index, label in enumerate(labels) if label[1].lower() == "action"), None)
    if at is None:
        *before, last = text.splitlines() or [""]
        return Move(_thought("\n".join(before)), _bare(_LABEL.sub("", last)))
    end = labels[at + 1].start() if at + 1 < len(labels) else len(text)
    return Move(_thought(text[: labels[at].start()]), _bare(_first_call(text[labels[at].end() : end])))


def _thought(text: str) -> str:
    return _LABEL.sub("", text).strip()


def _first_call(text: str) -> str:
    """Return the first line, with as many more lines as are needed to close its open brackets."""
    lines = text.strip().splitlines() or [""]
    for end in range(1, len(lines) + 1):
        so_far = "\n".join(lines[:end])
        if all(so_far.count(opening) <= so_far.count(closing) for opening, closing in _BRACKETS):
            return so_far
    return lines[0]


def _bare(action: str) -> str:
    text = action.strip().removeprefix(">").strip()
    for sign in ("**", "`", '"'):
        if len(text) > 2 * len(sign) and text.startswith(sign) and text.endswith(sign):
            text = text.removeprefix(sign).removesuffix(sign).strip()
    return text.removeprefix(">").strip()


async def _reply(llm: LLM, messages: Sequence[Message], max_tokens: int, seed: int) -> str:
    """Request replies and return the first that is long enough, or the last one."""
    text = ""
    for take in range(RE_ASKS + 1):
        reply = await llm.complete(messages, Sampling(max_tokens=max_tokens, seed=seed + take, take=take))
        text = reply.text.strip()
        if len(text) >= SHORTEST:
            break
    return text


def _record(steps: Sequence[Step]) -> str:
    return "\n".join(text for step in steps for text in _turn(step))


def _turn(step: Step) -> tuple[str, str]:
    move = render("react/any/move", thought=step.thought, action=step.action)
    return move, render("react/any/observation", observation=step.observation)


REACT = Actor("react", "ReAct", with_chosen_model(act), with_chosen_model(reflect), "asks a model")
"""The Actor with the model of the settings; it connects at its first move."""
