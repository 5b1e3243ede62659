"""A participant's stage between items, as HTML: headings, plain prose, an answer explained, progress, a clock."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from console.language import _
from console.studies.design.formatted_text import formatted_html
from console.web.widgets.markup import plain
from console.web.widgets.status import budget_meter_html

_NOT_WORDS = re.compile(r"[^\w\s.,;?()'-]")


def head_html(title: str, *, over: str = "") -> str:
    """The title of a stage, with a few words over it that say where it stands in the whole."""
    above = f'<p class="ia-over">{plain(over)}</p>' if over else ""
    return f'<header class="ia-stage-head">{above}<h1>{plain(title)}</h1></header>'


def prose_html(text: str) -> str:
    """A text of the researcher's as it was written: its lines are kept, nothing in it is markup."""
    return f'<div class="ia-prose">{plain(text.strip())}</div>' if text.strip() else ""


def formatted_prose_html(text: str) -> str:
    """A text of the researcher's with its headings, lists and stressed words; nothing else in it is markup."""
    return f'<div class="ia-prose ia-formatted">{formatted_html(text)}</div>' if text.strip() else ""


def question_html(question: str, *, optional: bool = False) -> str:
    """A question of the researcher's, with words that say where it may be left out."""
    left_out = f" <small>{plain(_('(you may leave this out)'))}</small>" if optional else ""
    return f'<p class="ia-question">{plain(question)}{left_out}</p>'


def scale_item_html(question: str, low: str, high: str, *, optional: bool = False) -> str:
    """A question with what stands at both ends of its scale, where it has one."""
    return question_html(question, optional=optional) + ends_html(low, high)


def label_words(text: str) -> str:
    """The text as a widget's label, which is read as Markdown: only letters, digits and a few harmless signs of it."""
    return _NOT_WORDS.sub(" ", text)


def ends_html(low: str, high: str) -> str:
    """What stands at both ends of a scale; nothing where neither end has words."""
    return f'<p class="ia-ends"><span>{plain(low)}</span><span>{plain(high)}</span></p>' if low or high else ""


def way_back_html(words: str, address: str) -> str:
    """The one link that leads back to where the participant came from, in this tab."""
    return f'<a class="ia-way-back" href="{escape(address)}" target="_self" rel="noreferrer">{plain(words)}</a>'


def consent_link_html() -> str:
    """Where the consent can be read again, printed and saved."""
    words = plain(_("Your consent, to print or to save"))
    return f'<p class="ia-small"><a href="/my-consent" target="_blank">{words}</a></p>'


def points_html(points: Sequence[str]) -> str:
    """A few sentences, one beneath the other."""
    return f'<ul class="ia-points">{"".join(f"<li>{plain(point)}</li>" for point in points)}</ul>' if points else ""


def explained_html(given: str, right: str, why: str, *, agrees: bool) -> str:
    """One's own answer beside the right one, and why that is right."""
    css = "ia-explained ia-agrees" if agrees else "ia-explained"
    own = f"<dt>{plain(_('your answer'))}</dt><dd>{plain(given)}</dd>" if given else ""
    return (
        f'<section class="{css}" role="status"><dl class="ia-facts">{own}<dt>{plain(_("right answer"))}</dt>'
        f"<dd><b>{plain(right)}</b></dd></dl>{prose_html(why)}</section>"
    )


def progress_html(item: str, *beside: str, cap: int | None = None, used: int = 0) -> str:
    """The line over an item: which one it is, of what, and how many reviews are left where they are limited."""
    meter = budget_meter_html(cap, used) if cap is not None else ""
    parts = (f"<b>{plain(item)}</b>", *(plain(each) for each in beside), meter)
    spans = "".join(f"<span>{each}</span>" for each in parts if each)
    return f'<div class="ia-status">{spans}</div>'


def clock_html(left_ms: int) -> str:
    """The time that is left, in minutes and seconds, with hours where there are any."""
    minutes, seconds = divmod(max(0, -(-left_ms // 1_000)), 60)
    told = f"{minutes // 60}:{minutes % 60:02d}" if minutes >= 60 else f"{minutes}"
    return f'<p class="ia-clock" role="timer" aria-live="off">{told}:{seconds:02d}</p>'
