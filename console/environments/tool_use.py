"""Tool use: calls that change data, the sources of their arguments, and whether the user asked for these calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

from console.environments.acts import Act
from console.trajectory.call_values import STATEMENT, Leaves, leaves
from console.trajectory.calls import SHELLS, Call
from console.trajectory.effects import CHANGING, IN_WORDS, RECIPIENTS, Effect, Kind, effects, gravest, is_verb
from console.trajectory.provenance import WRITTEN, Argument, ReceivedText, Source, ToolResult, arguments, is_figure
from console.trajectory.requirements.anchors import AnchorKind, read_anchors
from console.trajectory.shell_effects import ASKING
from console.trajectory.strict_yaml import Words, read_data
from console.trajectory.terms import FUNCTION_WORDS, lowered
from console.trajectory.tools import ToolSchema, list_words


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """Patterns by name, and groups of verbs with which people ask for the same thing."""

    patterns: dict[str, str]
    synonyms: tuple[Words, ...]


_LEXICON = read_data(files(__package__) / "tool_use.yaml", _Lexicon)
_PATTERNS = {name: re.compile(pattern) for name, pattern in _LEXICON.patterns.items()}
_TELLING = re.compile(r"[^\W_]+@[\w.-]+|https?://|^[/~]|\d{3}|^[a-z]+_[\w]*\d", re.IGNORECASE)
_RECIPIENT = _PATTERNS["recipient"]
_ORDER = _PATTERNS["order"]
_REPORTS = re.compile(r"\bsuccessful(?:ly)?\W*$|\b(?:has|have) been (?:\w+ly )?\w+(?:ed|en|t)\W*$")
"""The end of a sentence that reports the effect of a call."""
_MOMENT = _PATTERNS["moment"]
_GENERIC_WORDS = "manager tool api service system client helper app data user users id info get the of to in"
_GENERIC = frozenset(_GENERIC_WORDS.split())
_ENDING = re.compile(r"(?:ations?|ments?|ings?|ions?|ed|es|s|e|er|al)$")
ASSENT = _PATTERNS["assent"]
"""Words by which a user agrees to an offer."""
_DECLINES = re.compile(r"\W*(?:no|not|nope|don't|do not|wait|stop|never|what|why|how|which)\b")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\\n|\n|<[^<>]*>|['\"{}]\s*[,:]\s*['\"]")
_TO_ME = _PATTERNS["to_me"]
_DELEGATES = _PATTERNS["delegates"]
_NO_REQUEST = _PATTERNS["no_request"]
_ANEW = re.compile(r"\b(?:in|into|as|to|on|create|make|write|start|open|add|set up) (?:a|an|my|the) new (\w+)")
_VERB_USES = _PATTERNS["verb_uses"]
_SYNONYMS = _LEXICON.synonyms


GRAVE = frozenset({Effect.PAY, Effect.SEND, Effect.DELETE})
"""The effects that people describe in various words."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call that changes data: its effects, the sources of its arguments, and whether the user asked for the call.

    `ordered` is the sentence in the result of step `ordered_by` that asks for the call, or "". `agreed_in` is the step
    in which the agent offered the call and the user agreed, else 0.
    """

    step: int
    call: Call
    effects: frozenset[Effect]
    leaves: Leaves
    arguments: tuple[Argument, ...]
    asked: bool
    failed: bool = False
    ordered: str = ""
    ordered_by: int = 0
    agreed_in: int = 0

    @property
    def does(self) -> str:
        """The most serious effect, as a verb for display."""
        return IN_WORDS[gravest(self.effects)]


def trace_calls(
    done: Sequence[Act], pending: Act, user: str, policy: str, tools: Sequence[ToolSchema] = ()
) -> tuple[TracedCall, ...]:
    """Return the earlier calls that changed data and all pending calls, each with the evidence at its step."""
    results = tuple(
        ToolResult(act.step, _tool_name(act), lowered(f"{act.observation[:60_000]}\n{_paths_read(act)}"))
        for act in done
        if not act.talks and act.observation
    )
    found = []
    for act in (*done, pending):
        for call in () if act.talks else act.calls:
            does = effects(call.name, call.arguments, tools)
            if act is pending or (does & CHANGING and not act.failed):
                told = ReceivedText(user, policy, tuple(result for result in results if result.step < act.step))
                asked = _tool_call(act, call, does, told)
                found.append(asked if asked.asked else replace(asked, agreed_in=_agreed_in(asked, done)))
    return tuple(found)


_PATH = re.compile(r"[^\s]{0,300}[^\s/][/.][^\s/.][^\s]{0,300}")


def _paths_read(act: Act) -> str:
    """Return the paths and addresses that a call read, one per line, or "" if the call failed or read none."""
    if act.failed or act.kind is not Kind.READING:
        return ""
    found = (value for call in act.calls for _, value in leaves(call.arguments))
    return "\n".join(value for value in found if _PATH.fullmatch(value))


def _tool_name(act: Act) -> str:
    """Return the name of the tool that was called first, without remains of unreadable arguments."""
    return re.split(r"[(\[{=\"'\s]", act.calls[0].name, maxsplit=1)[0] if act.calls else ""


def _agreed_in(one: TracedCall, done: Sequence[Act]) -> int:
    """Return the step of the agent's last message if it offers the call and the user agrees, else 0.

    An offer contains the call's verb, or its object and every number among its arguments.
    """
    talks = [act for act in done if act.talks and act.step < one.step]
    if not talks:
        return 0
    offer, reply = lowered(talks[-1].argument or talks[-1].action), lowered(talks[-1].observation)
    if "?" not in offer or _DECLINES.match(reply) or not ASSENT.search(reply):
        return 0
    figures = [part.value for part in one.arguments if is_figure(part.value)]
    names = _object_stems(one.call) & stems(offer) and all(figure in offer for figure in figures)
    return talks[-1].step if (names and figures) or verb_stems(one.call) & stems(offer) else 0


def is_identifying(value: str) -> bool:
    """Return whether a value is an identifier: an address, account, id, path or number, but not a date."""
    return bool(
        len(value) <= 100 and not _MOMENT.fullmatch(value.strip()) and (_TELLING.search(value) or is_figure(value))
    )


def names_recipient(name: str) -> bool:
    """Return whether an argument with this name specifies a recipient."""
    plain = name.lower()
    return (plain in RECIPIENTS or bool(_RECIPIENT.search(plain))) and not plain.startswith(
        ("from", "source", "sender")
    )


_SETTING = _PATTERNS["setting"]
COMMAND = re.compile(r"^(?:command|cmd|commands|code|script|command_line|argv|input)$", re.IGNORECASE)
_FLAG = re.compile(r"-{1,2}[\w-]+")


_MOST_WORDS = 8
_SQL = re.compile(r"\b(?:from|into|set|table|values|where)\b", re.IGNORECASE)


def is_telling(one: Argument, call: TracedCall) -> bool:
    """Return whether the source of an argument helps to decide on a call.

    The source of the shell, its flags, a tool's own settings and a whole command does not help, and neither does a new
    value of a call that only reads, a new true, false or 0, or a text that the agent wrote.
    """
    value = one.value.strip()
    if COMMAND.match(one.name) and (_FLAG.fullmatch(value) or value.rpartition("/")[2] in SHELLS):
        return False
    is_new, only_reads = one.source is Source.AGENT, bool(call.effects) and not call.effects & CHANGING
    is_prose = is_new and len(value.split()) > (2 if WRITTEN.search(one.name) else _MOST_WORDS)
    # Texts say "permanently" or "no bags", not "true" or "0", so such a value is not called missing.
    is_switch = is_new and value in ("true", "false", "0")
    if _SETTING.search(one.name.lower()) or is_prose or is_switch or (is_new and only_reads):
        return False
    return not COMMAND.match(one.name) or is_place(value) or bool(STATEMENT.match(value) and _SQL.search(value))


_FILE = _PATTERNS["file"]


def is_place(value: str) -> bool:
    """Return whether a value names a file, a folder or an address, and not a part of a program."""
    whole = [one for one in read_anchors(value) if one.text == value]
    is_path = any(one.kind is AnchorKind.PATH for one in whole) and bool(
        re.search(r"\w{2}", value) if "/" in value else _FILE.fullmatch(value)
    )
    return is_path or any(one.kind is AnchorKind.LINK for one in whole)


def _tool_call(act: Act, call: Call, does: frozenset[Effect], told: ReceivedText) -> TracedCall:
    passed, asked = tuple(leaves(call.arguments)), is_asked_for(call, does, told.user)
    made = TracedCall(act.step, call, does, passed, arguments(call, passed, told), asked, act.failed)
    if not does & CHANGING or (made.asked and not does & {Effect.PAY, Effect.SEND}):
        return made
    foreign = [one for one in made.arguments if one.source is Source.TOOL and one.step is not None]
    for result in told.results:
        values = [lowered(one.value) for one in foreign if one.step == result.step]
        if sentence := _order(result.text, call, does, values, told.user):
            return replace(made, ordered=sentence, ordered_by=result.step)
    return made


def _order(text: str, call: Call, does: frozenset[Effect], values: Sequence[str], user: str) -> str:
    """Return the sentence in a tool's result that asks for this call, or "" if there is none or the user wrote it."""
    if not _ORDER.search(text) and not any(stem in stems(text[:20_000]) for stem in verb_stems(call)):
        return ""
    for part in _SENTENCES.split(text[:40_000]):
        sentence = part.strip(" '\"{}[]\\-")
        if not 12 <= len(sentence) <= 600 or sentence.count(" ") < 3 or sentence in user or _REPORTS.search(sentence):
            continue
        opens = _stem(next(iter(re.findall(r"[a-z]+", sentence)), "")) in _asking_stems(does) | verb_stems(call)
        if not (opens or _ORDER.search(sentence)):
            continue
        said = stems(sentence)
        wants = bool(said & (_asking_stems(does) | verb_stems(call)))
        spaced = _APART.sub(" ", sentence)
        named = sum(_APART.sub(" ", value) in spaced for value in values if len(value) > 1)
        objects = said & _object_stems(call)
        if wants and (named or len(objects) >= 2 or (objects and _ORDER.search(sentence))):
            return sentence
    return ""


