"""Task briefings: the user's goal in plain words, for participants who get a briefing.

A new environment is one function here and one line in BRIEFS. Each function names the gold entries that it uses. The
label, score, outcome and solving actions therefore cannot enter a briefing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from console.language import gettext_noop

Brief = tuple[tuple[str, str], ...]
"""A briefing as pairs of a name and its value, in reading order."""


def brief_of(environment: str, gold: Mapping[str, Any]) -> Brief:
    """Return the briefing on a task, which names the target, or an empty briefing without a target (InferAct)."""
    describe = BRIEFS.get(environment)
    return tuple((name, text) for name, text in describe(gold) if text) if describe else ()


def _webshop(gold: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield gettext_noop("product"), _text(gold.get("name"))
    yield gettext_noop("listed as"), _text(gold.get("asin"))
    options = gold.get("options")
    if isinstance(options, Mapping):
        yield gettext_noop("options"), " · ".join(f"{name}: {value}" for name, value in options.items())


def _hotpotqa(gold: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield gettext_noop("answer"), _text(gold.get("answer"))


def _alfworld(gold: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield gettext_noop("object"), _text(gold.get("thing"))
    yield gettext_noop("place"), _text(gold.get("receptacle"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


BRIEFS: dict[str, Callable[[Mapping[str, Any]], Iterator[tuple[str, str]]]] = {
    "webshop": _webshop,
    "hotpotqa": _hotpotqa,
    "alfworld": _alfworld,
}
