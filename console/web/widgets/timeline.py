"""The steps of a trajectory as a timeline, with thoughts and long observations folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from console.language import _, ngettext
from console.review.plain_text import CAP, cut_text
from console.review.presentation import Block, Presentation, ShownStep, find_occurring_terms, is_long
from console.trajectory.call_values import value_text
from console.trajectory.calls import Call
from console.trajectory.terms import Term
from console.web.widgets.changes import arguments_with_changes
from console.web.widgets.markup import fold, fold_long_text, mark_terms, plain, size
from console.web.widgets.pending_action import json_calls

LAST = "ia-last"


def timeline_html(presentation: Presentation, rows: Sequence[str]) -> str:
    """Return the first observation and these rows as HTML, with a link to the last step."""
    steps = f'<ol class="ia-steps">{"".join(rows)}</ol>'
    return f'<section class="ia-timeline">{_top(presentation)}{steps}</section>'


def timeline_rows(presentation: Presentation) -> Iterator[str]:
    """Yield each step as a row of HTML; a row of the class `ia-folds` can be unfolded."""
    after = False
    telling = presentation.telling if presentation.is_wordy else presentation.terms
    stated = find_occurring_terms(telling, (cut_text(step.observation) for step in presentation.steps))
    for index, step in enumerate(presentation.steps):
        if step.after and not after:
            after = True
            yield f'<li class="ia-divider">{plain(_(Block.AFTER))}</li>'
        yield _row(step, stated, last=index == len(presentation.steps) - 1)


def _top(presentation: Presentation) -> str:
    words = plain(_("to the last step"))
    jump = f'<a class="ia-jump" href="#{LAST}">{words}</a>' if len(presentation.steps) > 1 else ""
    count = presentation.steps[-1].number if presentation.steps else 0
    words = plain(ngettext("{count} step", "{count} steps", count).format(count=count))
    opening = "" if presentation.instructed else opening_html(presentation)
    return f'<div class="ia-stepshead"><h2>{words}</h2>{jump}</div>{opening}'


def step_anchor(number: int) -> str:
    """Return the id of the row of a step; the last row has the id LAST."""
    return f"ia-step-{number}"


def opening_html(presentation: Presentation) -> str:
    """Return the agent's first observation as folded HTML; return an empty text if there is none."""
    if not presentation.opening:
        return ""
    return fold(plain(_(Block.OPENING)), size(presentation.opening), presentation.opening, (), "ia-opening")


def _row(step: ShownStep, stated: Sequence[Term], *, last: bool) -> str:
    states = (
        ("ia-failed", step.failed),
        ("ia-critical", step.critical),
        ("ia-after", step.after),
        ("ia-marked", bool(step.marked)),
        ("ia-folds", bool(step.thought) or any(is_long(text) for text in (step.spoken, step.observation))),
    )
    css = " ".join(["ia-step", *(name for name, holds in states if holds)])
    anchor = f' id="{LAST if last else step_anchor(step.number)}"'
    marked = f' data-marked="{plain(step.marked)}"' if step.marked else ""
    return f'<li class="{css}"{anchor} data-n="{step.number}"{marked}>{"".join(_parts(step, stated))}</li>'


def _parts(step: ShownStep, stated: Sequence[Term]) -> Iterator[str]:
    """Yield each cell of a row as a single element, because more elements would slow down a long page.

    Mark terms only in observations: a term in the agent's own text does not count as evidence.
    """
    if step.speaker:
        yield f'<span class="ia-speaker">{plain(step.speaker)}</span>'
    if step.spoken:
        yield _text(step.spoken, (), "ia-spoken")
    if step.action:
        yield _acted(step.action)
    if step.stamp:
        yield f'<span class="ia-stamp">{plain(_(step.stamp))}</span>'
    if step.thought:
        yield f'<p class="ia-thought">{mark_terms(step.thought, ())}</p>'
    if step.observation:
        yield _text(step.observation, stated, "ia-obs")


def _text(text: str, stated: Sequence[Term], css: str) -> str:
    noted = f' data-note="{size(text)}"' if is_long(text) else ""
    return f'<pre class="{css}{" ia-long" if noted else ""}"{noted}>{mark_terms(text, stated)}</pre>'


def _acted(action: str) -> str:
    drawn = json_calls(action) if len(action) <= CAP else []
    if not drawn:
        return fold_long_text(action, (), "ia-act")
    return f'<div class="ia-act">{"".join(_called(call) for call in drawn)}</div>'


def _called(call: Call) -> str:
    rows = "".join(
        f'<tr><th scope="row">{plain(name)}</th><td>{change or _argument(value)}</td></tr>'
        for name, change, value in arguments_with_changes(call.arguments)
    )
    return f'<code>{plain(call.name)}</code><table class="ia-arguments">{rows}</table>'


def _argument(value: Any) -> str:
    return fold_long_text(value_text(value), (), "ia-value" if isinstance(value, str) else "ia-value ia-json")
