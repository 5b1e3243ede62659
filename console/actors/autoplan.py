"""AutoPlan: an Actor that follows a plan for all tasks of a type and learns the plan from batches of trials.

An action takes three calls. The first call writes a thought that names the step of the plan. The second call words the
action freely, and the formalizer rewrites the action in the environment's grammar. Replies are sampled with top-p 0.9
during learning and greedily in the test. After a batch, each trial gets a summary, a flaw and a revision. One call then
updates the plan and may cite trials and feedback by their marks. The first batch has no plan, so its trials get no
revisions and, in HotPotQA, no flaws.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from console.actors import react
from console.actors.move import Actor, ActorView, Move, format_memory
from console.actors.replies import NO_ACTION, ModelCalls, list_lines, read_text, user_chat, with_chosen_model
from console.llm import LLM, Message, ModelUsage, Sampling
from console.llm.errors import ModelRefused
from console.llm.prompts import name_for, render
from console.trajectory import Step

KEY = "autoplan"
"""The key in a step's `extra` for the action in the model's own words."""
STEP_CAPS = {"hotpotqa": 10, "alfworld": 35}
"""The paper's limit of actions per trial, by environment; other environments use their own limit."""
EXPLORING = Sampling(temperature=1.0, top_p=0.9, max_tokens=300)
_GREEDY = Sampling(temperature=0.0, max_tokens=300)


async def act(llm: LLM, view: ActorView) -> Move:
    """Return the next move after three calls; raise ModelError if a call gives no usable reply."""
    calls = ModelCalls(llm, view.seed, EXPLORING if view.explores else _GREEDY)
    chat = [*build_chat(view), *_thinking(view, view.steps[-1].observation if view.steps else "")]
    thought = await calls.read(chat, read_text) or ""
    chat += [{"role": "assistant", "content": thought}, {"role": "user", "content": render_prompt(view, "action")}]
    wording = await calls.read(chat, lambda reply: None if react.refuses(reply) else reply)
    if not wording:
        return Move(thought, NO_ACTION, {KEY: {"wording": NO_ACTION}, "usage": asdict(calls.usage)})
    formal = user_chat(render_prompt(view, "formalizer", world=_world(view.environment), action=wording))
    action = await calls.read(formal, react.read_action)
    return Move(thought, action or NO_ACTION, {KEY: {"wording": wording}, "usage": asdict(calls.usage)})


def build_chat(view: ActorView) -> list[Message]:
    """Return the trial as a chat, without the last observation, which is part of the next question."""
    task = render_prompt(
        view, "task", memory=format_memory(view.memory), instruction=view.instruction, opening=view.opening
    )
    chat: list[Message] = [
        {"role": "system", "content": render_prompt(view, "system", world=_world(view.environment), plan=view.plan)},
        {"role": "user", "content": task},
    ]
    asked = {"role": "user", "content": render_prompt(view, "action")}
    for position, step in enumerate(view.steps):
        before = view.steps[position - 1].observation if position else ""
        chat += [*_thinking(view, before), {"role": "assistant", "content": step.thought}, asked]
        chat.append({"role": "assistant", "content": _wording(step)})
    return chat


def _thinking(view: ActorView, observation: str) -> list[Message]:
    return user_chat(render_prompt(view, "thought", observation=observation, plan=view.plan))


def _wording(step: Step) -> str:
    """Return the action in the model's own words, or the action that ran if a reviewer wrote it."""
    kept = step.extra.get(KEY)
    return step.action if kept is None or "instead_of" in step.extra else str(kept["wording"])


def render_prompt(view: ActorView, step: str, **values: object) -> str:
    """Render a prompt in the version for the environment, or in the general version."""
    return render(name_for(KEY, view.environment, step), **values)


def _world(environment: str) -> str:
    """Return the forms of the actions; in ALFWorld only the verbs, because the Actor must learn the appliances."""
    own = name_for(KEY, environment, "actions")
    return render(own if own.startswith(f"{KEY}/{environment}/") else name_for("shared", environment, "actions"))


AUTOPLAN = Actor(
    "autoplan",
    "AutoPlan",
    with_chosen_model(act),
    with_chosen_model(react.reflect),
    "asks a model, which follows a learnt plan",
    STEP_CAPS,
)
"""AutoPlan with the model in the settings."""


