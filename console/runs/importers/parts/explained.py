"""The text lines and calls in the trajectories of a file, for the file's coverage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from console.runs.importers.parts.call_count import CallCount, unfold
from console.runs.importers.records import CONTEXT, Found
from console.trajectory import Trajectory

_BITS = 2**26
WHOLE = 0x5BD1E995
"""The number that distinguishes the bit of a text of several lines from the bits of its lines."""
_BROKEN = re.compile(r"([\w.:/-]+)\((.*)\)\Z")
"""A call whose arguments are not a JSON object, such as a call that a model wrote incorrectly."""


class Explained:
    """The text lines of trajectories as hash bits, and the imported calls."""

    def __init__(self, size: int = _BITS) -> None:
        """Prepare for a file of `size` bytes; for a small file, clearing all bits would take most of the time."""
        self.lines, self.extra = bytearray(min(_BITS, 2 ** max(16, (4 * size).bit_length())) // 8), bytearray()
        self.calls = CallCount()
        self.trajectories = 0

    def add(self, found: Found) -> None:
        """Mark the texts of a trajectory and count its calls."""
        one = found.trajectory
        self.trajectories += 1
        for text in (one.instruction, one.opening, one.task_id, *one.memory):
            _mark_text(text, self.lines)
        _mark_value(one.extra.get(CONTEXT), self.lines)
        for step in one.steps:
            _mark_text(step.thought, self.lines)
            _mark_text(step.observation, self.lines)
            _mark_text(step.speaker, self.lines)
            self._mark_action(step.action)
        self._keep(one)

    def _mark_action(self, action: str) -> None:
        if not action:
            return
        lines = action.split("\n") if "\n" in action else (action,)
        for line in lines:
            begin = line.find("({")
            if begin > 0 and line.endswith("})"):
                try:
                    given = orjson.loads(line[begin + 1 : -1])
                except orjson.JSONDecodeError:
                    pass
                else:
                    _mark_value(given, self.lines)
                    self.calls.add_read(line[:begin], given)
                    _mark_text(line[:begin], self.lines)
                    continue
            _mark_text(line, self.lines)
            if call := _BROKEN.match(line):
                self.calls.add_read(call[1], unfold(call[2]))
            elif line.strip():
                self.calls.total_read += 1

    def _keep(self, one: Trajectory) -> None:
        held = [one.extra, one.gold, one.source, *(step.extra for step in one.steps if step.extra)]
        if any(held):
            self.extra = self.extra or bytearray(max(2**13, len(self.lines) // 8))
            for value in held:
                _mark_value(value, self.extra)


def _mark_text(text: str, bits: bytearray) -> None:
    if not text:
        return
    mask = len(bits) * 8 - 1
    lines: Iterable[str] = (text,)
    if "\n" in text:
        lines, place = text.split("\n"), (hash(text) ^ WHOLE) & mask
        bits[place >> 3] |= 1 << (place & 7)
    for line in lines:
        line = line.strip()
        if line:
            place = hash(line) & mask
            bits[place >> 3] |= 1 << (place & 7)
            if line[0] in "{[":
                _mark_json(line, bits)
    if text[0] in "{[" and "\n" in text:
        _mark_json(text, bits)


def _mark_json(text: str, bits: bytearray) -> None:
    try:
        held = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    _mark_value(held, bits)


def _mark_value(value: Any, bits: bytearray) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            _mark_text(one, bits)
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
