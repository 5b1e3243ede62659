"""The HTML of a participant's stages: headings, prose, questions, explained decisions, progress and a clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from console.language import _
from console.studies.design.formatted_text import format_html
from console.web.widgets.markup import name_keys, plain
from console.web.widgets.status import budget_meter_html, status_html

_NOT_WORDS = re.compile(r"[^\w\s.,;?()'-]")


def head_html(title: str, *, over: str = "") -> str:
    """Return the title of a stage with a line above it."""
    above = f'<p class="ia-over">{plain(over)}</p>' if over else ""
    return f'<header class="ia-stage-head">{above}<h1>{plain(title)}</h1></header>'


def prose_html(text: str) -> str:
    """Return a researcher's text with its line breaks, escaped."""
    return f'<div class="ia-prose">{plain(text.strip())}</div>' if text.strip() else ""


def formatted_prose_html(text: str) -> str:
    """Return a researcher's text with headings, lists and emphasis; escape everything else."""
    return f'<div class="ia-prose ia-formatted">{format_html(text)}</div>' if text.strip() else ""


def question_html(question: str, *, optional: bool = False) -> str:
    """Return a researcher's question, with a mark if the question is optional."""
    left_out = f" <small>{plain(_('(optional)'))}</small>" if optional else ""
    return f'<p class="ia-question">{plain(question)}{left_out}</p>'


def label_words(text: str) -> str:
    """Return the text as a widget's label without Markdown characters."""
    return _NOT_WORDS.sub(" ", text)


def ends_html(low: str, high: str) -> str:
    """Return the labels at both ends of a scale; return an empty text if there are none."""
    return f'<p class="ia-ends"><span>{plain(low)}</span><span>{plain(high)}</span></p>' if low or high else ""


def return_link_html(words: str, address: str) -> str:
    """Return the link to the recruiting platform, which opens in this tab."""
    return f'<a class="ia-way-back" href="{escape(address)}" target="_self" rel="noreferrer">{plain(words)}</a>'


def consent_link_html() -> str:
    """Return the link to the consent text."""
    words = plain(_("Print or save your consent"))
    return f'<p class="ia-small"><a href="my-consent" target="_blank">{words}</a></p>'


def points_html(points: Sequence[str]) -> str:
    """Return the sentences as an HTML list."""
    return f'<ul class="ia-points">{"".join(f"<li>{name_keys(point)}</li>" for point in points)}</ul>' if points else ""


def explain_html(given: str, right: str, why: str, *, agrees: bool) -> str:
    """Return the participant's decision next to the correct decision, with the explanation."""
    css = "ia-explained ia-agrees" if agrees else "ia-explained"
    own = f"<dt>{plain(_('your decision'))}</dt><dd>{plain(given)}</dd>" if given else ""
    return (
        f'<section class="{css}" role="status"><dl class="ia-facts">{own}<dt>{plain(_("correct decision"))}</dt>'
        f"<dd><b>{plain(right)}</b></dd></dl>{prose_html(why)}</section>"
    )


def progress_html(item: str, *beside: str, cap: int | None = None, used: int = 0) -> str:
    """Return the line above an item: its number, other facts, and the budget if limited."""
    meter = budget_meter_html(cap, used, _("{used} of {cap} reviews used, {left} left")) if cap is not None else ""
    return status_html((f"<b>{plain(item)}</b>", *map(plain, beside), meter))


def clock_html(left_ms: int) -> str:
    """Return the remaining time as HTML in minutes and seconds, with hours if needed."""
    minutes, seconds = divmod(max(0, -(-left_ms // 1_000)), 60)
    told = f"{minutes // 60}:{minutes % 60:02d}" if minutes >= 60 else f"{minutes}"
    return f'<p class="ia-clock" role="timer" aria-live="off">{told}:{seconds:02d}</p>'
