"""ReAct: an Actor that uses a model to think and act, with a memory of earlier lessons (Reflexion).

Each step takes one call for the thought and the action. In HotPotQA, thought and action take separate calls, as in the
reference loop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from console.actors import replies
from console.actors.move import Actor, ActorView, Move, Reflection, format_memory
from console.actors.replies import ModelCalls, read_json, with_chosen_model
from console.llm import LLM, Message, Sampling
from console.llm.declined import is_refusal
from console.llm.errors import ModelRefused
from console.llm.prompts import has_template, name_for, render
from console.trajectory import Step

REQUESTS = 6
"""The number of requests for a reply of at least `SHORTEST` characters (InferAct's reference loop)."""
SHORTEST = 5
_MOVE_TOKENS, _PLAN_TOKENS = 300, 500
TWO_CALLS = frozenset({"hotpotqa"})
"""Environments in which the thought and the action of a step are separate calls."""

_LABEL = re.compile(
    r"^[\s>*_#`-]*(thought|action|observation)\s*\d*\s*[*_`]*\s*:[*_]*[^\S\n]*", re.IGNORECASE | re.MULTILINE
)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_FENCE = re.compile(r"^\s*```.*$\n?", re.MULTILINE)
_PLAN_LABEL = re.compile(r"^[\s*_#]*(?:new\s+)?plan\s*[*_]*\s*:[\s*_]*", re.IGNORECASE)


async def act(llm: LLM, view: ActorView, *, has_examples: bool = True) -> Move:
    """Return the model's next move with its usage; raise ModelError if the model gives no usable reply."""
    calls = ModelCalls(llm, view.seed, Sampling(max_tokens=_MOVE_TOKENS))
    chat = build_chat(view, has_examples=has_examples)
    if view.environment in TWO_CALLS:
        thought = _thought(_until(await _reply(calls, _with_question(chat, "thought")), "action", "observation"))
        told = [*_with_question(chat, "thought"), {"role": "assistant", "content": f"Thought: {thought}"}]
        move = read_move(await _reply(calls, [*told, *replies.user_chat(render("react/any/action"))]))
        thought = "\n".join(filter(None, (thought, move.thought if not move.action else "")))
    else:
        move = read_move(await _reply(calls, chat))
        thought = move.thought
    if not move.action and thought:
        # A step with a thought alone: it has no effect, and only a repeated thought repeats an action.
        return Move("", f"think[{' '.join(thought.split())}]", {"usage": asdict(calls.usage)})
    return Move(thought, move.action or replies.NO_ACTION, {"usage": asdict(calls.usage)})


def _with_question(chat: Sequence[Message], step: str) -> list[Message]:
    *before, last = chat
    return [*before, {**last, "content": f"{last['content']}\n\n{render(f'react/any/{step}')}"}]


async def reflect(llm: LLM, reflection: Reflection) -> str:
    """Return a one-line plan that the model writes from its own trajectory, without the gold answer (Reflexion)."""
    prompt = render(
        name_for("reflect", reflection.environment, "plan"),
        instruction=reflection.instruction,
        trajectory="\n".join(text for step in reflection.steps for text in _turn(step)),
        rejected_action=reflection.rejected_action,
        memory=format_memory(reflection.memory),
    )
    reply = await _reply(ModelCalls(llm, 0, Sampling(max_tokens=_PLAN_TOKENS)), replies.user_chat(prompt))
    return " ".join(_PLAN_LABEL.sub("", reply.strip()).split())


def build_chat(view: ActorView, *, has_examples: bool = True) -> list[Message]:
    """Return the trial as a chat: instructions, the task with the memory, then each move and its observation."""
    task = render(
        name_for("react", view.environment, "task"),
        memory=format_memory(view.memory),
        instruction=view.instruction,
        opening=view.opening,
    )
    examples = _examples(view) if has_examples else ""
    system = render(name_for("react", view.environment, "system"), examples=examples, shots=has_examples)
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    for step in view.steps:
        move, seen = _turn(step)
        messages += [{"role": "assistant", "content": move}, {"role": "user", "content": seen}]
    return messages


def _examples(view: ActorView) -> str:
    """Return the examples for tasks of the view's type, else the examples of the environment, else ""."""
    names = [f"react/{view.environment}/{step}" for step in (f"examples_{view.task_type}", "examples")]
    return next((render(name) for name in names if has_template(name)), "")


def read_move(reply: str) -> Move:
    """Parse the thought and the action of a reply; without a labelled action, use the last line unless it is a thought.

    Text after the first action is dropped, because an observation in a reply is invented. An invalid action is kept. In
    a JSON object, the fields `thought` and `action` count.
    """
    document = read_json(reply)
    if isinstance(document, Mapping) and isinstance(document.get("action"), str):
        return Move(str(document.get("thought") or "").strip(), _bare(document["action"]))
    text = _until(_FENCE.sub("", reply).strip(), "observation")
    labels = list(_LABEL.finditer(text))
    at = next((index for index, label in enumerate(labels) if label[1].lower() == "action"), None)
    if at is None:
        *before, last = text.splitlines() or [""]
        if (label := _LABEL.match(last)) and label[1].lower() == "thought":
            return Move(_thought(text), "")
        return Move(_thought("\n".join(before)), _bare(_LABEL.sub("", last)))
    end = labels[at + 1].start() if at + 1 < len(labels) else len(text)
    return Move(_thought(text[: labels[at].start()]), _bare(_first_call(text[labels[at].end() : end])))


def _until(text: str, *labels: str) -> str:
    """Return the text before the first of these labels."""
    return text[: next((found.start() for found in _LABEL.finditer(text) if found[1].lower() in labels), len(text))]


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


def refuses(reply: str) -> bool:
    """Return whether a reply refuses to act: it contains a refusal and no labelled action."""
    return is_refusal(reply) and not any(label[1].lower() == "action" for label in _LABEL.finditer(reply))


def read_action(reply: str) -> str | None:
    """Parse the action of a reply; return None if the reply refuses to act or has no action."""
    return None if refuses(reply) else read_move(reply).action or None


async def _reply(calls: ModelCalls, messages: Sequence[Message]) -> str:
    """Return the first reply that is long enough, or the last reply; raise ModelRefused after three refusals."""
    text, refusals = "", 0
    for take in range(REQUESTS):
        text = await calls.text(messages, take)
        refusals += refuses(text)
        if len(text) >= SHORTEST and not refuses(text):
            break
        if refusals > replies.RE_ASKS or (refuses(text) and take == REQUESTS - 1):
            raise ModelRefused(f"The model declined to answer: {text.splitlines()[0]}")
    return text


def _turn(step: Step) -> tuple[str, str]:
    move = render("react/any/move", thought=step.thought, action=step.action)
    return move, render("react/any/observation", observation=step.observation)


REACT = Actor("react", "ReAct", with_chosen_model(act), with_chosen_model(reflect), "asks a model")
"""The ReAct Actor with the model in the settings; it connects at its first move."""
