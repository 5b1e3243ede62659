"""Prompts: template files, with rendering and fingerprints; an empty slot is an error.

A template is `<method>/<task>/<step>.txt`. A file of the same name under INFERACT_PROMPTS_DIR replaces the template;
`<step>.toml` beside it describes the format of the reply. The filter `fenced` encloses text from outside, and rendering
never interprets such text as a template.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta

import console
from console.errors import BadInput, Unknown
from console.settings import settings

ANY_TASK = "generic"
"""The task with the prompts for environments that have no prompts of their own."""

PAPER = "paper"
"""Name of a switch, not of a slot: true renders a template as in the paper, without the environment's rubric."""

_SUFFIX, _FORM_SUFFIX = ".txt", ".toml"
_MARK_LENGTH = 12
_CHAT_CONTROL = re.compile(r"<(?=\|[^|<>\n]{1,40}\|>|/?s>|(?:start|end)_of_turn>)|\[(?=/?INST\])", re.IGNORECASE)


def list_templates() -> list[str]:
    """List all packaged and user-defined templates in alphabetical order."""
    found = (path.relative_to(folder) for folder in _folders() for path in folder.rglob(f"*{_SUFFIX}"))
    return sorted({path.with_suffix("").as_posix() for path in found})


def name_for(method: str, environment: str, step: str) -> str:
    """Return the name of a method's template for an environment, by default the name of the generic template."""
    own = f"{method}/{environment}/{step}"
    return own if _path(own) else f"{method}/{ANY_TASK}/{step}"


def has_template(name: str) -> bool:
    """Return whether a template with this name exists."""
    return _path(name) is not None


def find_template(name: str) -> Path:
    """Return the file of a template; raise Unknown with similar names if the template does not exist."""
    path = _path(name)
    if path is None:
        known = list_templates()
        near = get_close_matches(name, known, n=5, cutoff=0.4)
        raise Unknown("prompt", name, near or sorted({other.split("/")[0] for other in known}))
    return path


def read_template(name: str) -> str:
    """Return the text of a template; raise Unknown if the template does not exist."""
    return find_template(name).read_text("utf-8")


def is_own(name: str) -> bool:
    """Return whether the template is user-defined."""
    own = settings().prompts_dir
    return own is not None and own.resolve() in find_template(name).resolve().parents


def read_reply_form(name: str) -> dict[str, Any]:
    """Return the reply format from the TOML file beside the template, or {}; raise BadInput if the file is invalid."""
    beside = find_template(name).with_suffix(_FORM_SUFFIX)
    try:
        return tomllib.loads(beside.read_text("utf-8")) if beside.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise BadInput(f"{beside}: this is not valid TOML ({broken}). Correct the file.") from broken


def list_slots(name: str) -> frozenset[str]:
    """Return the names of the slots to fill, including the slots of included templates."""
    found = (meta.find_undeclared_variables(_parsed(text, part)) for part, text in _parts(name))
    return frozenset().union(*found) - {PAPER}


def render(name: str, **values: Any) -> str:
    """Render the template; raise Unknown if the template does not exist, or BadInput with the names of empty slots."""
    try:
        return _jinja(_folders()).get_template(name + _SUFFIX).render(**values).strip()
    except jinja2.UndefinedError as broken:
        needed = list_slots(name)
        missing = ", ".join(sorted(needed - values.keys())) or str(broken)
        raise BadInput(
            f"The prompt {name} needs values for {missing}. Its slots are {', '.join(sorted(needed))}."
        ) from broken
    except jinja2.TemplateSyntaxError as broken:
        raise _unreadable(name, broken) from broken
    except jinja2.TemplateNotFound as broken:
        read_template(str(broken.name).removesuffix(_SUFFIX))
        raise


def fingerprint(name: str) -> str:
    """Return the SHA-256 (hex) of the template, all its included templates, and the reply format."""
    parts = [f"{part}\0{text}\0" for part, text in _parts(name)]
    form = read_reply_form(name)
    return hashlib.sha256("".join([*parts, repr(sorted(form.items())) if form else ""]).encode()).hexdigest()


def fence(text: object, kind: str) -> str:
    """Enclose a text between two marker lines that do not occur in the text, so that the text cannot fake its end.

    Equal texts give equal prompts. Fencing neutralises control tokens of chat templates, which some servers interpret.
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
    # Beside the installed console, and not by its name: a folder `prompts` of the user would hide it.
    return Path(console.__file__).resolve().parents[1] / "prompts"


def _path(name: str) -> Path | None:
    for folder in _folders():
        path = folder / (name + _SUFFIX)
        if path.is_file() and folder.resolve() in path.resolve().parents:
            return path
    return None


def _parts(name: str) -> Iterator[tuple[str, str]]:
    waiting, seen = [name], {name}
    while waiting:
        part = waiting.pop()
        text = read_template(part)
        yield part, text
        others = meta.find_referenced_templates(_parsed(text, part))
        included = sorted(other.removesuffix(_SUFFIX) for other in others if other)
        waiting += [other for other in included if other not in seen]
        seen |= set(included)


def _parsed(text: str, name: str) -> Any:
    try:
        return _jinja(_folders()).parse(text)
    except jinja2.TemplateSyntaxError as broken:
        raise _unreadable(name, broken) from broken


def _unreadable(name: str, broken: jinja2.TemplateSyntaxError) -> BadInput:
    where = (broken.name or name).removesuffix(_SUFFIX)
    return BadInput(f"The prompt {where}, line {broken.lineno}: {broken.message}")


@lru_cache(maxsize=4)
def _jinja(folders: tuple[Path, ...]) -> jinja2.Environment:
    # Prompts are plain text, so nothing is escaped for HTML.
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders), undefined=jinja2.StrictUndefined, autoescape=False
    )
    jinja.filters["fenced"] = fence
    jinja.globals[PAPER] = False
    return jinja
