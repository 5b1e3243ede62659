"""Matching of tool names with globs: by last segment or full name if the rule permits more, else by every suffix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from console.trajectory import checkpoints
from console.trajectory.calls import MAX_TOOL_NAME, name_segments, name_suffixes


def names_suffix(name: str, glob: str) -> bool:
    """Return whether a glob matches the tool's full name or a remainder of the name; a too long name always matches."""
    return len(name) > MAX_TOOL_NAME or is_like(list_suffixes(name), (glob,))


def list_suffixes(name: str) -> tuple[str, ...]:
    """Return the tool's full name, and its remainder after each separator and each `__`."""
    found = name_suffixes(name)
    return (*found, *(one[at.start() :] for one in found for at in re.finditer("(?<=__)(?=.)", one)))


def names_tool(name: str, glob: str) -> bool:
    """Return whether a glob matches the last segment of the tool's name, or the full name segment by segment."""
    # Clients write `__` after a server's name or within a tool's name: the glob must match in both readings.
    return len(name) <= MAX_TOOL_NAME and all(
        _are_like(name_segments(name, is_mcp=is_mcp), name_segments(glob, is_mcp=is_mcp)) for is_mcp in (False, True)
    )


def _are_like(segments: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(wanted) == 1:
        segments = segments[-1:]
    return len(wanted) == len(segments) and all(
        is_like((segment,), (part,)) if at % 2 == 0 else segment == part
        for at, (segment, part) in enumerate(zip(segments, wanted, strict=True))
    )


def is_like(names: Iterable[str], globs: tuple[str, ...]) -> bool:
    """Return whether one of the texts matches one of the globs."""
    return any(_glob(globs).fullmatch(name) for name in names)


@lru_cache(maxsize=1_024)
def _glob(globs: tuple[str, ...]) -> re.Pattern[str]:
    return checkpoints.globs(globs)
