"""Reflection of AutoPlan: summary, flaw and revision of each trial of a batch, then one update of the plan.

Reviewers' words enter the batch beside the model's own, each under a mark that the update names in the lines that come
from it. The first batch has no plan, so no revision is asked for, and in HotPotQA no flaw.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from console.actors.asking import ModelCalls, ModelUsage, Sampling, question
from console.actors.autoplan import KEY, conversation, filled
from console.actors.move import ActorView
from console.llm import LLM, Message
from console.llm.prompts import name_for, render

_GREEDY = Sampling(temperature=0.0, max_tokens=800)
_FROM = re.compile(r"\s*<\s*from:?\s+([^<>]*)>\s*$", re.IGNORECASE)
_MARK = re.compile(r"\b[ER]\d+\b")


@dataclass(frozen=True, slots=True)
class ReviewersWords:
    """What a reviewer's decision says about a trial: its flaw, and how the plan is to be revised; `mark` names it."""

    mark: str
    flaw: str
    revision: str = ""


@dataclass(frozen=True, slots=True)
class EndedTrial:
    """A trial of the batch as it ended: the Actor's last view, its gold answer and sources where they may be told."""

    mark: str
    view: ActorView
    success: bool
    answer: str = ""
    sources: str = ""
    reviewers: tuple[ReviewersWords, ...] = ()


@dataclass(frozen=True, slots=True)
class Experience:
    """What one trial taught; texts that were not asked for are empty."""

    mark: str
    instruction: str
    result: str
    summary: str
    flaw: str
    revision: str
    reviewers: tuple[ReviewersWords, ...]


@dataclass(frozen=True, slots=True)
class Ablation:
    """Which of flaw and revision the update gets; all is the paper's own."""

    flaw: bool = True
    revision: bool = True


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the next plan, with the marks that the model says it comes from."""

    text: str
    marks: tuple[str, ...] = ()


async def reflect(llm: LLM, ended: EndedTrial, ablation: Ablation, usage: ModelUsage) -> Experience:
    """Summary, flaw and revision in the trial's own conversation, each seeing the ones before."""
    view, calls = ended.view, ModelCalls(llm, ended.view.seed, _GREEDY, usage=usage)
    chat = conversation(view)
    if view.steps:
        chat.append({"role": "user", "content": f"Observation: {view.steps[-1].observation}"})
    about = {"success": ended.success, "answer": ended.answer, "sources": ended.sources}
    summary = await _told(calls, chat, filled(view, "summary", **about))
    flaw = revision = ""
    if ablation.flaw and (view.plan or view.environment != "hotpotqa"):
        flaw = await _told(calls, chat, filled(view, "flaw", plan=view.plan))
    if ablation.revision and view.plan:
        revision = await _told(calls, chat, filled(view, "revision"))
    result = "done" if ended.success else "not done"
    said = tuple(kept for words in ended.reviewers if (kept := _within(words, ablation)))
    return Experience(ended.mark, view.instruction, result, summary, flaw, revision, said)


async def update(
    llm: LLM, environment: str, plan: str, experiences: Sequence[Experience], usage: ModelUsage
) -> list[PlanLine]:
    """The next plan of one call over the whole batch; the plan as it was where the reply holds none."""
    calls = ModelCalls(llm, 0, _GREEDY, usage=usage)
    world = render(name_for("shared", environment, "actions"))
    asked = render(name_for(KEY, environment, "update"), world=world, plan=plan, experiences=experiences)
    return await calls.read(question(asked), read_plan) or read_plan(plan) or []


def read_plan(reply: str) -> list[PlanLine] | None:
    """The lines of a plan, each without its marks; None where there are none."""
    return [_line(text) for text in reply.splitlines() if text.strip() and not text.strip().startswith("```")] or None


def _line(text: str) -> PlanLine:
    marks = _FROM.search(text)
    return PlanLine(_FROM.sub("", text).rstrip(), tuple(_MARK.findall(marks[1])) if marks else ())


def _within(words: ReviewersWords, ablation: Ablation) -> ReviewersWords | None:
    flaw = words.flaw if ablation.flaw else ""
    revision = words.revision if ablation.revision else ""
    return ReviewersWords(words.mark, flaw, revision) if flaw or revision else None


async def _told(calls: ModelCalls, chat: list[Message], text: str) -> str:
    chat.append({"role": "user", "content": text})
    reply = await calls.text(chat)
    chat.append({"role": "assistant", "content": reply})
    return reply
