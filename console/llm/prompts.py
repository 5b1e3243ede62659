"""Prompts: templates as files, found, filled without a gap, and fingerprinted.

A template is `<method>/<task>/<step>.txt`. A file of the same name under INFERACT_PROMPTS_DIR takes its place; a
`<step>.toml` beside it says how its reply is to be read. Text that was not written by us goes through the filter
`fenced`, and is never read as a template.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
    meta,
)

from console.errors import BadInput, Unknown
from console.settings import settings

ANY_TASK = "generic"
"""The task whose prompts serve where an environment has none of its own."""

PAPER = "paper"
"""True where a template is filled as the paper has it, without the rubric of its environment; a switch, no slot."""

_SUFFIX, _FORM_SUFFIX = ".txt", ".toml"
_MARK_LENGTH = 12
_CHAT_CONTROL = re.compile(r"<(?=\|[^|<>\n]{1,40}\|>|/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])", re.IGNORECASE)


def names() -> list[str]:
    """The names of all templates, packaged or the user's own, in order."""
    found = (path.relative_to(folder) for folder in _folders() for path in folder.rglob(f"*{_SUFFIX}"))
    return sorted({path.with_suffix("").as_posix() for path in found})


def name_for(method: str, environment: str, step: str) -> str:
    """The name of a method's template for an environment; the generic task's where it has none of its own."""
    own = f"{method}/{environment}/{step}"
    return own if _path(own) else f"{method}/{ANY_TASK}/{step}"


def where(name: str) -> Path:
    """The template's file; raises Unknown, naming the nearest ones there are."""
    path = _path(name)
    if path is None:
        known = names()
        near = get_close_matches(name, known, n=5, cutoff=0.4)
        raise Unknown("prompt", name, near or sorted({other.split("/")[0] for other in known}))
    return path


def source(name: str) -> str:
    """The template's text; raises Unknown as `where` does."""
    return where(name).read_text("utf-8")


def is_own(name: str) -> bool:
    """Whether the template is the user's, and not packaged."""
    own = settings().prompts_dir
    return own is not None and own.resolve() in where(name).resolve().parents


def reply_form(name: str) -> dict[str, Any]:
    """What the file beside the template says of its reply's form; empty without one. Raises BadInput for no TOML."""
    beside = where(name).with_suffix(_FORM_SUFFIX)
    try:
        return tomllib.loads(beside.read_text("utf-8")) if beside.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise BadInput(f"{beside}: this is not valid TOML ({broken}).") from broken


def slots(name: str) -> frozenset[str]:
    """The slots that have to be filled, those of the templates that it includes among them."""
    return frozenset().union(*(_slots_of(text, part) for part, text in _parts(name)))


def render(name: str, **values: Any) -> str:
    """The template filled with the values; raises Unknown and, naming each empty slot, BadInput."""
    try:
        return _jinja(_folders()).get_template(name + _SUFFIX).render(**values).strip()
    except UndefinedError as broken:
        needed = slots(name)
        missing = ", ".join(sorted(needed - values.keys())) or str(broken)
        raise BadInput(f"The prompt {name} lacks {missing}; its slots are {', '.join(sorted(needed))}.") from broken
    except TemplateSyntaxError as broken:
        raise _unreadable(name, broken) from broken
    except TemplateNotFound as broken:
        source(str(broken.name).removesuffix(_SUFFIX))
        raise


def fingerprint(name: str) -> str:
    """SHA-256 (hex) of the text that is used: the template, all that it includes, and the form of its reply."""
    parts = [f"{part}\0{text}\0" for part, text in _parts(name)]
    form = reply_form(name)
    return hashlib.sha256("".join([*parts, repr(sorted(form.items())) if form else ""]).encode()).hexdigest()


def fenced(text: object, kind: str) -> str:
    """The text between two lines that it cannot contain itself, so that its end cannot be feigned.

    The mark depends on the text alone: the same text gives the same prompt, in every process. Markers of chat
    templates lose their meaning, since some servers would obey them.
    """
    harmless = _CHAT_CONTROL.sub(lambda found: f"{found[0]} ", str(text))
    mark = _digest(harmless)
    while mark in harmless:
        mark = _digest(mark + harmless)
    return f"<<<{kind} {mark}\n{harmless}\n{kind} {mark}>>>"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_LENGTH]


def _folders() -> tuple[Path, ...]:
    own = settings().prompts_dir
    return (own, _packaged()) if own else (_packaged(),)


@cache
def _packaged() -> Path:
    return Path(str(files("prompts")))


def _path(name: str) -> Path | None:
    for folder in _folders():
        path = folder / (name + _SUFFIX)
        if path.is_file() and folder.resolve() in path.resolve().parents:
            return path
    return None


def _parts(name: str) -> Iterator[tuple[str, str]]:
    """(name, text) of the template and of everything that it includes, each once."""
    waiting, seen = [name], {name}
    while waiting:
        part = waiting.pop()
        text = source(part)
        yield part, text
        included = sorted(str(other).removesuffix(_SUFFIX) for other in _includes(text, part))
        waiting += [other for other in included if other not in seen]
        seen |= set(included)


def _includes(text: str, name: str) -> Iterator[str]:
    return (other for other in meta.find_referenced_templates(_parsed(text, name)) if other)


def _slots_of(text: str, name: str) -> set[str]:
    return meta.find_undeclared_variables(_parsed(text, name)) - {PAPER}


def _parsed(text: str, name: str) -> Any:
    try:
        return _jinja(_folders()).parse(text)
    except TemplateSyntaxError as broken:
        raise _unreadable(name, broken) from broken


def _unreadable(name: str, broken: TemplateSyntaxError) -> BadInput:
    where = (broken.name or name).removesuffix(_SUFFIX)
    return BadInput(f"The prompt {where}, line {broken.lineno}: {broken.message}")


@lru_cache(maxsize=4)
def _jinja(folders: tuple[Path, ...]) -> Environment:
    # Plain text, so nothing is to be escaped for HTML.
    jinja = Environment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,
    )
    jinja.filters["fenced"] = fenced
    jinja.globals[PAPER] = False
    return jinja
