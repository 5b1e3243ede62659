"""Tools offered to an agent: their schemas, and the words of their names in any style and script.

A name may be `sendEmail`, `send_email`, `mcp__mail__send`, `E-Mail_senden`, `отправить_письмо` or `发送邮件`. Agents
also end, answer or plan with calls (`task_complete`, `ask_user`, `TodoWrite`); such names consist of a few words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from console.trajectory.strict_yaml import Words, read_data

MOST_TOOLS = 2_000
_LONGEST_SUMMARY = 400
_PARAMETERS = ("parameters", "inputSchema", "input_schema", "parametersJsonSchema", "args_schema", "params")


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """The schema of a tool: `parameters` is the JSON Schema, `read_only` and `destructive` are the server's hints."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    read_only: bool | None = None
    destructive: bool | None = None

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        first = self.description.strip()[:_LONGEST_SUMMARY].split("\n", 1)[0]
        return first.split(". ", 1)[0]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        named = self.parameters.get("properties")
        return tuple(map(str, named)) if isinstance(named, Mapping) else ()

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form without empty fields."""
        record: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        hints = {"read_only": self.read_only, "destructive": self.destructive}
        return {key: value for key, value in record.items() if value} | {
            key: value for key, value in hints.items() if value is not None
        }


def read_schema(offered: object) -> ToolSchema | None:
    """Parse a tool in the dialect of OpenAI, Anthropic, MCP, Gemini or the canonical form; None if it has no name."""
    if not isinstance(offered, Mapping):
        return None
    held = offered.get("function")
    tool = held if isinstance(held, Mapping) else offered
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    parameters: Mapping[str, Any] = next((tool[key] for key in _PARAMETERS if isinstance(tool.get(key), Mapping)), {})
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    description = tool.get("description")
    return ToolSchema(
        name.strip(),
        description if isinstance(description, str) else "",
        parameters,
        _hint(tool.get("read_only"), hints.get("readOnlyHint")),
        _hint(tool.get("destructive"), hints.get("destructiveHint")),
    )


def read_schemas(offered: object) -> tuple[ToolSchema, ...]:
    """Parse a list of tools, a list of Gemini's tool groups, or either as JSON text; keep the last tool of each name.

    Omit tools without a name, and all other values.
    """
    if isinstance(offered, str):
        try:
            offered = orjson.loads(offered)
        except orjson.JSONDecodeError:
            return ()
    found: dict[str, ToolSchema] = {}
    for tool in _list_tools(offered):
        if (schema := read_schema(tool)) is not None and len(found) < MOST_TOOLS:
            found[schema.name] = schema
    return tuple(found.values())


def find_schema(tools: Iterable[ToolSchema], name: str) -> ToolSchema | None:
    """Return the schema of the tool with this name, or None if no tool has this name."""
    return next((tool for tool in tools if tool.name == name), None)


_GROUPS = ("functionDeclarations", "function_declarations")


def _list_tools(offered: object) -> Iterable[object]:
    for tool in offered if isinstance(offered, (list, tuple)) else ():
        groups = [tool[key] for key in _GROUPS if isinstance(tool.get(key), list)] if isinstance(tool, Mapping) else []
        yield from groups[0] if groups else (tool,)


def _hint(*stated: object) -> bool | None:
    return next((one for one in stated if isinstance(one, bool)), None)


LONGEST_NAME = 200
_NAMESPACE = re.compile(r"^.*(?:__|[./:])(?=\w)", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]+")
_SMALL_THEN_BIG = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_ENDING = 5
WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class _Turn:
    """The words of a name: one of `verbs`, one of `whom` if not empty, and any of `things`; or one of `alone`."""

    verbs: Words
    things: Words
    alone: Words
    whom: Words = frozenset()


@dataclass(frozen=True, slots=True)
class _Planning:
    words: Words
    verbs: Words


@dataclass(frozen=True, slots=True)
class _Lexicon:
    verbs: dict[str, dict[str, Words]]
    ends: _Turn
    answers: _Turn
    plans: _Planning


def fold_letters(text: str) -> str:
    """Return the text in lower case without accents, with ß as ss and ł as l; other scripts keep their letters."""
    plain = text.lower().replace("ß", "ss").replace("ł", "l").replace("ı", "i")
    if plain.isascii():
        return plain
    kept = (c for c in unicodedata.normalize("NFKD", plain) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(kept))


def _spellings(words: Iterable[str]) -> set[str]:
    """Return each word without accents, and with ä, ö, ü as ae, oe, ue."""
    umlauts = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
    return {fold_letters(one) for word in words for one in (word, word.translate(umlauts))}


_LEXICON = read_data(files(__package__) / "tool_names.yaml", _Lexicon)
_VERB_FINAL = ("tr", "ja", "ko", "hi")
"""Languages whose verb stands behind its object (`gonderi_iptal`: cancel a shipment)."""


def _by_word(table: Mapping[str, Mapping[str, Words]], *, is_final: bool) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for effect, languages in table.items():
        for name, words in languages.items():
            for word in _spellings(words) if (name in _VERB_FINAL) is is_final else ():
                found.setdefault(word, set()).add(effect)
    return {word: frozenset(of) for word, of in found.items()}


_AT_END, _AT_START = (_by_word(_LEXICON.verbs, is_final=is_final) for is_final in (True, False))
_ALL = {**_AT_END, **_AT_START}
_INSIDE = {word: of for word, of in _ALL.items() if WITHOUT_SPACES.search(word)}
_SEVERAL = {word: of for word, of in _ALL.items() if "_" in word}
_STEMS = {word[:-1]: of for word, of in _ALL.items() if word.endswith("-")}
_WHOLE = {word: of for word, of in _ALL.items() if word not in _INSIDE and word not in _SEVERAL and word[-1] != "-"}
_LONGEST_INSIDE = sorted(_INSIDE, key=len, reverse=True)
_PLANS, _BESIDE_PLANS = _spellings(_LEXICON.plans.words), _spellings(_LEXICON.plans.verbs)
_TODO = frozenset({"todo", "todos"})
_ENTERS = frozenset({"add", "create", "make", "new"})


def list_words(tool: str) -> tuple[str, ...]:
    """Return the words of a tool's name in lower case, without the namespace of its server."""
    name = tool.strip()[:LONGEST_NAME]
    return _parts(_NAMESPACE.sub("", name, 1)) or _parts(name)


