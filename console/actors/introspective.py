"""The introspective Actor: it plans, lists remedies, acts, goes back and replans (Devil's Advocate, Alg. 1).

If an action missed its purpose, the Actor goes back and tries the latest remedy, or revises the plan if no remedy is
left. The Actor never goes back over an irreversible action. The next trial of a task starts with the plan, history and
notes of the last trial. The algorithm leaves two cases open. Here, a revised plan starts from the present state with an
empty stack, and a completed plan without a completed task is revised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeVar

from console.actors import react
from console.actors.move import Actor, ActorView, Move, format_memory
from console.actors.replies import (
    NO,
    NO_ACTION,
    NOT_NEEDED,
    YES,
    ModelCalls,
    read_conclusion,
    read_list,
    read_text,
    user_chat,
    with_chosen_model,
)
from console.environments.environment import NOTE, list_standing_steps, refusal
from console.llm import LLM, Sampling
from console.llm.messages import Message
from console.llm.prompts import name_for, render
from console.trajectory import Step
from console.trajectory.checkpoints import is_critical

T = TypeVar("T")
KEY = "introspective"
"""The key in a step's `extra` for the state in which the Actor chose the step."""


@dataclass(frozen=True, slots=True)
class PlannedAttempt:
    """An action to try: the steps that lead to its state, and the position of its subtask in the plan."""

    state: tuple[int, ...]
    action: str
    subtask: int


@dataclass(slots=True)
class PlanningState:
    """The Actor's state: plan, stack (the next attempt last), history, notes, and the counts that the paper reports.

    `doing` is the attempt of the present step or, if `going_back`, the attempt to try after going back. `refused` lists
    the attempts that the Actor could not go back to.
    """

    plan: list[str] = field(default_factory=list)
    subtask: int = 0
    history: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stack: list[PlannedAttempt] = field(default_factory=list)
    doing: PlannedAttempt | None = None
    going_back: bool = False
    revisions: int = 0
    backtracks: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def current(self) -> str:
        """The current subtask."""
        return self.plan[min(self.subtask, len(self.plan) - 1)]

    def numbered(self) -> str:
        """Return the plan as numbered lines."""
        return "\n".join(f"{number}. {subtask}" for number, subtask in enumerate(self.plan, start=1))

    def forget(self, state: Sequence[int], action: str) -> None:
        """Remove an executed action of this state from the stack, so that it is not tried twice."""
        self.stack = [one for one in self.stack if (one.state, one.action) != (tuple(state), action)]

    def remedies(self, state: Sequence[int]) -> list[str]:
        """List the remaining attempts in this state, the next attempt first."""
        return [one.action for one in reversed(self.stack) if one.state == tuple(state)]


def read_state(steps: Sequence[Step]) -> PlanningState | None:
    """Return the state after the last step, built from the entries of all steps; return None before the first step."""
    kept: dict[str, Any] = {}
    for step in steps:
        entry = step.extra.get(KEY)
        if isinstance(entry, Mapping):
            kept |= {name: _extended(kept.get(name, []), value) for name, value in entry.items()}
    if not kept:
        return None
    doing = kept["doing"]
    stack = [_attempt(one) for one in kept["stack"]]
    return PlanningState(**{**kept, "stack": stack, "doing": _attempt(doing) if doing else None})


def write_state(state: PlanningState, steps: Sequence[Step]) -> dict[str, Any]:
    """Return the changes to store with the next step; a list becomes its number of kept entries and its added entries.

    Storing the whole state in each step would take space quadratic in the trial's length.
    """
    before = read_state(steps)
    known = asdict(before) if before else {}
    return {
        name: _extension(known.get(name, []), value) if isinstance(value, list) else value
        for name, value in asdict(state).items()
    }


def _extension(known: Sequence[Any], value: Sequence[Any]) -> dict[str, Any]:
    same = next((at for at, (one, other) in enumerate(zip(known, value, strict=False)) if one != other), None)
    kept = min(len(known), len(value)) if same is None else same
    return {"kept": kept, "added": list(value[kept:])}


