"""The language of the document, for screen readers; a chosen one is kept by the browser as a preference cookie."""

from __future__ import annotations

from console.language import COOKIE
from console.web.widgets.component import component

_YEAR_S = 365 * 86_400


def say_language(code: str, *, keep: bool) -> None:
    """Sets the document's `lang`; `keep` stores the language for the next visit."""
    component(__name__)(
        key="page-language", data={"language": code, "cookie": COOKIE if keep else "", "seconds": _YEAR_S}
    )
