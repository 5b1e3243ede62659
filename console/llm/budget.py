"""The budget of a model client: token prices (a table, and the user's own file), spending, and the cap."""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from console.errors import BadInput
from console.llm.cache import Replies
from console.llm.errors import SpendingCapReached
from console.llm.messages import Reply, Request, Usage

PACKAGED = Path(__file__).with_name("prices.toml")
_MILLION = 1_000_000
_VERSION = re.compile(r"[-@:](\d[\d-]*|latest|preview)$")
_BYTES_A_TOKEN = 2
_FRAME_TOKENS = 8
"""An upper estimate of the tokens that a chat adds to each message."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price in USD per million tokens; by default, cached input costs as much as other input."""

    input: float
    output: float
    cached_input: float | None = None

    def cost_usd(self, usage: Usage) -> float:
        """Compute the cost of these tokens in USD."""
        cached = min(usage.cached_prompt_tokens, usage.prompt_tokens)
        fresh = usage.prompt_tokens - cached
        cached_price = self.input if self.cached_input is None else self.cached_input
        return (fresh * self.input + cached * cached_price + usage.completion_tokens * self.output) / _MILLION


def load_prices(own: Path | None = None) -> dict[str, Price]:
    """Load the packaged prices and the user's file, which takes precedence; raise BadInput if an entry is invalid."""
    prices = _read(PACKAGED)
    return prices | _read(own) if own and own.exists() else prices


def find_price(prices: Mapping[str, Price], model: str) -> Price | None:
    """Return the price of a model, or None; ignore a provider before the name and a date or version after the name."""
    for name in (model, model.rsplit("/", 1)[-1]):
        for known in (name, _VERSION.sub("", name)):
            if known in prices:
                return prices[known]
    return None


def _read(path: Path) -> dict[str, Price]:
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as broken:
        raise BadInput(f"{path}: this is not valid TOML ({broken}). Correct the file.") from broken
    return {name: _price(path, name, table) for name, table in tables.items()}


def _price(path: Path, name: str, table: object) -> Price:
    known, needed = {"input", "output", "cached_input"}, {"input", "output"}
    if isinstance(table, dict) and needed <= table.keys() <= known and all(map(_is_amount, table.values())):
        return Price(**table)
    raise BadInput(
        f"{path}: {name} has invalid prices. Give input, output and optionally cached_input, in USD per million tokens."
    )


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


@dataclass(slots=True)
class Bill:
    """The cost of one call in USD: the maximum until the actual cost is known."""

    usd: float


class SpendingAccount:
    """Spending under a cap (None: unlimited), for an account over all processes or for this client alone."""

    def __init__(self, cap_usd: float | None, account: str | None = None, replies: Replies | None = None) -> None:
        self.cap_usd, self._account, self._replies = cap_usd, account, replies
        self.spent_usd, self._reserved, self._lock = 0.0, 0.0, threading.Lock()
        self._learn()

    @contextmanager
    def reserving(self, request: Request, price: Price | None) -> Iterator[Bill]:
        """Reserve the maximum cost of a call; raise SpendingCapReached if this cost would exceed the cap.

        A failed call costs nothing. Parallel calls in several processes may exceed the cap.
        """
        bill = Bill(self._most(request, price))
        most = bill.usd
        with self._lock:
            self._learn()
            if self.cap_usd is not None and self.spent_usd + self._reserved + most > self.cap_usd:
                raise SpendingCapReached(
                    f"The spending cap of {self.cap_usd:g} USD leaves {max(self.cap_usd - self.spent_usd, 0):.4f} USD, "
                    f"but the next call to {request.model} may cost {most:.4f} USD. Raise the cap to continue."
                )
            self._reserved += most
        try:
            yield bill
        except BaseException:
            bill.usd = 0.0
            raise
        finally:
            with self._lock:
                self._reserved -= most
                self.spent_usd += bill.usd
                if self._account and self._replies and bill.usd:
                    self._replies.charge(self._account, bill.usd)

    def count(self, reply: Reply) -> None:
        """Add a reply to the account's usage."""
        if self._account and self._replies:
            self._replies.count(self._account, reply)

    def _most(self, request: Request, price: Price | None) -> float:
        if price is None:
            if self.cap_usd is None:
                return 0.0
            raise SpendingCapReached(
                f"The price of {request.model} is unknown, so the spending cap cannot be enforced. Add the price to "
                "prices.toml in the data directory, or remove the cap."
            )
        text = sum(len(message["content"].encode("utf-8", "replace")) for message in request.messages)
        prompt = text // _BYTES_A_TOKEN + _FRAME_TOKENS * (len(request.messages) + 1)
        return price.cost_usd(Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens * request.n))

    def _learn(self) -> None:
        """Read the account's spending again, because other processes may use the same account."""
        if self._account and self._replies:
            self.spent_usd = self._replies.spent_usd(self._account)
