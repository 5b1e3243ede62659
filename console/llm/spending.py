"""What was spent, and what may still be."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from console.llm.cache import Replies
from console.llm.errors import SpendingCapReached
from console.llm.prices import Price
from console.llm.reply import Request, Usage

_BYTES_A_TOKEN = 2
_FRAME_TOKENS = 8
"""What a chat adds around each message, generously."""


@dataclass(slots=True)
class Bill:
    """The cost of one call in USD, set when it is known; until then the most that it can be."""

    usd: float


class Purse:
    """Spending under a cap (None: no cap): that of an account, which outlives the process, or of this client alone."""

    def __init__(self, cap_usd: float | None, account: str | None = None, replies: Replies | None = None) -> None:
        self.cap_usd, self._account, self._replies = cap_usd, account, replies
        self.spent_usd, self._reserved, self._lock = 0.0, 0.0, threading.Lock()
        self._learn()

    @contextmanager
    def reserving(self, request: Request, price: Price | None) -> Iterator[Bill]:
        """Sets aside the most that the call can cost; raises SpendingCapReached, before the call, if that is too much.

        A call that fails is charged nothing. With several processes the cap can be passed by what they have in flight.
        """
        bill = Bill(self._most(request, price))
        most = bill.usd
        with self._lock:
            self._learn()
            if self.cap_usd is not None and self.spent_usd + self._reserved + most > self.cap_usd:
                raise SpendingCapReached(
                    f"The spending cap of {self.cap_usd:g} USD leaves {max(self.cap_usd - self.spent_usd, 0):.4f} USD; "
                    f"the next call to {request.model} may cost {most:.4f} USD. Raise the cap to go on."
                )
            self._reserved += most
        try:
            yield bill
        except BaseException:
            bill.usd = 0.0
            raise
        finally:
            self._settle(most, bill.usd)

    def _most(self, request: Request, price: Price | None) -> float:
        if price is None:
            if self.cap_usd is None:
                return 0.0
            raise SpendingCapReached(
                f"No price is known for {request.model}, so a spending cap cannot be kept: "
                "add it to prices.toml in the data directory, or go without a cap."
            )
        text = sum(len(message["content"].encode("utf-8", "replace")) for message in request.messages)
        prompt = text // _BYTES_A_TOKEN + _FRAME_TOKENS * (len(request.messages) + 1)
        return price.cost_usd(Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens * request.n))

    def _settle(self, reserved: float, usd: float) -> None:
        with self._lock:
            self._reserved -= reserved
            self.spent_usd += usd
            if self._account and self._replies and usd:
                self._replies.charge(self._account, usd)

    def _learn(self) -> None:
        """Other processes may have spent from the same account."""
        if self._account and self._replies:
            self.spent_usd = self._replies.spent_usd(self._account)
