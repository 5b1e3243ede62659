"""Pages of Wikipedia or another MediaWiki site, over its Action API.

The data directory keeps each reply under a digest of site and request. So a restored trial reads the same pages, and a
run requests only pages that no run has read; without the folder `cache/wiki`, all pages are requested again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import orjson

from console.environments.environment import WorldUnavailable
from console.environments.fetching import WebClient
from console.environments.hotpotqa.corpus import WikiPage
from console.settings import settings
from console.trajectory.checkpoints import digest

WIKI = "wiki"
"""The task option with the address of the site's folder that contains api.php."""
_RETRIES = 3
_HEADING = re.compile(r"=+ .* =+")
_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"”’)]))\s+(?![a-z])")
_SEVERAL_MEANINGS = re.compile(r"\b(?:may|can) (?:also )?refer to\b")
_PASSING = frozenset({"maxlag", "ratelimited", "readonly"})
"""The API's error codes for requests that succeed later."""


class Wiki:
    """The pages of a MediaWiki site; raise WorldUnavailable if the site does not reply."""

    def __init__(self, url: str) -> None:
        given = settings()
        self._client = WebClient(
            url, {"User-Agent": given.wiki_user_agent}, retries=_RETRIES, pause_s=1 / given.wiki_per_second
        )
        self._folder = given.data_dir / "cache" / WIKI

    def find(self, title: str) -> WikiPage | None:
        """Return the page with this title, after redirects; None if it is missing or lists several meanings."""
        # A bar separates two titles.
        asked = {"prop": "extracts", "explaintext": "1", "redirects": "1", "titles": title.replace("|", " ")}
        for page in self._ask(asked).get("pages", ()):
            found = split_sentences(page.get("extract") or "")
            if found and not _SEVERAL_MEANINGS.search(found[0]):
                return WikiPage(str(page["title"]), tuple(found))
        return None

    def similar(self, text: str, limit: int = 5) -> Sequence[str]:
        """Return the titles of pages with the words of the text, the best first."""
        # Without `srwhat`, a site without a search extension searches titles first.
        asked = {"list": "search", "srsearch": text, "srwhat": "text", "srlimit": str(limit), "srprop": ""}
        return tuple(str(one["title"]) for one in self._ask(asked).get("search", ()))

    def _ask(self, parameters: dict[str, str]) -> dict[str, Any]:
        """Return the `query` part of the reply, from the kept replies if possible; empty if the request is invalid."""
        query = urlencode({"action": "query", "format": "json", "formatversion": "2", **parameters})
        url = f"{self._client.base}api.php?{query}"
        kept = self._folder / f"{digest(url)}.json"
        if kept.is_file():
            return _read_query(kept.read_text("utf-8"), url)
        text = self._client.fetch("GET", url).text
        found = _read_query(text, url)
        self._folder.mkdir(parents=True, exist_ok=True)
        new = kept.with_suffix(f".{os.urandom(6).hex()}")
        new.write_text(text, "utf-8")
        new.replace(kept)
        return found


@lru_cache(maxsize=16)
def wiki_of(url: str) -> Wiki:
    """Return the site with this address; all worlds of a process share its rate limit."""
    return Wiki(url)


def split_sentences(extract: str) -> list[str]:
    """Split the plain text of a page after each sentence end; leave out headings."""
    lines = (line.strip() for line in extract.splitlines())
    texts = (line for line in lines if line and not _HEADING.fullmatch(line))
    return [sentence for text in texts for sentence in _SENTENCE_END.split(text)]


def _read_query(text: str, url: str) -> dict[str, Any]:
    try:
        reply = orjson.loads(text)
        code = reply.get("error", {}).get("code", "")
        found = reply.get("query", {})
    except (orjson.JSONDecodeError, AttributeError) as other:
        raise WorldUnavailable(f"{url.partition('?')[0]} is not MediaWiki's Action API") from other
    if code in _PASSING or str(code).startswith("internal_api_error"):
        raise WorldUnavailable(f"error {code} at {url.partition('?')[0]}")
    return dict(found)
