"""Matching of tool names with globs: by last segment or full name if the rule permits more, else by every suffix."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from console.trajectory import checkpoints
from console.trajectory.calls import name_segments, name_suffixes


def names_suffix(name: str, glob: str) -> bool:
    """Return whether a glob matches the tool's full name or its remainder after a separator."""
    return is_like(name_suffixes(name), (glob,))


def names_tool(name: str, glob: str) -> bool:
    """Return whether a glob matches the last segment of the tool's name, or the full name segment by segment."""
    wanted, segments = name_segments(glob), name_segments(name)
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
