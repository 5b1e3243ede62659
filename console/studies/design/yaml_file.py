"""Reading and writing study designs as YAML files."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import ValidationError

from console.errors import BadInput
from console.studies.design.model import Design
from console.trajectory.strict_yaml import describe_failure, read_yaml

_MOST_CHARACTERS = 200_000
_OTHER_LINE_BREAKS = "\r\x85\u2028\u2029"
_HINT = "`inferact study example` prints a design that works"


def load(source: Path | str) -> Design:
    """Return the design from a YAML file or text; if it is invalid, raise BadInput with field, line and remedy."""
    if isinstance(source, Path):
        return parse(read_text_file(source), str(source))
    return parse(source, "The design")


def parse(text: str, where: str) -> Design:
    """Return the design from YAML text; raise BadInput with a message that begins with `where`."""
    if len(text) > _MOST_CHARACTERS:
        raise BadInput(f"{where} has more than {_MOST_CHARACTERS:,} characters. Shorten the design.")
    return read_yaml(text, Design, where, hint=_HINT)


def dump(design: Design) -> str:
    """Return the design as YAML with all fields, defaults included; `load` returns an equal design from that YAML."""
    fields = design.model_dump(mode="json")
    if not fields["conditions"]:
        del fields["conditions"]
    return yaml.dump(fields, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def change_design(design: Design, **fields: object) -> Design:
    """Return the design with these fields changed; raise BadInput if the changed design is invalid."""
    try:
        return Design.model_validate(design.model_dump(mode="json") | fields)
    except ValidationError as failure:
        raise BadInput(describe_failure(failure, Design, "The design")) from None


def example() -> str:
    """Return a commented example design that can be used without changes."""
    return files("console.studies.design").joinpath("example.yaml").read_text(encoding="utf-8")


def read_text_file(path: Path) -> str:
    """Return the text of a file; raise BadInput if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise BadInput(f"{path} cannot be read ({failure.strerror or failure}). Check the path.") from None
    except ValueError:
        raise BadInput(f"{path} is not UTF-8 text. Save the file as UTF-8.") from None


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes multi-line strings as block scalars."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if any(other in text for other in _OTHER_LINE_BREAKS):  # YAML reads each of them as a plain line break.
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)
