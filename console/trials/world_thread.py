"""Worlds in threads of their own, so that a slow, failing or hung world does not stop other trials.

All calls of a world run in one thread, because browsers and databases require it. The thread is a daemon, so that a
call that never returns does not keep the process alive.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from console.environments.environment import REFUSED, Environment, TaskSpec, World, WorldUnavailable
from console.errors import Refused
from console.trajectory import Trajectory
from console.trajectory.checkpoints import to_storable_text

T = TypeVar("T")
_log = logging.getLogger(__name__)


def rebuild_world(environment: Environment, task: TaskSpec, record: Trajectory, seed: int) -> tuple[World, str]:
    """Return the restored world and its first observation; raise Refused if the world differs from the record."""
    if environment.start is None or (record.steps and not environment.replayable):
        raise Refused(
            f"The trial of {task.task_id} cannot continue, because {environment.title} cannot repeat recorded steps. "
            "Start a new run."
        )
    world = environment.start(task)
    try:
        opening = _repeat_steps(world, task, record, seed)
    except Exception:
        close_world(world)
        raise
    return world, opening


def _repeat_steps(world: World, task: TaskSpec, record: Trajectory, seed: int) -> str:
    opening = to_storable_text(world.reset(seed=seed)[0])
    if record.opening and opening != record.opening:
        raise Refused(
            f"The trial of {task.task_id} cannot continue, because its first observation differs from the recorded "
            "observation. Start a new run."
        )
    for number, step in enumerate(record.steps, start=1):
        if REFUSED in step.extra:
            continue
        observation = to_storable_text(world.step(step.action)[0])
        if observation != step.observation:
            raise Refused(
                f"The trial of {task.task_id} cannot continue, because the observation of step {number} "
                f"({step.action}) differs from the recorded observation. Start a new run."
            )
    return opening


def close_world(world: World) -> None:
    """Close a world that can be closed; only log a failure, because the trial has its result."""
    close = getattr(world, "close", None)  # worlds of plug-ins may lack it
    try:
        if close is not None:
            close()
    except Exception:
        _log.warning("A world of type %s could not be closed.", type(world).__name__, exc_info=True)


class WorldThread:
    """The world of one trial and its thread; a call that takes too long raises WorldUnavailable."""

    def __init__(self, environment: Environment) -> None:
        """Start the thread; the environment sets the longest time of a call."""
        self._limit_s = environment.action_timeout_s
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._world: World | None = None
        self._is_hung = False
        threading.Thread(target=self._work, name=f"world {environment.name}", daemon=True).start()

    async def rebuild(self, environment: Environment, task: TaskSpec, record: Trajectory, seed: int) -> str:
        """Restore the world and return its first observation; raise the errors of `rebuild_world`, or
        WorldUnavailable.
        """

        def build() -> str:
            self._world, opening = rebuild_world(environment, task, record, seed)
            return opening

        return await self._call(build, self._limit_s * (1 + len(record.steps)))

    async def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one action in the world."""
        world = self._world
        assert world is not None  # rebuilt before
        return await self._call(lambda: world.step(action), self._limit_s)

    async def close(self) -> None:
        """Close the world and end the thread; do not wait for a world whose last call never returned."""
        if not self._is_hung:
            with suppress(WorldUnavailable):
                await self._call(self._close, self._limit_s)
        self._calls.put(None)

    def _close(self) -> None:
        world, self._world = self._world, None
        if world is not None:
            close_world(world)

    async def _call(self, function: Callable[[], T], limit_s: float) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def call() -> None:
            try:
                result = function()
            except BaseException as failure:
                _tell(loop, done, failure=failure)
            else:
                _tell(loop, done, result=result)

        self._calls.put(call)
        try:
            return await asyncio.wait_for(done, limit_s)
        except TimeoutError:
            if done.cancelled():
                self._is_hung = True
                raise WorldUnavailable(f"no response within {limit_s:g} s") from None
            raise

    def _work(self) -> None:
        while call := self._calls.get():
            call()
        self._close()


def _tell(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], result: Any = None, failure: BaseException | None = None
) -> None:
    """Pass the result of a call to its trial, unless the trial no longer waits."""

    def tell() -> None:
        if not done.done():
            done.set_result(result) if failure is None else done.set_exception(failure)

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:
        _log.info("A world answered after its round had ended.")
