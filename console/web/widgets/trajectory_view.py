"""A presentation of a trajectory as HTML: the task, the action, the reasons for the flag, then the steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import streamlit as st

from console.environments.evidence import LIMITS, ORIGIN, WORDS
from console.language import _, digits, quoted
from console.review.plain_text import cut_text, list_own_reasons
from console.review.presentation import (
    LAST_SEEN_CHARS,
    Block,
    Flag,
    Presentation,
    preview,
)
from console.trajectory.terms import Term
from console.web.widgets.browser import show_further_steps
from console.web.widgets.markup import fold, mark_names, mark_terms, plain, shorten_note, show_html
from console.web.widgets.pending_action import action_html, evidence_html, json_calls
from console.web.widgets.requirement_table import find_quoted_spans, requirements_html
from console.web.widgets.timeline import opening_html, timeline_html, timeline_rows
from console.web.widgets.whole_texts import show_pictures, show_whole_texts

_CHIPS = 8
_FEW_REASONS = 3
_LENGTHY_CHARS = 360
_UNFOLDED_CHARS = 1_500
_TWICE_CHARS = 4_000
# The number of steps that a large window shows; the others are drawn later.
_FIRST = 6


def show_presentation(
    presentation: Presentation,
    above: str = "",
    *,
    action_whole: bool = True,
    item: int | None = None,
    note: str = "",
    editor: Callable[[], None] | None = None,
) -> Callable[[], None]:
    """Draw a presentation below the HTML `above`; return the function that draws the further steps.

    Without `action_whole`, shorten a long pending action. With `item`, the presentation can get the focus. `note` is
    the HTML above the steps. `editor` draws the edit of the action below the action.
    """
    rows = timeline_rows(presentation)
    first, rest = _sheets(presentation, list(islice(rows, _FIRST)), action_whole, note, parted=editor is not None)
    named = f'<div class="ia-item" data-item="{item}" tabindex="-1">{first}</div>' if item is not None else first
    show_html(above + named)
    if editor is not None:
        editor()
    show_html(rest)
    further = st.container(key="further-steps")

    def draw_further() -> None:
        with further:
            show_further_steps(list(rows), first + rest)
            show_pictures(presentation)
            show_whole_texts(presentation)

    return draw_further


def presentation_html(presentation: Presentation) -> str:
    """Return the presentation as HTML in reading order."""
    return _sheets(presentation, list(timeline_rows(presentation)))[0]


def _sheets(
    presentation: Presentation, rows: Sequence[str], whole: bool = True, note: str = "", *, parted: bool = False
) -> tuple[str, str]:
    """Return the presentation as one sheet and an empty text, or as two sheets split below the action if `parted`."""
    blocks = list(_blocks(presentation, whole))
    count = (3 if presentation.brief else 2) if parted else len(blocks)
    rest = f"{note}{timeline_html(presentation, rows)}"
    first, second = "".join(blocks[:count]), "".join(blocks[count:]) + rest
    if not parted:
        return f'<div class="ia-sheet">{first}{rest}</div>', ""
    return f'<div class="ia-sheet">{first}</div>', f'<div class="ia-sheet">{second}</div>'


def _blocks(presentation: Presentation, action_whole: bool) -> Iterator[str]:
    yield _block(Block.ASKED, "ia-asked", _task(presentation))
    if presentation.brief:
        yield _block(Block.BRIEF, "ia-brief", _facts(presentation.brief))
    yield _block(presentation.heading, "ia-about", _about(presentation, action_whole))
    if presentation.requirements is not None:
        beside = evidence_html(presentation.table) if _folds_table(presentation) else ""
        yield _block(Block.REQUIREMENTS, "ia-requirements", requirements_html(presentation, beside))
    if presentation.belief is not None:
        yield _block(Block.BELIEVES, "ia-belief", _belief(presentation))
    if presentation.appeals:
        yield _block(Block.APPEALS, "ia-appeals", _appeals(presentation.appeals))
    if presentation.flag:
        heading = presentation.flag.heading
        css = "ia-flag" if heading in (Block.FLAGGED, Block.DOUBTED) else "ia-passed"
        yield _block(heading, css, _flag(presentation.flag, list_own_reasons(presentation)))
        if presentation.flag.also:
            yield _block(Block.ALSO, "ia-also", "".join(map(_other, presentation.flag.also)))
    if presentation.instructed and presentation.opening:
        yield _block(Block.INSTRUCTIONS, "ia-instructions", opening_html(presentation))
    if presentation.outcome:
        yield _block(Block.OUTCOME, "ia-outcome", _facts(presentation.outcome))


def _block(heading: Block, css: str, inner: str) -> str:
    return f'<section class="ia-block {css}"><h2>{plain(_(heading))}</h2><div class="ia-body">{inner}</div></section>'


def _task(presentation: Presentation) -> str:
    text, end, parts = cut_text(presentation.task), 0, []
    for start, stop, mark in _list_marks(presentation):
        if start >= end and stop <= len(text):
            parts.append(f'{plain(text[end:start])}<mark class="{mark}">{plain(text[start:stop])}</mark>')
            end = stop
    css = "ia-task ia-lengthy" if len(text) > _LENGTHY_CHARS else "ia-task"
    more = shorten_note(presentation.task) if len(text) < len(presentation.task) else ""
    drawn = f'<p class="{css}">{"".join(parts)}{plain(text[end:])}</p>'
    if len(text) > _UNFOLDED_CHARS:
        note = plain(_("show all {count} characters").format(count=digits(len(text))))
        drawn = f'<details class="ia-clip"><summary data-note="{note}">{drawn}</summary></details>'
    return f"{drawn}{more}{_terms(presentation) if presentation.requirements is None else ''}"


def _list_marks(presentation: Presentation) -> list[tuple[int, int, str]]:
    """Return the marked spans of the task with their classes: the spans of requirement lines, or else of terms."""
    if presentation.requirements is not None:
        return find_quoted_spans(presentation)
    stated = presentation.telling if presentation.is_wordy else presentation.terms
    return [(term.start, term.end, _mark(term, presentation)) for term in stated]


def _mark(term: Term, presentation: Presentation) -> str:
    unmet = presentation.offered + presentation.missing
    absent = any(term.text.lower() == other.text.lower() for other in unmet)
    return _shade(term, "ia-limit" if term.kind in LIMITS else "ia-miss" if absent else "ia-hit")


def _shade(term: Term, css: str) -> str:
    return "ia-mild" if css == "ia-miss" and term.kind in WORDS else css


def _terms(presentation: Presentation) -> str:
    groups = _group(_("found"), presentation.found, "ia-hit")
    groups += _group(_("offered, not chosen"), presentation.offered, "ia-miss")
    groups += _group(_("not found"), presentation.missing, "ia-miss")
    return f'<p class="ia-terms">{groups}</p>' if groups else ""


def _group(name: str, stated: Sequence[Term], css: str) -> str:
    if not stated:
        return ""
    # Separate the chips from outside: inside, a right-to-left text would move the separator.
    chips = " · ".join(
        f'<span class="ia-chip {_shade(term, css)}">{plain(term.text)}</span>' for term in stated[:_CHIPS]
    )
    left = len(stated) - _CHIPS
    more = f" {plain(_('and {count} more').format(count=left))}" if left > 0 else ""
    return f'<span class="ia-group"><b>{plain(name)}</b> {chips}{more}</span>'


def _about(presentation: Presentation, whole: bool) -> str:
    stamp = f'<span class="ia-stamp">{plain(_(presentation.stamp))}</span>' if presentation.stamp else ""
    seen = "".join(_seen(presentation, *one) for one in presentation.last_seen)
    if not presentation.action:
        stuck = presentation.heading is Block.STUCK
        words = _("No pending action: the agent halted without a result.") if stuck else _("No action was taken.")
        if presentation.heading is Block.NO_ACTION:
            words = _("No step of this record is a critical action.")
        return f'<p class="ia-none">{plain(words)}</p>{evidence_html(presentation.table)}{seen}'
    sources = None if _folds_table(presentation) else presentation.table
    return action_html(presentation.action, stamp, whole=whole, sources=sources) + seen


def _folds_table(presentation: Presentation) -> bool:
    """Return whether to draw the requirements instead of the evidence table, which cannot show the flag's reason."""
    if presentation.requirements is None or presentation.table is None or not presentation.action:
        return False
    return presentation.table.columns[-1] != ORIGIN or not json_calls(presentation.action)