_APART = re.compile(r"[\W_]+")


def is_asked_for(call: Call, does: frozenset[Effect], user: str) -> bool:
    """Return whether the user asks for a call's effect, with the tool's verb or a synonym."""
    if not does & CHANGING:
        return True
    said = _requests(user)
    if _DELEGATES.search(user):
        return True
    # An argument may select one of a tool's operations (`operation_id`: grab).
    chosen = [value for name, value in call.arguments.items() if re.search(r"operation|action(?:_id)?$", name)]
    spoken = [word for word in list_words(call.name) if is_verb(word)]
    spoken += [word for value in chosen if isinstance(value, str) for word in list_words(value)]
    if any(_stem(word) in said for word in spoken if word not in ("email", "message", "mail", "text", "post", "order")):
        return True
    if any(_stem(word) in said for group in _SYNONYMS if group & set(spoken) for word in group):
        return True
    if Effect.RUN in does or _object_stems(call) & stems(" ".join(_ANEW.findall(user))):
        return True
    grouped = any(group & set(spoken) for group in _SYNONYMS)
    pays = Effect.PAY in does and bool(said & _asking_stems(frozenset({Effect.PAY})))
    if pays and (not grouped or _states_figure(call, user)):
        return True
    if Effect.DELETE in does and said & _asking_stems(frozenset({Effect.DELETE})):
        return True
    if Effect.SEND in does:
        return bool(said & _asking_stems(frozenset({Effect.SEND})) or _VERB_USES.search(user))
    return Effect.WRITE in does and bool(said & _asking_stems(frozenset({Effect.WRITE})))


