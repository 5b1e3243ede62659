"""Matching of tool names with globs: by last segment or full name if the rule permits more, else by every suffix.

Some clients write a server's name and `__` before the tool's name; other tools have `__` within their names. If the
rule permits more, the glob must match in both readings; otherwise one is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from console.trajectory import checkpoints
from console.trajectory.calls import MAX_TOOL_NAME, name_segments, name_suffixes

_AFTER_UNDERSCORES = re.compile(r"(?<=__)(?=.)", re.DOTALL)


def names_suffix(name: str, glob: str) -> bool:
    """Return whether a glob matches the tool's full name or its remainder after a separator or `__`.

    A name that is too long to compare counts as matched.
    """
    return len(name) > MAX_TOOL_NAME or is_like(list_suffixes(name), (glob,))


def list_suffixes(name: str) -> tuple[str, ...]:
    """Return the tool's full name, and its remainder after each separator and each `__`."""
    suffixes = name_suffixes(name)
    return (*suffixes, *(one[at.start() :] for one in suffixes for at in _AFTER_UNDERSCORES.finditer(one)))


def names_tool(name: str, glob: str) -> bool:
    """Return whether a glob matches the last segment of the tool's name, or the full name segment by segment."""
    if len(name) > MAX_TOOL_NAME:
        return False
    return all(_is_like_segments(read(name), read(glob)) for read in (name_segments, _list_finer_segments))


def _list_finer_segments(name: str) -> list[str]:
    """Return the segments of a name in which every `__` separates."""
    return [piece for one in name_segments(name) for piece in (re.split("(__)", one) if one != "__" else [one])]


def _is_like_segments(segments: Sequence[str], wanted: Sequence[str]) -> bool:
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
