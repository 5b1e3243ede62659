"""The steps below those that the window first shows, drawn right after them; a click unfolds any step of the page."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from console.language import _
from console.web.widgets.component import component

_HTML = '<div class="ia-sheet"><ol class="ia-steps"></ol></div>'


def show_further_steps(rows: Sequence[str], view: str) -> None:
    """Draws the rows of `timeline_rows` beneath the HTML of a view; what is unfolded stays open until another comes."""
    component(__name__, html=_HTML, isolate_styles=False)(
        key="ia-steps", data={"rows": list(rows), "view": crc32(view.encode()), "toggle": _("step {number} in full")}
    )
