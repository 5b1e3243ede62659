"""The change of an edit as HTML: the old beside the new, before it is sent and when looking back."""

from __future__ import annotations

from console.review.edit_fields import changed_arguments, word_changes
from console.web.widgets.markup import plain


def change_html(pending: str, edited: str) -> str:
    """The old beside the new, as HTML: each changed argument with its words removed and added."""
    rows = "".join(
        f'<tr><th scope="row">{plain(name)}</th><td>{_words_html(old, new)}</td></tr>'
        for name, old, new in changed_arguments(pending, edited)
    )
    return f'<div class="ia-sheet"><table class="ia-arguments ia-change">{rows}</table></div>' if rows else ""


def _words_html(old: str, new: str) -> str:
    marks = {"removed": "del", "added": "ins"}
    return "".join(
        f"<{marks[kind]}>{plain(text)}</{marks[kind]}>" if kind in marks else plain(text)
        for kind, text in word_changes(old, new)
    )
