"""The introspective Actor: plans, thinks of remedies before it acts, goes back, plans again (Devil's Advocate, Alg. 1).

A step whose action did not do what it was meant to is gone back on, and the latest remedy tried; where none is left,
the plan is revised. Nothing is gone back on that cannot be, least of all a critical action. Where the algorithm is
silent: a revised plan starts from the present state with an empty stack, and a plan that is used up without the task
being done is revised.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.actors import react
from console.actors.asking import NO_ACTION, ModelCalls, Sampling, chosen_model
from console.actors.introspective.questions import Questions
from console.actors.introspective.state import KEY, PlannedAttempt, PlanningState, state_of
from console.actors.move import Actor, ActorView, Move, Reflection
from console.environments.going_back import refusal, standing
from console.llm import LLM

REMEDIES = 2
"""R, as the paper's figure shows it."""
ACTIONS_A_TRIAL = 30
_A_STEP = 7_919
"""Between the seeds of two turns, so that the same question twice is drawn twice."""
_SAMPLING = Sampling(temperature=1.0, max_tokens=512)


@dataclass(frozen=True, slots=True)
class PlannerTurn:
    """One turn: the view, the state that grows in it, the questions, and the steps that the present stands on."""

    view: ActorView
    state: PlanningState
    ask: Questions
    here: tuple[int, ...]


async def act(llm: LLM, view: ActorView) -> Move:
    """The next move; raises ModelError where the model gives no reply.

    A turn after an aligned action takes 4 + R calls: align and describe, task done, subtask done, action, R remedies.
    """
    state = state_of(view.steps) or PlanningState()
    ask = Questions(ModelCalls(llm, view.seed + _A_STEP * len(view.steps), _SAMPLING), view, state)
    turn = PlannerTurn(view, state, ask, standing(view.surroundings, view.steps))
    if not view.steps or state.doing is None:
        return await _plan(turn, failed="")
    return await (_arrive(turn, state.doing) if state.going_back else _reflect(turn, state.doing))


async def _plan(turn: PlannerTurn, failed: str) -> Move:
    state = turn.state
    state.plan, state.subtask, state.stack = await turn.ask.plan(failed), 0, []
    await _propose(turn)
    return await _try(turn)


async def _propose(turn: PlannerTurn) -> None:
    """Puts the remedies on the stack and the first attempt on top of them."""
    state = turn.state
    action, chat = await turn.ask.action()
    known = [action]
    for _ in range(REMEDIES if action != NO_ACTION else 0):
        remedy = await turn.ask.remedy(chat)
        if remedy and remedy not in known:
            known.append(remedy)
    state.stack += [PlannedAttempt(turn.here, one, state.subtask) for one in [*known[1:], action]]


async def _reflect(turn: PlannerTurn, doing: PlannedAttempt) -> Move:
    """Goes on from what the last action brought about: it may have been another one, where a reviewer wrote it."""
    state, action = turn.state, turn.view.steps[-1].action
    state.forget(doing.state, action)
    aligned, description = await turn.ask.align(doing, action)
    state.history.append(description)
    if not aligned:
        return await _try(turn)
    if await turn.ask.completed():
        return await _finish(turn)
    state.subtask += await turn.ask.subtask_done()
    if state.subtask >= len(state.plan):
        return await _revise(turn)
    await _propose(turn)
    return await _try(turn)


async def _try(turn: PlannerTurn) -> Move:
    """Takes the top of the stack, going back where it belongs to an earlier state; plans again where none is left."""
    state, view = turn.state, turn.view
    while state.stack:
        attempt = state.stack.pop()
        if why := refusal(view.surroundings, view.steps, attempt.state, view.critical):
            state.refused.append(f"{attempt.action}: {why}")
            continue
        state.doing, state.subtask = attempt, attempt.subtask
        if attempt.state == turn.here:
            return _move(turn, attempt.action)
        state.backtracks, state.going_back = state.backtracks + 1, True
        return _move(turn, view.surroundings.back)
    return await _finish(turn) if await turn.ask.completed() else await _revise(turn)


async def _revise(turn: PlannerTurn) -> Move:
    turn.state.revisions += 1
    return await _plan(turn, failed=turn.state.numbered())


async def _arrive(turn: PlannerTurn, doing: PlannedAttempt) -> Move:
    """Goes further back, or takes up the attempt, its element mapped to the page as it is now."""
    state, view = turn.state, turn.view
    if turn.here == doing.state:
        state.going_back = False
        state.doing = PlannedAttempt(doing.state, await turn.ask.mapped(doing), doing.subtask)
        return _move(turn, state.doing.action)
    stuck = standing(view.surroundings, view.steps[:-1]) == turn.here
    why = refusal(view.surroundings, view.steps, doing.state, view.critical) or (stuck and "going back did nothing")
    if not why:
        return _move(turn, view.surroundings.back)
    state.going_back = False
    state.refused.append(f"{doing.action}: {why}")
    return await _try(turn)


async def _finish(turn: PlannerTurn) -> Move:
    """Gives the answer by the action that the environment has for it, or ends the trial with it."""
    answer, state, form = await turn.ask.answer(), turn.state, turn.view.surroundings.answering
    if not form:
        return Move("The task is done.", "", _extra(turn), done=answer)
    state.doing = PlannedAttempt(turn.here, form.replace("{answer}", answer), state.subtask)
    return _move(turn, state.doing.action)


def _move(turn: PlannerTurn, action: str) -> Move:
    state = turn.state
    thought = f"Subtask {state.subtask + 1} of {len(state.plan)}: {state.current}"
    if state.going_back and state.doing:
        thought = f"That did not do what it was meant to. Back, to try {state.doing.action} instead."
    return Move(thought, action, _extra(turn))


def _extra(turn: PlannerTurn) -> dict[str, object]:
    state = turn.state
    remedies = [] if state.going_back else state.remedies(turn.here)
    return {KEY: state.to_dict(), "remedies": remedies, "usage": turn.ask.calls.usage.as_dict()}


async def _act(view: ActorView) -> Move:
    return await act(chosen_model(), view)


async def _reflect_on(reflection: Reflection) -> str:
    return await react.reflect(chosen_model(), reflection)


INTROSPECTIVE = Actor(
    "introspective",
    "Introspective (Devil's Advocate)",
    _act,
    _reflect_on,
    "asks a model, which thinks of remedies and goes back",
    {"any": ACTIONS_A_TRIAL},
)
"""The Actor that asks the model of the settings."""
