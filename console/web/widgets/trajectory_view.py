"""A presentation of a trajectory as one block of HTML: the task, the action, why it is flagged, then the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import streamlit as st

from console.review.long_texts import capped
from console.review.presentation import (
    LIMITS,
    WORDS,
    Block,
    Flag,
    Presentation,
    checkpoint_presentation,
    record_presentation,
)
from console.trajectory import Trajectory
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.terms import Term
from console.web.widgets.markup import all_of, marked, plain
from console.web.widgets.pending_action import action_html
from console.web.widgets.pictures import show_pictures
from console.web.widgets.steps import show_further_steps
from console.web.widgets.timeline import timeline_html, timeline_rows
from console.web.widgets.whole_texts import show_whole_texts

_CHIPS = 8
_FEW_REASONS = 3
_LENGTHY_CHARS = 360
# As many steps as a large window shows beneath a presentation; the others are drawn after these.
_FIRST = 6


def show_checkpoint(
    checkpoint: Checkpoint, *, flag: Flag | None = None, belief: str | None = None, above: str = ""
) -> Callable[[], None]:
    """Draws a checkpoint with those two beside it, as `show_presentation` does."""
    return show_presentation(checkpoint_presentation(checkpoint, flag=flag, belief=belief), above)


def show_presentation(presentation: Presentation, above: str = "", *, action_whole: bool = True) -> Callable[[], None]:
    """Draws a presentation; `above` is ready HTML that stands over it, in the same message.

    Without `action_whole` a long pending action is shown in part.

    Returns the drawing of the steps below those first seen, for when all that is waited for stands.
    """
    rows = timeline_rows(presentation)
    first = _view_html(presentation, list(islice(rows, _FIRST)), action_whole)
    st.html(above + first)
    further = st.container(key="further-steps")

    def draw_further() -> None:
        with further:
            show_further_steps(list(rows), first)
            show_pictures(presentation)
            show_whole_texts(presentation)

    return draw_further


def show_record(trajectory: Trajectory, critical: Sequence[str] | None = None) -> None:
    """Draws a whole record, for researchers only."""
    show_presentation(record_presentation(trajectory, critical))()


def presentation_html(presentation: Presentation) -> str:
    """The presentation as one line of HTML, its blocks in the order of reading."""
    return _view_html(presentation, list(timeline_rows(presentation)))


def _view_html(presentation: Presentation, rows: Sequence[str], action_whole: bool = True) -> str:
    return (
        f'<div class="ia-sheet">{"".join(_blocks(presentation, action_whole))}{timeline_html(presentation, rows)}</div>'
    )


def _blocks(presentation: Presentation, action_whole: bool) -> Iterator[str]:
    yield _block(Block.ASKED, "ia-asked", _task(presentation))
    if presentation.brief:
        yield _block(Block.BRIEF, "ia-brief", _facts(presentation.brief))
    yield _block(presentation.heading, "ia-about", _about(presentation, action_whole))
    if presentation.belief is not None:
        yield _block(Block.BELIEVES, "ia-belief", _belief(presentation))
    if presentation.flag:
        yield _block(presentation.flag.heading, "ia-flag", _flag(presentation.flag))
    if presentation.outcome:
        yield _block(Block.OUTCOME, "ia-outcome", _facts(presentation.outcome))


def _block(heading: Block, css: str, inner: str) -> str:
    return f'<section class="ia-block {css}"><h2>{plain(heading)}</h2><div class="ia-body">{inner}</div></section>'


def _task(presentation: Presentation) -> str:
    text, end, parts = capped(presentation.task), 0, []
    for term in presentation.telling if presentation.is_wordy else presentation.terms:
        if term.start >= end and term.end <= len(text):
            parts += [plain(text[end : term.start]), _stated(term, text, presentation)]
            end = term.end
    css = "ia-task ia-lengthy" if len(text) > _LENGTHY_CHARS else "ia-task"
    more = all_of(presentation.task) if len(text) < len(presentation.task) else ""
    return f'<p class="{css}">{"".join(parts)}{plain(text[end:])}</p>{more}{_terms(presentation)}'


def _stated(term: Term, text: str, presentation: Presentation) -> str:
    absent = any(term.text.lower() == other.text.lower() for other in presentation.missing)
    css = "ia-limit" if term.kind in LIMITS else "ia-miss" if absent else "ia-hit"
    return f'<mark class="{_shade(term, css)}">{plain(text[term.start : term.end])}</mark>'


def _shade(term: Term, css: str) -> str:
    return "ia-mild" if css == "ia-miss" and term.kind in WORDS else css


def _terms(presentation: Presentation) -> str:
    groups = _group("found", presentation.found, "ia-hit") + _group("not found", presentation.missing, "ia-miss")
    return f'<p class="ia-terms">{groups}</p>' if groups else ""


def _group(name: str, stated: Sequence[Term], css: str) -> str:
    if not stated:
        return ""
    chips = "".join(f'<span class="ia-chip {_shade(term, css)}">{plain(term.text)}</span>' for term in stated[:_CHIPS])
    more = f" and {len(stated) - _CHIPS} more" if len(stated) > _CHIPS else ""
    return f'<span class="ia-group"><b>{name}</b> {chips}{more}</span>'


def _about(presentation: Presentation, whole: bool) -> str:
    stamp = f'<span class="ia-stamp">{plain(presentation.stamp)}</span>' if presentation.stamp else ""
    action = action_html(presentation.action, stamp, whole=whole) if presentation.action else _nothing(presentation)
    return action + "".join(
        f'<p class="ia-seen"><b>{plain(Block.LAST_SEEN.lower()) if not index else "before"}, step {number}</b> '
        f"<span>{marked(text, presentation.terms)}</span></p>"
        for index, (number, text) in enumerate(presentation.last_seen)
    )


def _nothing(presentation: Presentation) -> str:
    stuck = presentation.heading is Block.STUCK
    words = "No action is waiting: it stopped without a result." if stuck else "None was taken."
    return f'<p class="ia-none">{words}</p>'


def _belief(presentation: Presentation) -> str:
    text = f'<p class="ia-text">{marked(presentation.belief or "", presentation.terms)}</p>'
    if not presentation.unbelieved:
        return text
    return f'{text}<p class="ia-terms">{_group("not in it", presentation.unbelieved, "ia-miss")}</p>'


def _flag(flag: Flag) -> str:
    lines = "".join(f"<li>{plain(reason)}</li>" for reason in flag.reasons)
    css = "ia-reasons ia-many" if len(flag.reasons) > _FEW_REASONS else "ia-reasons"
    why = f'<ul class="{css}">{lines}</ul>' if lines else ""
    return f"{_score(flag)}{why}"


def _score(flag: Flag) -> str:
    name = f"<b>{plain(flag.detector)}</b> " if flag.detector else ""
    score, _, threshold = flag.margin.partition(" ")
    number = f'<b class="ia-number">{score}</b> {threshold}' if score else ""
    return f'<p class="ia-score">{name}{number}</p>' if name or number else ""


def _facts(pairs: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{plain(name)}</dt><dd>{plain(value)}</dd>" for name, value in pairs)
    return f'<dl class="ia-facts">{rows}</dl>'
