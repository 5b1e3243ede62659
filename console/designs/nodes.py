"""YAML nodes as plain values, every scalar as the text that was written: the design says what is a number."""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

Step = str | int
Lines = dict[tuple[Step, ...], int]


@dataclass(frozen=True, slots=True)
class Located:
    """Dicts, lists, texts and None, with the line of each field by its path; lines count from 1."""

    value: object
    lines: Lines


@dataclass(slots=True)
class _Walk:
    lines: Lines = field(default_factory=dict)
    open_nodes: set[int] = field(default_factory=set)
    nodes: int = 0


_MOST_NODES = 20_000


def plain(root: yaml.Node | None) -> Located:
    """The value of a document; raises MarkedYAMLError for fields given twice, keys that are no text, endless ones."""
    walk = _Walk()
    return Located(None if root is None else _value(root, (), walk), walk.lines)


def _value(node: yaml.Node, path: tuple[Step, ...], walk: _Walk) -> object:
    walk.lines.setdefault(path, node.start_mark.line + 1)
    walk.nodes += 1
    if walk.nodes > _MOST_NODES or id(node) in walk.open_nodes:
        raise yaml.MarkedYAMLError(problem="an alias repeats too much", problem_mark=node.start_mark)
    if isinstance(node, yaml.ScalarNode):
        return None if node.tag == "tag:yaml.org,2002:null" else node.value
    walk.open_nodes.add(id(node))
    found = _fields(node, path, walk) if isinstance(node, yaml.MappingNode) else _list(node, path, walk)
    walk.open_nodes.discard(id(node))
    return found


def _list(node: yaml.Node, path: tuple[Step, ...], walk: _Walk) -> list[object]:
    return [_value(one, (*path, at), walk) for at, one in enumerate(node.value)]


def _fields(node: yaml.MappingNode, path: tuple[Step, ...], walk: _Walk) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.MarkedYAMLError(problem="a field's name is not text", problem_mark=key.start_mark)
        if key.value in found:
            raise yaml.MarkedYAMLError(problem=f"{key.value} is given twice", problem_mark=key.start_mark)
        walk.lines[*path, key.value] = key.start_mark.line + 1
        found[key.value] = _value(value, (*path, key.value), walk)
    return found