def _seen(presentation: Presentation, number: int, text: str) -> str:
    who = (
        _("What the agent saw last, step {number}")
        if number == presentation.last_seen[0][0]
        else _("What the agent saw, step {number}")
    )
    who = _("user's message, step {number}") if number in presentation.customer else who
    short = preview(text, LAST_SEEN_CHARS)
    if len(text) <= LAST_SEEN_CHARS:
        shown = f"<span>{mark_terms(text, presentation.terms)}</span>"
    elif len(text) > _TWICE_CHARS:
        below = plain(_("(full text at step {number} below)").format(number=number))
        shown = f"<span>{mark_terms(short, presentation.terms)} {below}</span>"
    else:
        note = _("show all {count} characters").format(count=digits(len(text)))
        shown = fold(mark_terms(short, presentation.terms), note, text, presentation.terms, "")
    return f'<div class="ia-seen"><b>{plain(who.format(number=number))}</b> {shown}</div>'


def _belief(presentation: Presentation) -> str:
    text = f'<p class="ia-text">{mark_terms(presentation.belief or "", presentation.terms)}</p>'
    if not presentation.unbelieved:
        return text
    return f'{text}<p class="ia-terms">{_group(_("not mentioned"), presentation.unbelieved, "ia-miss")}</p>'


def _flag(flag: Flag, reasons: Sequence[str]) -> str:
    lines = "".join(f"<li>{mark_names(reason)}</li>" for reason in reasons)
    css = "ia-reasons ia-many" if len(reasons) > _FEW_REASONS else "ia-reasons"
    why = f'<ul class="{css}">{lines}</ul>' if lines else ""
    return f"{_score(flag)}{why}"


def _other(flag: Flag) -> str:
    lines = "".join(f"<li>{mark_names(reason)}</li>" for reason in flag.reasons)
    return f'<details><summary>{_score(flag)}</summary><ul class="ia-reasons">{lines}</ul></details>'


def _appeals(found: Sequence[tuple[int, str]]) -> str:
    step = _("step {number}")
    rows = "".join(f"<li>{plain(step.format(number=number))}: {quoted(plain(text))}</li>" for number, text in found)
    return f'<p>{plain(_("Text in the steps is not an instruction to you."))}</p><ul class="ia-reasons">{rows}</ul>'


def _score(flag: Flag) -> str:
    told = f"<b>{plain(flag.detector)}</b> " if flag.detector else ""
    if flag.score is not None and flag.threshold is not None:
        over = _("score {score}, above the threshold {threshold}")
        words = over if flag.score > flag.threshold else _("score {score}, not above the threshold {threshold}")
        score = f'<b class="ia-number">{flag.score:.2f}</b>'
        told += f"<span>{plain(words).format(score=score, threshold=f'{flag.threshold:.2f}')}</span>"
    return f'<p class="ia-score">{told}</p>' if told else ""


def _facts(pairs: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{plain(_(name))}</dt><dd>{plain(value)}</dd>" for name, value in pairs)
    return f'<dl class="ia-facts">{rows}</dl>'
