"""Formatted texts for the pages and the plain HTML of sign-in: Markdown headings, lists and bold words."""

from __future__ import annotations

from functools import lru_cache

from markdown_it import MarkdownIt


def format_html(text: str) -> str:
    """Return the text as HTML without newlines, with `<br />` for its line breaks; render no links, images or tags."""
    tokens = _markdown().parse(text.strip())
    headings = [token for token in tokens if token.type.startswith("heading")]
    # The page already has a title, so the text's highest heading becomes the level below the title.
    up = min((int(token.tag[1]) for token in headings), default=2) - 2
    for token in headings:
        token.tag = f"h{min(int(token.tag[1]) - up, 6)}"
    return str(_markdown().renderer.render(tokens, _markdown().options, {})).replace("\n", "")


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("zero", {"breaks": True}).enable(["heading", "list", "emphasis", "newline", "escape"])