def _states_figure(call: Call, user: str) -> bool:
    """Return whether the user states a figure of two digits or more that the call passes."""
    passed = [value for _, value in leaves(call.arguments) if is_figure(value) and len(value) > 1]
    said = {float(figure) for figure in re.findall(r"\d{1,12}(?:\.\d{1,4})?", user)} if passed else set()
    return any(float(value.replace(",", "").lstrip("$€£#") or 0) in said for value in passed)


def find_requests(call: Call, does: frozenset[Effect], text: str) -> Iterator[tuple[int, int, int]]:
    """Yield (rank, start, end) of each clause in a user's text that asks for a call's effect; rank 0 is best.

    The verb of the tool's name comes first, then its synonyms with the tool's object. Words that ask for a grave effect
    come after them, and only if the name has no known verb; last comes the verb of the name without its object.
    """
    plain = lowered(text[:20_000])
    spoken = [word for word in list_words(call.name) if is_verb(word)]
    alike = {_stem(word) for group in _SYNONYMS if group & set(spoken[:1]) for word in group}
    grave = frozenset() if spoken else _asking_stems(does & GRAVE)
    own = frozenset(map(_stem, spoken[:1]))
    # Only a verb such as "cancel" says enough without its object: "I want to cancel it".
    alone = frozenset() if _EVERYDAY & set(spoken[:1]) else own
    ranked = (own, alike, grave, alone)
    rest = (word for word in list_words(call.name) if word not in (*spoken[:1], *_GENERIC) and len(word) > 2)
    nouns = [_stem(word) for word in rest]
    # A synonym needs the tool's object, and so does the own verb of a tool with several ("modify_order_address").
    bound = (nouns[-1] if nouns[1:] else "", nouns[-1] if nouns else "-", "", "")
    for rank, wanted in enumerate(ranked):
        requests = _requests(plain) & wanted
        for match in re.finditer(_REQUEST_WORD, plain) if requests else ():
            clause = _CLAUSE.match(plain, match.start())
            is_bound = clause is not None and (not bound[rank] or bound[rank] in stems(clause[0]))
            if clause and is_bound and _stem(match[0]) in requests and not match[0].endswith("ly"):
                yield rank, *clause.span()


