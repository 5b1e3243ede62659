"""The loop of a run as a picture: a column for each trial, in it a bar for what became of its attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files

from console.review.overview import TrialFlow
from console.web.widgets.markup import plain

_ANSWERS = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "edited",
    "respond": "answered",
    "escalate": "passed on",
}


def loop_html(flows: Sequence[TrialFlow], *, asked: bool = False, recorded: bool = False, outcomes: bool = True) -> str:
    """The picture as HTML. `asked`: by agents, of what is queued; `recorded`: the next trials were a log's.

    Without `outcomes` no record tells whether a task was solved.
    """
    widest = max([1, *(flow.attempts for flow in flows)])
    trials = "".join(_column(flow, widest, _rows(flow, asked, recorded, outcomes, flow is flows[-1])) for flow in flows)
    drawn = f'<ol class="ia-loop" tabindex="0" aria-label="The loop, trial by trial">{trials}</ol>'
    return f"<style>{_style()}</style>{drawn}"


def _column(flow: TrialFlow, widest: int, bars: Iterator[tuple[str, int, str]]) -> str:
    carried = f"<p>and {flow.carried_over:,} solved before, carried over</p>" if flow.carried_over else ""
    rows = "".join(_bar(*bar, widest) for bar in bars)
    return f"<li><h3>Trial {flow.trial}</h3>{carried}<dl>{rows}</dl></li>"


def _rows(flow: TrialFlow, asked: bool, recorded: bool, outcomes: bool, last: bool) -> Iterator[tuple[str, int, str]]:
    """(label, count, class) of each bar."""
    yield "attempts", flow.attempts, "attempts"
    if flow.judged is not None:
        yield "judged", flow.judged, "judged"
    yield "asked about" if asked else "flagged", flow.flagged, "flagged"
    if flow.stuck:
        yield "got stuck", flow.stuck, "flagged"
    yield "inspected", flow.inspected, "inspected"
    for kind, count in flow.answers:
        yield _ANSWERS.get(kind, kind), count, f"answer {kind}"
    if flow.waiting:
        yield "items waiting", flow.waiting, "waiting"
    if outcomes and not asked:
        yield "solved", flow.solved, "solved"
    if flow.again or not last:
        yield "next in the log" if recorded else "tried again", flow.again, "again"


def _bar(label: str, count: int, css: str, widest: int) -> str:
    share = min(100.0, 100 * count / widest)
    return (
        f'<div class="{plain(css)}"><dt>{plain(label)}</dt>'
        f'<dd><i style="width:{share:.1f}%"></i><b>{count:,}</b></dd></div>'
    )


@lru_cache(maxsize=1)
def _style() -> str:
    return files(__package__).joinpath("css", "loop.css").read_text("utf-8")
