"""Formatted text of a researcher: headings, lists and stressed words of Markdown as HTML; all else stays text.

It stands alone because pages and the sign-in's plain HTML both draw it.
"""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt


def formatted_html(text: str) -> str:
    """The text as HTML in one line; line breaks are kept. No link, picture, or tag of its own comes out of it."""
    tokens = _markdown().parse(text.strip())
    headings = [token for token in tokens if token.type.startswith("heading")]
    # The page has a title of its own; the highest heading of the text comes right beneath it.
    up = min((int(token.tag[1]) for token in headings), default=2) - 2
    for token in headings:
        token.tag = f"h{min(int(token.tag[1]) - up, 6)}"
    return str(_markdown().renderer.render(tokens, _markdown().options, {})).replace("\n", "")


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("zero", {"breaks": True}).enable(["heading", "list", "emphasis", "newline", "escape"])
