"""What tokens cost: a table as data, which a file of the user's own completes and overrides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from console.errors import BadInput
from console.llm.reply import Usage

PACKAGED = Path(__file__).with_name("prices.toml")
_MILLION = 1_000_000
_VERSION = re.compile(r"[-@:](\d[\d-]*|latest|preview)$")


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
