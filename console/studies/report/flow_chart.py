"""The flow of participants as a picture in SVG, after the diagram of CONSORT (2010): steps, and losses beside them.

The picture is a function of the table `flow` alone. The report contains the picture; the bundle contains flow.svg.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from markupsafe import escape

_STEPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("joined", "Joined", ("declined the consent", "screened out", "over a quota", "failed the quiz")),
    ("decided on an item of the study", "Decided on an item", ("excluded by a rule", "withdrew")),
    ("finished", "Finished", ()),
)
"""Each step with its heading and the losses between it and the next step, as named in the table."""

_NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
_WIDTH, _BOX, _HIGH, _GAP, _LINE = 600, 300, 58, 64, 20
_RARE_LOSSES = ("over a quota", "failed the quiz")
"""Losses that are drawn only if they have occurred."""
_ASIDE = _WIDTH - _BOX


def flow_svg(flow: pd.DataFrame, *, inline: bool = False) -> str:
    """Return the flow chart as an SVG document, or as an element for a page if `inline`; count simulated reviewers."""
    counts = {str(row["step"]): row for row in flow.to_dict("records")}
    simulated = bool(flow["simulated"].sum())
    height = len(_STEPS) * (_HIGH + _GAP) - _GAP + 2
    parts = [part for place, step in enumerate(_STEPS) for part in _step(counts, step, place, simulated=simulated)]
    label = "; ".join(_words(title, counts[name], simulated=simulated) for name, title, _ in _STEPS)
    return (
        f'<svg{"" if inline else _NAMESPACE} class="flow" viewBox="-1 -1 {_WIDTH + 2} {height}" role="img" '
        f'aria-label="{escape(label)}" width="{_WIDTH}" font-family="system-ui, sans-serif" font-size="14" '
        f'fill="currentColor" stroke="none">{"".join(parts)}</svg>'
    )


def _step(
    counts: Mapping[str, Mapping[object, int]], step: tuple[str, str, tuple[str, ...]], place: int, *, simulated: bool
) -> Iterator[str]:
    name, title, losses = step
    top = place * (_HIGH + _GAP)
    yield _box(0, top, [title, _counted(counts[name], simulated=simulated)])
    if place + 1 == len(_STEPS):
        return
    middle, below = _BOX // 2, top + _HIGH
    yield _arrow(middle, below, middle, below + _GAP)
    if losses:
        aside = below + _GAP // 2
        yield _arrow(middle, aside, _ASIDE, aside)
        kept = [loss for loss in losses if loss not in _RARE_LOSSES or counts[loss]["people"]]
        lines = [_words(loss[0].upper() + loss[1:], counts[loss], simulated=simulated) for loss in kept]
        yield _box(_ASIDE, aside - _high(lines) // 2, lines)


def _words(title: str, row: Mapping[object, int], *, simulated: bool) -> str:
    return f"{title}: {_counted(row, simulated=simulated)}"


def _counted(row: Mapping[object, int], *, simulated: bool) -> str:
    people = f"{row['people']:,}"
    return f"{people} + {row['simulated']:,} simulated" if simulated else people


def _high(lines: list[str]) -> int:
    return _HIGH + _LINE * (len(lines) - 2)


def _box(left: int, top: int, lines: list[str]) -> str:
    texts = "".join(
        f'<text x="{left + 12}" y="{top + 24 + _LINE * place}">{escape(line)}</text>'
        for place, line in enumerate(lines)
    )
    frame = (
        f'<rect x="{left}" y="{top}" width="{_BOX}" height="{_high(lines)}" rx="4" fill="none" stroke="currentColor"/>'
    )
    return frame + texts


def _arrow(left: int, top: int, right: int, bottom: int) -> str:
    tip = f"{right},{bottom} " + (
        f"{right - 4},{bottom - 7} {right + 4},{bottom - 7}"
        if left == right
        else f"{right - 7},{bottom - 4} {right - 7},{bottom + 4}"
    )
    line = f'<line x1="{left}" y1="{top}" x2="{right}" y2="{bottom}" stroke="currentColor"/>'
    return f'{line}<polygon points="{tip}"/>'
