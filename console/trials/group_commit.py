"""Group commit: what many trials want to write while the disk is busy goes there in one go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlmodel import Session

from console.database import review_queue, writing
from storage.queue import NewItem

T = TypeVar("T")
Operation = Callable[[Session], Any]


class Gathered:
    """Gathers what the trials of one event loop hand in; a thread commits it while the loop goes on."""

    def __init__(self, commit: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self._commit = commit
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def add(self, work: Any) -> Any:
        """What came of the work, once it is on disk; it fails together with what it was gathered with."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._drain())
        return await done

    async def _drain(self) -> None:
        # Trials that are about to write in this turn of the loop still join.
        await asyncio.sleep(0)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await asyncio.to_thread(self._commit, [work for work, _ in batch])
            except Exception as failure:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(failure)
            else:
                for (_, done), result in zip(batch, results, strict=True):
                    if not done.done():
                        done.set_result(result)


class GroupCommit:
    """Where trials write: rows in one transaction with those of others, review items likewise."""

    def __init__(self, queued: Callable[[], None]) -> None:
        """`queued` is called in a thread after items were put."""
        self._rows, self._items = Gathered(_commit), Gathered(lambda items: _put(items, queued))

    async def write(self, operation: Callable[[Session], T]) -> T:
        """What the operation returns, once it is on disk."""
        result: T = await self._rows.add(operation)
        return result

    async def queue(self, item: NewItem) -> None:
        """Puts the item in the review queue."""
        await self._items.add(item)


def _commit(operations: Sequence[Operation]) -> list[Any]:
    with writing() as session:
        return [operation(session) for operation in operations]


def _put(items: Sequence[NewItem], queued: Callable[[], None]) -> Sequence[NewItem]:
    review_queue().put(items)
    queued()
    return items
