"""Group commit: what many trials want to write while the disk is busy goes into one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlmodel import Session

from console.database import writing

T = TypeVar("T")
Operation = Callable[[Session], Any]


class Journal:
    """Writes for the trials of one event loop; the loop goes on while a thread waits for the disk."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Operation, asyncio.Future[Any]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def write(self, operation: Callable[[Session], T]) -> T:
        """What the operation returns, once it is on disk; it fails together with those it was gathered with."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((operation, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._drain())
        return await done

    async def _drain(self) -> None:
        # Trials that are about to write in this turn of the loop still join.
        await asyncio.sleep(0)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await asyncio.to_thread(_commit, [operation for operation, _ in batch])
            except Exception as failure:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(failure)
                continue
            for (_, done), result in zip(batch, results, strict=True):
                if not done.done():
                    done.set_result(result)


def _commit(operations: Sequence[Operation]) -> list[Any]:
    with writing() as session:
        return [operation(session) for operation in operations]