@lru_cache(maxsize=4096)
def _parts(name: str) -> tuple[str, ...]:
    runs = (part for run in _LETTERS.findall(name) for part in _SMALL_THEN_BIG.split(run))
    return tuple(part.lower() for part in runs if part)


@lru_cache(maxsize=16384)
def foreign_effects(word: str) -> frozenset[str]:
    """Return the effects of a word in a language other than English, or an empty set."""
    plain = fold_letters(word)
    if plain in _WHOLE:
        return _WHOLE[plain]
    shortest = max(3, len(plain) - _LONGEST_ENDING)
    stem = next((plain[:size] for size in range(len(plain), shortest - 1, -1) if plain[:size] in _STEMS), "")
    if stem:
        return _STEMS[stem]
    if WITHOUT_SPACES.search(plain):
        return next((_INSIDE[one] for one in _LONGEST_INSIDE if one in plain), frozenset())
    return frozenset()


def name_foreign_effects(words: tuple[str, ...]) -> frozenset[str]:
    """Return the effects of a name's words in other languages: of the first word, else the last, else any word.

    A verb of a language with verbs at the end comes first if it is last. A single word may contain its verb at the
    start or the end (`dateiloeschen`).
    """
    joined = "_".join(map(fold_letters, words))
    several = next((of for phrase, of in _SEVERAL.items() if f"_{phrase}_" in f"_{joined}_"), None)
    if several is None and len(words) > 2:
        # A separable verb stands around its object: `lege_termin_an`.
        several = _SEVERAL.get(f"{fold_letters(words[0])}_{fold_letters(words[-1])}")
    if several is not None:
        return several
    if words and (found := _AT_END.get(fold_letters(words[-1]))):
        return found
    for word in (*words[:1], *words[-1:], *words[1:-1]):
        if found := foreign_effects(word):
            return found
    glued = fold_letters(words[0]) if len(words) == 1 else ""
    for stem, of in _STEMS.items() if len(glued) > 7 else ():
        at = glued.rfind(stem) if len(stem) > 4 else -1
        if at == 0 or (at > 0 and len(glued) - at - len(stem) <= _LONGEST_ENDING):
            return of
    return frozenset()


class _TurnWords:
    """The words of one kind of turn, without accents."""

    def __init__(self, turn: _Turn) -> None:
        self.verbs, self.whom, self.alone = map(_spellings, (turn.verbs, turn.whom, turn.alone))
        self.known = _spellings(turn.things) | self.verbs | self.whom

    def fill(self, words: tuple[str, ...]) -> bool:
        """Return whether a tool's name consists of these words alone."""
        plain = [fold_letters(word) for word in words]
        if len(plain) == 1 and (WITHOUT_SPACES.search(plain[0]) or len(plain[0]) > 8):
            plain = self._split(plain[0])
        if len(plain) == 1:
            return plain[0] in self.alone or (plain[0] in self.verbs and not plain[0].isascii())
        held = set(plain)
        return bool(held & self.verbs) and held <= self.known and (not self.whom or bool(held & self.whom))

    def _split(self, word: str) -> list[str]:
        """Return the known words that form a name without separators, or the name itself."""
        rest, found = word.removesuffix("する"), list[str]()
        for known in sorted(self.known, key=len, reverse=True):
            if known in rest and (len(known) > 2 or not known.isascii()):
                rest = rest.replace(known, "", 1)
                found.append(known)
        return [word] if rest else found


_ENDS, _ANSWERS = _TurnWords(_LEXICON.ends), _TurnWords(_LEXICON.answers)


def is_ending_name(words: tuple[str, ...]) -> bool:
    """Return whether a tool's words mean only that the agent ends its task or submits its answer."""
    return _ENDS.fill(words)


def is_answering_name(words: tuple[str, ...]) -> bool:
    """Return whether a tool's words mean only that the agent talks to its user."""
    return _ANSWERS.fill(words)


def is_planning_name(words: tuple[str, ...]) -> bool:
    """Return whether a tool's words mean only that the agent thinks or edits its own plan, not a to-do list entry."""
    plain = {fold_letters(word) for word in words}
    enters = plain & _TODO and plain & _ENTERS
    return bool(plain & _PLANS) and plain <= _PLANS | _BESIDE_PLANS and not enters
