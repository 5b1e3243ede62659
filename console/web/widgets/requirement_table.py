"""The requirement table of a verdict as HTML: broken lines first, each with its quotes and a link to the step."""

from __future__ import annotations

from collections.abc import Sequence

from console.language import _, quoted
from console.review.line_corrections import key_of
from console.review.presentation import Presentation, preview
from console.trajectory.requirements import Line, Quote, QuotePlace, RequirementKind, Standing
from console.trajectory.requirements.sentences import (
    COUNTS,
    describe_record,
    explain_dropped,
    explain_unchecked,
    is_named,
    is_ruled,
    name_status,
)
from console.web.widgets.markup import plain
from console.web.widgets.timeline import LAST, step_anchor

_FEW = 3
_QUOTED = 160
_CSS = {
    Standing.BROKEN: "ia-broken",
    Standing.NOT_SHOWN: "ia-absent",
    Standing.CANNOT_TELL: "ia-unclear",
    Standing.MET: "ia-met",
}
_MARKS = {Standing.BROKEN: "ia-miss", Standing.NOT_SHOWN: "ia-mild", Standing.MET: "ia-hit"}


def requirements_html(presentation: Presentation, beside: str = "") -> str:
    """Return the table of the presentation as HTML; `beside` is the HTML of the evidence folded below it."""
    table = presentation.requirements
    if table is None:
        return ""
    met = table.having(Standing.MET)
    first = [line for line in table.lines if line.standing is not Standing.MET]
    folded = len(met) > _FEW and bool(first)
    count = _(COUNTS[Standing.MET]).format(count=len(met))
    parts = [
        _notes(explain_unchecked(table, _)),
        _lines(presentation, first if folded else table.lines),
        _fold(count, _lines(presentation, met), "ia-folded-met") if folded else "",
        _notes(explain_dropped(table, _)),
        _fold(_("options and sources"), beside) if beside else "",
    ]
    return "".join(parts)


def find_quoted_spans(presentation: Presentation) -> list[tuple[int, int, str]]:
    """Return the spans [start, end) of the request that uncorrected lines quote, sorted, each with its CSS class."""
    spans: list[tuple[int, int, str]] = []
    for line in presentation.requirements.lines if presentation.requirements else ():
        quote, css = line.requirement.quote, _MARKS.get(line.standing)
        is_apart = all(quote.end <= start or end <= quote.start for start, end, _css in spans)
        if css and is_apart and quote.place is QuotePlace.REQUEST and key_of(line) not in presentation.corrected:
            spans.append((quote.start, quote.end, css))
    return sorted(spans)


def _lines(presentation: Presentation, lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    head = "".join(f'<th scope="col">{plain(name)}</th>' for name in (_("status"), _("asked"), _("in the steps")))
    rows = "".join(_row(presentation, line) for line in lines)
    return f'<table class="ia-lines"><thead><tr>{head}<td></td></tr></thead><tbody>{rows}</tbody></table>'


def _fold(words: str, inner: str, css: str = "") -> str:
    return f'<details class="ia-fold ia-linefold {css}"><summary>{plain(words)}</summary>{inner}</details>'


def _notes(sentences: Sequence[str]) -> str:
    return "".join(f'<p class="ia-linenote">{plain(sentence)}</p>' for sentence in sentences)


def _row(presentation: Presentation, line: Line) -> str:
    key = key_of(line)
    is_corrected = key in presentation.corrected
    css = f"{_CSS[line.standing]} ia-corrected" if is_corrected else _CSS[line.standing]
    status = f'<th scope="row"><span class="ia-standing">{plain(_(name_status(line.standing)))}</span></th>'
    asked = f'<td class="ia-stated">{_quoted(line.requirement.quote)} <small>{_about(presentation, line)}</small></td>'
    shown = f'<td class="ia-shown">{_evidence(presentation, line)}</td>'
    return f'<tr class="{css}">{status}{asked}{shown}<td class="ia-answer">{_button(key, is_corrected)}</td></tr>'


def _button(key: str, is_corrected: bool) -> str:
    """Return the button that corrects the line; only pages that handle corrections show the button."""
    words = _("Undo") if is_corrected else _("Mark as not requested")
    title = plain(_("Undo your correction") if is_corrected else _("The user did not ask for this"))
    pressed = str(is_corrected).lower()
    return (
        f'<button type="button" class="ia-correct" data-line="{key}" aria-pressed="{pressed}" title="{title}">'
        f"{plain(words)}</button>"
    )


def _about(presentation: Presentation, line: Line) -> str:
    one, said = line.requirement, []
    if one.kind is not RequirementKind.THING:
        said.append(plain(_(one.kind)))
    if is_named(line):
        said.append(plain(_("for “{about}”").format(about=preview(one.about, _QUOTED))))
    if is_ruled(line):
        said.append(plain(_("from the agent's instructions")))
    elif one.quote.step is not None:
        return _join_link(" · ".join(said), _link(presentation, one.quote.step))
    return " · ".join(said)


def _evidence(presentation: Presentation, line: Line) -> str:
    shown = line.evidence
    if shown is None or shown.step is None:
        return f'<span class="ia-none">{plain(_(describe_record(line)))}</span>'
    note = plain(_(described)) if (described := describe_record(line)) else ""
    return f"{_quoted(shown)} <small>{_join_link(note, _link(presentation, shown.step))}</small>"


def _join_link(words: str, link: str) -> str:
    """Return the words and the link, whose dot moves to the next line with the link."""
    return f'{words} <span class="ia-one-line">· {link}</span>' if words else link


def _quoted(quote: Quote) -> str:
    return f'<span class="ia-quote">{quoted(plain(preview(quote.text, _QUOTED)))}</span>'


def _link(presentation: Presentation, number: int) -> str:
    """Return a link to a step, or to the last row for the pending action."""
    is_last = not presentation.steps or number >= presentation.steps[-1].number
    is_pending = is_last and bool(presentation.steps) and presentation.steps[-1].critical
    words = _("this action") if is_pending else _("step {number}").format(number=number)
    return f'<a class="ia-tostep" href="#{LAST if is_last else step_anchor(number)}">{plain(words)}</a>'
