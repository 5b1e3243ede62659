"""Model calls of an Actor, and parsers of the replies: lists and conclusions in prose, in a code fence or in JSON.

A request is repeated after an unreadable reply, and the usage of every call is counted.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import orjson

from console.llm import LLM, Message, ModelUsage, Purpose, Reply, Sampling, chosen_model, connect, get_purpose
from console.llm.declined import find_refusal, is_refusal
from console.llm.errors import ModelRefused
from console.settings import settings

YES, NO, NOT_NEEDED = "yes", "no", "non-essential"

_FENCE = re.compile(r"^\s*```[^\n]*\n(.*?)\n?\s*```", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"[\s>*_#-]*(?:step\s*)?(\d+)\s*[.):][\s*_]*(\S.*?)[\s*]*", re.IGNORECASE)
_BULLET = re.compile(r"()[-*+\u2022]\s+(\S.*?)[\s*]*")
_BELOW = re.compile(r"\s+\S|[-*+\u2022]\s+\S")
_FLAWS = re.compile(r"\b(?:flaws?|problems?|mistakes?|errors?|issues?|weakness(?:es)?)\b", re.IGNORECASE)
_MENDED = re.compile(r"\b(?:revised|new|next|updated|corrected|improved|final|fixed|without)\b", re.IGNORECASE)
_WORD = r"(yes|no|non-?\s?essential)"
_OPEN, _CLOSE = r"[\s*_`\"'(\[]*", r"[\s.!*_`\"')\]]*"
_SAID_ALOUD = re.compile(r"\b(YES|NO|(?i:non-?\s?essential))\b")
_LABELLED = re.compile(
    rf"\b(?:answer|verdict|conclusion|decision|result|so|thus|hence|therefore|finally)\b(?:\s+is)?\s*"
    rf"(?:[:=,]|(?<=is)\s){_OPEN}{_WORD}\b(?!-)",
    re.IGNORECASE,
)
_AT_END = re.compile(rf"(?:^|[.!?:;)\n\u2013\u2014-]){_OPEN}{_WORD}\b{_CLOSE}$", re.IGNORECASE)
_LAST_WORD = re.compile(rf"\b{_WORD}\b{_CLOSE}$", re.IGNORECASE)
_ALONE = re.compile(rf"{_OPEN}{_WORD}{_CLOSE}", re.IGNORECASE)
_AT_START = re.compile(rf"{_OPEN}{_WORD}\b[*_`\"')\]]*\s*(?:[.,:;!(\n\u2014\u2013-]|$)", re.IGNORECASE)
_TURN = re.compile(r"\b(but|however|although|though|except|unless|yet|still)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|without|if|whether)|n['\u2019]t)\b[^.!?:;\n\u2013\u2014]*$", re.IGNORECASE
)
_QUOTED = re.compile(rf"(?<=\w )([\"'\u201c\u2018`]){_WORD}[.,!]?[\"'\u201d\u2019`]", re.IGNORECASE)


def read_json(reply: str) -> Any:
    """Parse a reply that is JSON, with or without a fence; return None for any other reply."""
    fenced = _FENCE.search(reply)
    text = (fenced[1] if fenced else reply).strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def read_text(reply: str) -> str | None:
    """Return the unchanged reply, or None if the reply refuses to answer."""
    return None if is_refusal(reply) else reply


def read_list(reply: str) -> list[tuple[int, str]] | None:
    """Parse the (number, text) of each item in a list; return None without a list."""
    kept = [line for line in list_lines(reply) if _ITEM.fullmatch(line)] or list_lines(reply)
    found = [(_ITEM.fullmatch(line) or _BULLET.fullmatch(line), at) for at, line in enumerate(kept, start=1)]
    return [(int(match[1] or at), match[2]) for match, at in found if match] or None


def list_lines(reply: str) -> list[str]:
    """Return the lines of the last list in a reply: numbered lines, else bullets, or the texts of a JSON document.

    Indented lines and bullets below an item belong to the list. Flaws and refusals are not a list of steps.
    """
    document = read_json(reply)
    if document is not None:
        lists = [("", [f"{number}. {text}" for number, text in enumerate(_json_items(document), start=1)])]
    else:
        lines = reply.splitlines()
        lists = _split_lists(lines, _ITEM if any(map(_ITEM.fullmatch, lines)) else _BULLET)
    plans = [found for heading, found in lists if not _FLAWS.search(heading) or _MENDED.search(heading)]
    last = plans[-1] if plans else []
    items = [match[2] for line in last if (match := _ITEM.fullmatch(line) or _BULLET.fullmatch(line))]
    return [] if any(map(is_refusal, items)) else last


def _split_lists(lines: list[str], item: re.Pattern[str]) -> list[tuple[str, list[str]]]:
    """Return the lists with their headings; a list ends at a heading, unless the numbers continue after it."""
    lists: list[tuple[str, list[str]]] = []
    heading, last = "", 0
    for line in lines:
        if found := item.fullmatch(line):
            number = int(found[1] or 0)
            if not lists or (heading and number <= last):
                lists.append((heading, []))
            lists[-1][1].append(line.rstrip())
            heading, last = "", number
        elif lists and not heading and _BELOW.match(line):
            lists[-1][1].append(line.rstrip())
        elif line.strip(" `*_#-"):
            heading = line
    return lists


def _json_items(document: Any) -> list[str]:
    """Return the texts of a JSON list, of the first list in an object, or of an object with numbers as keys."""
    if isinstance(document, Mapping):
        numbered = bool(document) and all(re.fullmatch(r"(?i)(?:step\s*)?\d+", str(name)) for name in document)
        inner = list(document.values()) if numbered else next((v for v in document.values() if isinstance(v, list)), [])
    else:
        inner = document if isinstance(document, list) else []
    fields = [one.values() if isinstance(one, Mapping) else [one] for one in inner]
    told = [[one for one in some if isinstance(one, str) and re.search(r"[^\d\s]", one)] for some in fields]
    return [" ".join(texts[0].split()) for texts in told if texts] if all(len(texts) < 2 for texts in told) else []


def read_conclusion(reply: str) -> tuple[str, str] | None:
    """Return (YES, NO or NOT_NEEDED, the other words), or None if the reply has no conclusion.

    The last labelled verdict ("so: NO") counts, else the verdict at the start, else at the end, else the only verdict
    in capitals. A negated, limited ("Yes, but ...") or contradicted yes is not a conclusion, and a quoted word is not a
    verdict. In a JSON object, the only verdict or boolean counts.
    """
    document = read_json(reply)
    if document is not None:
        return _of_json(document)
    text = _QUOTED.sub(lambda word: " " * len(word[0]), reply)
    spoken = [one for one in _SAID_ALOUD.finditer(text) if not _NEGATED.search(text, 0, one.start())]
    labelled, start, end = list(_LABELLED.finditer(text)), _AT_START.match(text), _AT_END.search(text)
    last = _LAST_WORD.search(text)
    found = labelled[-1] if labelled else start or end or last
    if found is None and len({_named(one[1]) for one in spoken}) == 1:
        found = spoken[0]
    if found is None or _NEGATED.search(text, 0, found.start(1)):
        return None
    verdict, said = _named(found[1]), {_named(one[1]) for one in (*labelled, start, end, *spoken) if one}
    # A leading or labelled no stands against later words, unless the reply ends with a verdict of its own.
    is_doubted = verdict != NO or found is last or (found is start and end and end[1].isupper())
    if (is_doubted and said - {verdict}) or (verdict != NO and _TURN.search(text, found.end())):
        return None
    return verdict, reply[: found.start(1)] + reply[found.end() :]


def _of_json(document: Any) -> tuple[str, str] | None:
    if not isinstance(document, Mapping):
        return None
    truths = [YES if value else NO for value in document.values() if isinstance(value, bool)]
    words = [value for value in document.values() if isinstance(value, str)]
    told = [_named(found[1]) for value in words if (found := _ALONE.fullmatch(value))]
    if len(truths) + len(told) != 1:
        return None
    return (truths + told)[0], " ".join(value for value in words if not _ALONE.fullmatch(value))


def _named(word: str) -> str:
    plain = word.lower()
    return plain if plain in (YES, NO) else NOT_NEEDED


T = TypeVar("T")
Given = TypeVar("Given")

NO_ACTION = "think[no action could be read in the model's reply]"
"""The placeholder action for an unreadable reply: a thought, which has no effect in any environment."""
RE_ASKS = 2
"""The number of repeated requests after an unreadable reply."""
_TRIALS_AT_MOST = 1_000


@dataclass(slots=True)
class ModelCalls:
    """The model calls of one Actor for one move."""

    llm: LLM
    seed: int
    sampling: Sampling = field(default_factory=Sampling)
    usage: ModelUsage = field(default_factory=ModelUsage)

    async def read(self, messages: Sequence[Message], parse: Callable[[str], T | None]) -> T | None:
        """Return the first reply that can be parsed, or None if three replies are unreadable.

        Raise ModelRefused if the model refuses to answer three times.
        """
        refusals = []
        for take in range(RE_ASKS + 1):
            reply = await self._reply(messages, take)
            found = parse(reply.text.strip())
            if found is not None:
                return found
            refusals.append(find_refusal(reply))
        if all(refusals):
            raise ModelRefused(f"The model declined to answer: {refusals[-1]}")
        return None

    async def text(self, messages: Sequence[Message], take: int = 0) -> str:
        """Return the text of one reply; each value of `take` requests a separate reply."""
        return (await self._reply(messages, take)).text.strip()

    async def _reply(self, messages: Sequence[Message], take: int) -> Reply:
        reply = await self.llm.complete(messages, replace(self.sampling, seed=self.seed + take, take=take))
        self.usage.add(reply)
        return reply


def user_chat(text: str) -> list[Message]:
    """Return a chat with a single user message."""
    return [{"role": "user", "content": text}]


def with_chosen_model(function: Callable[[LLM, Given], Awaitable[T]]) -> Callable[[Given], Awaitable[T]]:
    """Bind the chosen model as the first argument of a function; the connection opens at the first call."""

    async def call(given: Given) -> T:
        return await function(connect_chosen_model(), given)

    return call


def connect_chosen_model() -> LLM:
    """Return a client for the model of the current purpose or of the settings; raise NoModel if neither is set."""
    return _connected(chosen_model(), settings().data_dir, get_purpose())


@lru_cache(maxsize=4)
def _connected(model: str | None, data_dir: Path, purpose: Purpose | None) -> LLM:
    # One client serves all trials of a process. A trial has one request at a time, so its runner sets the limit.
    return connect(model, concurrency=_TRIALS_AT_MOST)
