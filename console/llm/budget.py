"""The budget of a model client: what tokens cost, what was spent, and what may still be.

Prices are a table as data, which a file of the user's own completes and overrides.
"""

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
from console.llm.messages import Request, Usage

PACKAGED = Path(__file__).with_name("prices.toml")
_MILLION = 1_000_000
_VERSION = re.compile(r"[-@:](\d[\d-]*|latest|preview)$")
_BYTES_A_TOKEN = 2
_FRAME_TOKENS = 8
"""What a chat adds around each message, generously."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD for a million tokens; cached input costs as much as other input where nothing else is said."""

    input: float
    output: float
    cached_input: float | None = None

    def cost_usd(self, usage: Usage) -> float:
        """What that many tokens cost."""
        cached = min(usage.cached_prompt_tokens, usage.prompt_tokens)
        fresh = usage.prompt_tokens - cached
        cached_price = self.input if self.cached_input is None else self.cached_input
        return (fresh * self.input + cached * cached_price + usage.completion_tokens * self.output) / _MILLION


def load_prices(own: Path | None = None) -> dict[str, Price]:
    """The packaged prices, and over them those of the user's own file if it exists; raises BadInput for a bad entry."""
    prices = _read(PACKAGED)
    return prices | _read(own) if own and own.exists() else prices


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """The price of that model, a date or version after the name and a provider before it put aside."""
    for name in (model, model.rsplit("/", 1)[-1]):
        for known in (name, _VERSION.sub("", name)):
            if known in prices:
                return prices[known]
    return None


def _read(path: Path) -> dict[str, Price]:
    try:
        tables = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as broken:
        raise BadInput(f"{path}: this is not valid TOML ({broken}).") from broken
    return {name: _price(path, name, table) for name, table in tables.items()}


def _price(path: Path, name: str, table: object) -> Price:
    known = {"input", "output", "cached_input"}
    if (
        isinstance(table, dict)
        and {"input", "output"} <= table.keys() <= known
        and all(_amount(v) for v in table.values())
    ):
        return Price(**table)
    raise BadInput(f"{path}: {name} needs input and output (and may have cached_input), in USD for a million tokens.")


def _amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


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
