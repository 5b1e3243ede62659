"""Designs as YAML files, in and out."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import ValidationError

from console.designs.design import Design
from console.designs.nodes import Located, plain
from console.designs.saying import sentence
from console.errors import BadInput

_MOST_CHARACTERS = 200_000
_OTHER_LINE_BREAKS = "\r\x85\u2028\u2029"


def load(source: Path | str) -> Design:
    """The design in a YAML file, or in YAML text; raises BadInput, one sentence with the field and what to do."""
    if isinstance(source, Path):
        return parse(_text(source), str(source))
    return parse(source, "The design")


def parse(text: str, where: str) -> Design:
    """The design in YAML text; `where` begins every error's sentence. Raises BadInput."""
    if len(text) > _MOST_CHARACTERS:
        raise BadInput(f"{where}: is longer than {_MOST_CHARACTERS:,} characters; a design is a page or two of YAML.")
    located = _read(text, where)
    if not isinstance(located.value, dict):
        raise BadInput(f"{where}: holds no fields; see a design that works with `inferact study example`.")
    try:
        return Design.model_validate(located.value)
    except ValidationError as failure:
        raise BadInput(sentence(failure, Design, where, located.lines)) from None


def dump(design: Design) -> str:
    """The design as YAML with every field, the defaults included; `load` gives the same design back."""
    fields = design.model_dump(mode="json")
    if not fields["conditions"]:
        del fields["conditions"]
    return yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def changed(design: Design, **fields: object) -> Design:
    """The same design but for these fields; raises BadInput as `load` does."""
    try:
        return Design.model_validate(design.model_dump(mode="json") | fields)
    except ValidationError as failure:
        raise BadInput(sentence(failure, Design, "The design", {})) from None


def example() -> str:
    """A commented design that works as it is."""
    return files("console.designs").joinpath("example.yaml").read_text(encoding="utf-8")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise BadInput(f"{path}: cannot be read ({failure.strerror or failure}); check the path.") from None
    except ValueError:
        raise BadInput(f"{path}: is no UTF-8 text; save it as UTF-8.") from None


def _read(text: str, where: str) -> Located:
    try:
        return plain(yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as failure:
        mark = failure.problem_mark or failure.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise BadInput(f"{where}{line}: {failure.problem or 'is no YAML'}; correct the YAML there.") from None
    except (yaml.YAMLError, ValueError):
        raise BadInput(f"{where}: is no YAML text; remove the control characters.") from None
    except RecursionError:
        raise BadInput(f"{where}: is nested too deeply; a design has five levels at most.") from None


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as a person would."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    if any(other in text for other in _OTHER_LINE_BREAKS):  # YAML reads each of them as a plain line break
        return '"'
    return "|" if "\n" in text else None


_Dumper.add_representer(str, _text_node)