_REFLECTING = Sampling(temperature=0.0, max_tokens=800)
_FROM = re.compile(r"\s*<\s*from:?\s+([^<>]*)>\s*$", re.IGNORECASE)
_MARK = re.compile(r"\b[ER]\d+\b")


@dataclass(frozen=True, slots=True)
class ReviewersWords:
    """A reviewer's feedback on a trial: flaw, revision and rejected action; `mark` identifies the feedback."""

    mark: str
    flaw: str
    revision: str = ""
    rejected: str = ""


@dataclass(frozen=True, slots=True)
class EndedTrial:
    """A finished trial of the batch, with the Actor's last view; `answer` and `sources` are gold, or empty."""

    mark: str
    view: ActorView
    success: bool
    answer: str = ""
    sources: str = ""
    reviewers: tuple[ReviewersWords, ...] = ()


@dataclass(frozen=True, slots=True)
class Experience:
    """The lessons of one trial; a text that was not requested is empty."""

    mark: str
    instruction: str
    result: str
    summary: str
    flaw: str
    revision: str
    reviewers: tuple[ReviewersWords, ...]


@dataclass(frozen=True, slots=True)
class Ablation:
    """The parts of an experience that the plan update receives; the paper uses both flaw and revision."""

    flaw: bool = True
    revision: bool = True


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the next plan, with the marks that the model cites as sources."""

    text: str
    marks: tuple[str, ...] = ()


async def reflect(llm: LLM, ended: EndedTrial, ablation: Ablation, usage: ModelUsage) -> Experience:
    """Request a trial's summary, flaw and revision, one after another in the trial's own conversation."""
    view, calls = ended.view, ModelCalls(llm, ended.view.seed, _REFLECTING, usage=usage)
    chat = build_chat(view)
    if view.steps:
        chat.append({"role": "user", "content": f"Observation: {view.steps[-1].observation}"})
    about = {"success": ended.success, "answer": ended.answer, "sources": ended.sources}
    summary = await _ask_in_chat(calls, chat, render_prompt(view, "summary", **about))
    flaw = revision = ""
    if ablation.flaw and (view.plan or view.environment != "hotpotqa"):
        flaw = await _ask_in_chat(calls, chat, render_prompt(view, "flaw", plan=view.plan))
    if ablation.revision and view.plan:
        revision = await _ask_in_chat(calls, chat, render_prompt(view, "revision"))
    result = "done" if ended.success else "not done"
    kept = [_kept(said, ablation) for said in ended.reviewers]
    reviewers = tuple(said for said in kept if said.flaw or said.revision or said.rejected)
    return Experience(ended.mark, view.instruction, result, summary, flaw, revision, reviewers)


def _kept(said: ReviewersWords, ablation: Ablation) -> ReviewersWords:
    flaw, rejected = (said.flaw, said.rejected) if ablation.flaw else ("", "")
    return ReviewersWords(said.mark, flaw, said.revision if ablation.revision else "", rejected)


async def update_plan(
    llm: LLM, environment: str, plan: str, experiences: Sequence[Experience], usage: ModelUsage
) -> list[PlanLine] | None:
    """Request the next plan in one call for the whole batch, or return None if no reply is a numbered plan."""
    calls = ModelCalls(llm, 0, _REFLECTING, usage=usage)
    world = _world(environment)
    asked = render(name_for(KEY, environment, "update"), world=world, plan=plan, experiences=experiences)
    try:
        return await calls.read(user_chat(asked), read_plan)
    except ModelRefused:
        return None


def read_plan(reply: str) -> list[PlanLine] | None:
    """Parse the steps of a plan and separate their marks; return None if the reply has no list of steps.

    An indented line, or a bullet, below a step belongs to that step.
    """
    lines: list[PlanLine] = []
    for text in list_lines(reply):
        marks = _FROM.search(text)
        lines.append(PlanLine(_FROM.sub("", text).rstrip(), tuple(_MARK.findall(marks[1])) if marks else ()))
    return lines or None


async def _ask_in_chat(calls: ModelCalls, chat: list[Message], text: str) -> str:
    """Add the question and the reply to the chat, and return the reply, or "" if the model refuses to answer."""
    asked = [*chat, *user_chat(text)]
    try:
        reply = await calls.read(asked, read_text) or ""
    except ModelRefused:
        return ""
    chat[:] = [*asked, {"role": "assistant", "content": reply}]
    return reply