def _extended(known: Sequence[Any], value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {"kept", "added"}:
        return [*known[: value["kept"]], *value["added"]]
    return value


def _attempt(kept: Mapping[str, Any]) -> PlannedAttempt:
    return PlannedAttempt(tuple(kept["state"]), kept["action"], kept["subtask"])


LONG = 4_000
"""The length in characters above which an observation is summarised first."""
_NOTES_AT_MOST = 3

_NOTE = re.compile(r"note_down\[(.*)\]", re.DOTALL)
_ANSWER = re.compile(r"answer\s*[*_]*:[*_]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlannerTurn:
    """One turn: the view, the state to update, the steps that lead to the present state, and the model calls.

    Without `doubts`, an action gets no remedies and always counts as aligned.
    """

    calls: ModelCalls
    view: ActorView
    state: PlanningState
    here: tuple[int, ...]
    doubts: bool = True

    def seen(self, path: Sequence[int]) -> str:
        """Return the observation in the state after these steps."""
        return self.view.steps[path[-1]].observation if path else self.view.opening

    @property
    def now(self) -> str:
        """The last observation that does not belong to a note."""
        seen = (step.observation for step in reversed(self.view.steps) if NOTE not in step.extra)
        return next(seen, self.view.opening)

    async def plan(self, failed: str) -> list[str]:
        """Request the subtasks; return the task itself if the reply contains no list."""
        earlier = {} if self.view.steps else self.view.earlier
        last = {"last_plan": earlier.get("plan", ""), "last_history": _listed(earlier.get("history", ()))}
        asked = {"failed_plan": failed, "plan": "", "screen": self.now, **last}
        return await self._read("plan", read_plan, **asked) or [self.view.instruction]

    async def action(self) -> tuple[str, list[Message]]:
        """Request an action, which may be a note, and return the action with its chat."""
        chat = user_chat(self._filled("action", subtask=self.state.current, screen=self.now))
        action = await self.calls.read(chat, react.read_action) or NO_ACTION
        last = self.view.steps[-_NOTES_AT_MOST:]
        if read_note(action) and len(last) == _NOTES_AT_MOST and all(NOTE in step.extra for step in last):
            action = NO_ACTION
        return action, [*chat, {"role": "assistant", "content": action}]

    async def remedy(self, chat: list[Message]) -> str | None:
        """Request an alternative to all actions in the chat and append it; return None if the reply is empty."""
        chat.append({"role": "user", "content": render("introspective/generic/remedy")})
        action = react.read_action(await self.calls.text(chat))
        chat.append({"role": "assistant", "content": action or NO_ACTION})
        return action

    async def align(self, doing: PlannedAttempt, action: str) -> tuple[bool, str]:
        """Return whether the action met its purpose (False if the reply is unreadable), with a description."""
        after = self.now
        if len(after) > LONG:
            after = await self.calls.text(user_chat(self._filled("summary", subtask=self.state.current, screen=after)))
        before = self.seen(doing.state)
        found = await self._read(
            "align", read_alignment, subtask=self.state.current, before=before, after=after, action=action
        )
        return found or (False, f"The action was {action}.")

    async def completed(self) -> bool:
        """Return whether the whole task is done, or False if the reply is unreadable."""
        return await self._read("completed", partial(read_verdict, may_skip=False), screen=self.now) is True

    async def subtask_done(self) -> bool:
        """Return whether the subtask is done or not needed, or False if the reply is unreadable."""
        return await self._read("subtask", read_verdict, subtask=self.state.current, screen=self.now) is True

    async def answer(self) -> str:
        """Return the answer to the finished task."""
        return _ANSWER.split(await self._read("answer", read_text, screen=self.now) or "")[-1].strip()

    async def mapped(self, attempt: PlannedAttempt) -> str:
        """Adapt the attempt's action to the present page; return it unchanged if the reply is unreadable."""
        shown = {"before": self.seen(attempt.state), "after": self.now}
        return await self._read("map", react.read_action, action=attempt.action, **shown) or attempt.action

    async def _read(self, step: str, parse: Callable[[str], T | None], **values: str) -> T | None:
        return await self.calls.read(user_chat(self._filled(step, **values)), parse)

    def _filled(self, step: str, **values: str) -> str:
        view, state = self.view, self.state
        known = {
            "world": render(name_for("shared", view.environment, "actions")),
            "instruction": view.instruction,
            "memory": format_memory(view.memory),
            "plan": state.numbered(),
            "history": _listed(state.history),
            "notes": _listed(state.notes),
        }
        return render(name_for("introspective", view.environment, step), **{**known, **values})


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def read_note(action: str) -> str:
    """Return the text that an action notes for later, or "" if the action is not a note."""
    found = _NOTE.fullmatch(action)
    return found[1].strip() if found else ""


def read_plan(reply: str) -> list[str] | None:
    """Parse the subtasks of a list; return None if the list is missing."""
    found = read_list(reply)
    return [text for _, text in found] if found else None


def read_alignment(reply: str) -> tuple[bool, str] | None:
    """Parse (is aligned, sentence before the verdict); return None if the reply does not end with yes or no."""
    found = read_conclusion(reply)
    if found is None or found[0] == NOT_NEEDED:
        return None
    told = " ".join(found[1].split()).strip(" *_`")
    return found[0] == YES, told or "The reply has no description."


def read_verdict(reply: str, *, may_skip: bool = True) -> bool | None:
    """Parse the conclusion: yes, and "not essential" of a subtask (`may_skip`), as True, no as False; else None."""
    found = read_conclusion(reply)
    return None if found is None or (found[0] == NOT_NEEDED and not may_skip) else found[0] != NO


REMEDIES = 2
"""R, the number of remedies per action, as in the paper's figure."""
ACTIONS_A_TRIAL = 30
_A_STEP = 7_919
"""The distance between the seeds of two turns; repeated questions thus get separate replies."""
_SAMPLING = Sampling(temperature=1.0, max_tokens=512)


async def act(llm: LLM, view: ActorView, *, doubts: bool = True) -> Move:
    """Return the next move, which takes 4 + R calls after an aligned action; raise ModelError for an unusable reply."""
    state = read_state(view.steps) or PlanningState(notes=list(view.earlier.get("notes", ())))
    calls = ModelCalls(llm, view.seed + _A_STEP * len(view.steps), _SAMPLING)
    turn = PlannerTurn(calls, view, state, list_standing_steps(view.surroundings, view.steps), doubts)
    if not view.steps:
        return await _plan(turn, failed="")
    if state.doing is None:
        return await _propose(turn)
    return await (_arrive(turn, state.doing) if state.going_back else _reflect(turn, state.doing))


async def _plan(turn: PlannerTurn, failed: str) -> Move:
    state = turn.state
    state.plan, state.subtask, state.stack = await turn.plan(failed), 0, []
    return await _propose(turn, planned=True)


async def _propose(turn: PlannerTurn, *, planned: bool = False) -> Move:
    """Return a note, or try an attempt after listing its remedies; `planned` is true after a new plan."""
    state = turn.state
    action, chat = await turn.action()
    if note := read_note(action):
        state.notes.append(note)
        state.doing = None
        return _move(turn, action, planned=planned)
    known = [action]
    for _ in range(REMEDIES if turn.doubts and action != NO_ACTION else 0):
        remedy = await turn.remedy(chat)
        if remedy and remedy not in known:
            known.append(remedy)
    state.stack += [PlannedAttempt(turn.here, one, state.subtask) for one in [*known[1:], action]]
    return await _try(turn, planned=planned)


async def _reflect(turn: PlannerTurn, doing: PlannedAttempt) -> Move:
    """Choose the next move from the result of the last action; a reviewer may have replaced this action."""
    state, action = turn.state, turn.view.steps[-1].action
    state.forget(doing.state, action)
    aligned, description = await turn.align(doing, action)
    state.history.append(description)
    if turn.doubts and not aligned:
        return await _try(turn)
    if await turn.completed():
        return await _finish(turn)
    state.subtask += await turn.subtask_done()
    if state.subtask >= len(state.plan):
        return await _revise(turn)
    return await _propose(turn)


async def _try(turn: PlannerTurn, *, planned: bool = False) -> Move:
    """Try the attempt on top of the stack, going back to its state if necessary; replan if the stack is empty."""
    state, view = turn.state, turn.view
    while state.stack:
        attempt = state.stack.pop()
        if why := refusal(view.surroundings, view.steps, attempt.state, view.critical):
            state.refused.append(f"{attempt.action}: {why}")
            continue
        state.doing, state.subtask = attempt, attempt.subtask
        if attempt.state == turn.here:
            return _move(turn, attempt.action, planned=planned)
        state.backtracks, state.going_back = state.backtracks + 1, True
        return _move(turn, view.surroundings.back)
    return await _finish(turn) if await turn.completed() else await _revise(turn)


async def _revise(turn: PlannerTurn) -> Move:
    turn.state.revisions += 1
    return await _plan(turn, failed=turn.state.numbered())


async def _arrive(turn: PlannerTurn, doing: PlannedAttempt) -> Move:
    """Continue going back, or start the attempt with its element mapped to the present page."""
    state, view = turn.state, turn.view
    if turn.here == doing.state:
        state.going_back = False
        state.doing = PlannedAttempt(doing.state, await turn.mapped(doing), doing.subtask)
        return _move(turn, state.doing.action)
    stuck = list_standing_steps(view.surroundings, view.steps[:-1]) == turn.here
    why = refusal(view.surroundings, view.steps, doing.state, view.critical) or (stuck and "going back had no effect")
    if not why:
        return _move(turn, view.surroundings.back)
    state.going_back = False
    state.refused.append(f"{doing.action}: {why}")
    return await _try(turn)


async def _finish(turn: PlannerTurn) -> Move:
    """Give the answer with the environment's own action; without such an action, end the trial with the answer."""
    answer, state, form = await turn.answer(), turn.state, turn.view.surroundings.answering
    if not form:
        return Move("The task is done.", "", _extra(turn), done=answer)
    state.doing = PlannedAttempt(turn.here, form.replace("{answer}", answer), state.subtask)
    return _move(turn, state.doing.action)


def _move(turn: PlannerTurn, action: str, *, planned: bool = False) -> Move:
    """Return the move; its thought has the whole plan if the plan is new or the action is critical."""
    state = turn.state
    thought = f"Subtask {state.subtask + 1} of {len(state.plan)}: {state.current}"
    if state.going_back and state.doing:
        thought = f"The action missed its purpose. I go back to try {state.doing.action} instead."
    elif planned or is_critical(action, turn.view.critical):
        thought = f"{thought}\nThe plan:\n{state.numbered()}"
    extra = _extra(turn)
    return Move(thought, action, {**extra, NOTE: True} if read_note(action) else extra)


def _extra(turn: PlannerTurn) -> dict[str, object]:
    state = turn.state
    remedies = [] if state.going_back else state.remedies(turn.here)
    return {KEY: write_state(state, turn.view.steps), "remedies": remedies, "usage": asdict(turn.calls.usage)}


def carry(steps: Sequence[Step]) -> dict[str, Any]:
    """Return the last plan, the history and the notes of a trial, for the next trial of the task."""
    state = read_state(steps)
    return {"plan": state.numbered(), "history": state.history, "notes": state.notes} if state else {}


INTROSPECTIVE = Actor(
    "introspective",
    "Introspective (Devil's Advocate)",
    with_chosen_model(act),
    with_chosen_model(react.reflect),
    "asks a model, which lists remedies and goes back",
    {"any": ACTIONS_A_TRIAL},
    carry,
)
"""The introspective Actor with the model in the settings."""