_REQUEST_WORD = (
    r"(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bthis )(?<!\bany )(?<!\bmy )(?<!\bno )\b(?!make (?!(?:\w+ ){0,3}change))[a-z]+"
)
"""Words, except nouns after an article and "make" without a change."""
_EVERYDAY = next(group for group in _SYNONYMS if "modify" in group)
"""Verbs that say little without their object."""
_CLAUSE = re.compile(r"\w(?:[^.,;:!?\n(){}\"]|\.(?=\w)){0,58}[^\s.,;:!?\n(){}\"](?!\w)|\w+")
"""A clause up to its next mark, at most 60 characters."""


@lru_cache(maxsize=64)
def _requests(user: str) -> frozenset[str]:
    """Return the stems of a user's requests, without words about past events."""
    return stems(_NO_REQUEST.sub(" ", _TO_ME.sub(" ", user)))


@lru_cache(maxsize=64)
def _asking_stems(does: frozenset[Effect]) -> frozenset[str]:
    return frozenset(_stem(word) for effect in does if effect in ASKING for word in ASKING[effect])


def verb_stems(call: Call) -> frozenset[str]:
    """Return the stems of the verbs in the name of a call's tool."""
    return frozenset(_stem(word) for word in list_words(call.name) if is_verb(word))


def _object_stems(call: Call) -> frozenset[str]:
    words = (word for word in list_words(call.name) if not is_verb(word) and word not in _GENERIC and len(word) > 2)
    return frozenset(map(_stem, words))


@lru_cache(maxsize=256)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words in a text in lower case, without function words."""
    return frozenset(_stem(word) for word in re.findall(r"[a-z]+", text) if word not in FUNCTION_WORDS or word in ASKED)


ASKED = frozenset(word for words in ASKING.values() for word in words)


@lru_cache(maxsize=16384)
def _stem(word: str) -> str:
    cut = _ENDING.sub("", word)
    return (cut if len(cut) > 2 else word)[:6]
