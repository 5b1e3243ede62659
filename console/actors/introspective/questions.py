"""The questions of the introspective Actor (Devil's Advocate, appendix): asked, and their replies read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from console.actors.asking import NO_ACTION, ModelCalls, question
from console.actors.introspective.state import PlannedAttempt, PlanningState
from console.actors.move import ActorView, listed
from console.actors.react import read_move
from console.llm.messages import Message
from console.llm.prompts import name_for, render

LONG = 4_000
"""Characters from which an observation is summarised before it is described."""
_NOTES_AT_MOST = 3

_ITEM = re.compile(r"^[\s*_]*\d+[.):][\s*_]*(\S.*?)[\s*]*$", re.MULTILINE)
_VERDICT = re.compile(r"\b(yes|no|non-?\s?essential)\b", re.IGNORECASE)
_FINAL = re.compile(r"\b(YES|NO)\b[\s.*_`]*$", re.IGNORECASE)
_NOTE = re.compile(r"note_down\[(.*)\]", re.DOTALL)
_ANSWER = re.compile(r"answer\s*[*_]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions about one trial as it stands; `state` is what they are asked from."""

    calls: ModelCalls
    view: ActorView
    state: PlanningState

    def seen(self, path: Sequence[int]) -> str:
        """What was seen in the state that stands on those steps."""
        return self.view.steps[path[-1]].observation if path else self.view.opening

    @property
    def now(self) -> str:
        """What is seen at present."""
        return self.view.steps[-1].observation if self.view.steps else self.view.opening

    async def plan(self, failed: str) -> list[str]:
        """The subtasks; the task itself where no list could be read."""
        found = await self._read("plan", read_plan, failed_plan=failed, plan="", screen=self.now)
        return found or [self.view.instruction]

    async def action(self) -> tuple[str, list[Message]]:
        """The first attempt, and the chat in which it was given; notes are taken, and the question asked again."""
        for _ in range(_NOTES_AT_MOST):
            chat = question(self._filled("action", subtask=self.state.current, screen=self.now))
            action = await self.calls.read(chat, read_action)
            note = _NOTE.fullmatch(action or "")
            if note is None:
                return action or NO_ACTION, [*chat, {"role": "assistant", "content": action or NO_ACTION}]
            self.state.notes.append(note[1].strip())
        return NO_ACTION, []

    async def remedy(self, chat: list[Message]) -> str | None:
        """What the model would do instead of all that the chat holds, and adds to it; None where that says nothing."""
        chat.append({"role": "user", "content": render("introspective/generic/remedy")})
        action = read_action(await self.calls.text(chat))
        chat.append({"role": "assistant", "content": action or NO_ACTION})
        return action

    async def align(self, doing: PlannedAttempt, action: str) -> tuple[bool, str]:
        """(whether the action did what it was meant to, what it did); no, where that could not be read."""
        after = self.now
        if len(after) > LONG:
            after = await self.calls.text(question(self._filled("summary", subtask=self.state.current, screen=after)))
        before = self.seen(doing.state)
        found = await self._read(
            "align", read_alignment, subtask=self.state.current, before=before, after=after, action=action
        )
        return found or (False, f"The action was {action}.")

    async def completed(self) -> bool:
        """Whether the whole task is done; no, where that could not be read."""
        return await self._read("completed", read_verdict, screen=self.now) is True

    async def subtask_done(self) -> bool:
        """Whether the subtask is done, or the task can be done without it; no, where that could not be read."""
        return await self._read("subtask", read_verdict, subtask=self.state.current, screen=self.now) is True

    async def answer(self) -> str:
        """The answer of the finished task."""
        return _ANSWER.split(await self.calls.text(question(self._filled("answer", screen=self.now))))[-1].strip()

    async def mapped(self, attempt: PlannedAttempt) -> str:
        """The attempt's action for the page as it is after going back; the same where none could be read."""
        before = self.seen(attempt.state)
        return (
            await self._read("map", read_action, action=attempt.action, before=before, after=self.now) or attempt.action
        )

    async def _read(self, step: str, parse: Any, **values: str) -> Any:
        return await self.calls.read(question(self._filled(step, **values)), parse)

    def _filled(self, step: str, **values: str) -> str:
        view, state = self.view, self.state
        known = {
            "world": render(name_for("shared", view.environment, "actions")),
            "instruction": view.instruction,
            "memory": listed(view.memory),
            "plan": state.numbered(),
            "history": "\n".join(f"- {line}" for line in state.history),
            "notes": "\n".join(f"- {note}" for note in state.notes),
        }
        return render(name_for("introspective", view.environment, step), **{**known, **values})


def read_plan(reply: str) -> list[str] | None:
    """The subtasks of a numbered list; None where there is none."""
    return _ITEM.findall(reply) or None


def read_action(reply: str) -> str | None:
    """The action in a reply; None where it is empty."""
    return read_move(reply).action or None


def read_alignment(reply: str) -> tuple[bool, str] | None:
    """(aligned, the sentence before); None where the reply does not end in YES or NO."""
    verdict = _FINAL.search(reply)
    if verdict is None:
        return None
    return verdict[1].upper() == "YES", " ".join(reply[: verdict.start()].split()).rstrip(
        " *_`"
    ) or "The action is not described."


def read_verdict(reply: str) -> bool | None:
    """Yes, or not essential, as True; no as False; None where neither is said."""
    verdict = _VERDICT.search(reply)
    return verdict[1].lower() != "no" if verdict else None
