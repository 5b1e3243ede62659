"""An immutable corpus of pages that can be found by title or by text, from any number of threads, and the pages of
Wikipedia or another MediaWiki site, over its Action API.

The data directory keeps each reply under a digest of site and request. So a restored trial reads the same pages, and a
run requests only pages that no run has read; without the folder `cache/wiki`, all pages are requested again.
"""

from __future__ import annotations

import os
import re
import sqlite3
import string
import threading
import unicodedata
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import orjson

from console.environments.environment import WorldUnavailable
from console.environments.fetching import WebClient
from console.settings import settings
from console.trajectory.checkpoints import digest

SHOWN_SENTENCES = 5
_QUERY_WORDS = 32
_SAMPLED_PAGES = 1000
_WORD = re.compile(r"[^\W_]+")
_PUNCTUATION = str.maketrans(string.punctuation, " " * len(string.punctuation))


@dataclass(frozen=True, slots=True)
class WikiPage:
    """A page: a title and its sentences in order."""

    title: str
    sentences: tuple[str, ...]
    _folded: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_folded", tuple(sentence.lower() for sentence in self.sentences))

    @property
    def opening(self) -> str:
        """The text that a search returns: the first five sentences."""
        return " ".join(self.sentences[:SHOWN_SENTENCES])

    def lookup(self, keyword: str) -> list[str]:
        """Return the sentences that contain the keyword, ignoring case, in order."""
        wanted = keyword.lower()
        return [text for text, folded in zip(self.sentences, self._folded, strict=True) if wanted in folded]


class Corpus:
    """Pages by title, with a full-text index over them."""

    def __init__(self, pages: Iterable[WikiPage]) -> None:
        self.pages: dict[str, WikiPage] = {}
        for page in pages:
            self.pages.setdefault(page.title, page)
        self._by_case = {key: found[0] for key, found in _by_key(self.pages, _fold).items()}
        letters = _by_key(self.pages, _letters).items()
        self._by_letters = {key: found[0] for key, found in letters if key and len(found) == 1}
        self._common = _common_words(self.pages.values())
        self._lock = threading.Lock()
        self._index = _index(self.pages.values())
        weakref.finalize(self, self._index.close)
        self.similar = lru_cache(maxsize=8192)(self._similar)

    def find(self, title: str) -> WikiPage | None:
        """Return the page with this title or None; ignore case, blanks and, if unambiguous, punctuation and accents."""
        found = unescape(title).strip()
        if found not in self.pages:
            found = self._by_case.get(_fold(found)) or self._by_letters.get(_letters(found)) or ""
        return self.pages.get(found)

    def _similar(self, text: str, limit: int = 5) -> tuple[str, ...]:
        words = list(dict.fromkeys(_WORD.findall(text.lower())))[:_QUERY_WORDS]
        telling = [word for word in words if word not in self._common]
        return self._ranked(telling, limit) or self._ranked(words, limit)

    def _ranked(self, words: Sequence[str], limit: int) -> tuple[str, ...]:
        if not words:
            return ()
        query = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            rows = self._index.execute(
                "SELECT title FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 10.0, 1.0), rowid LIMIT ?",
                (query, limit),
            ).fetchall()
        return tuple(title for (title,) in rows)


def _common_words(pages: Iterable[WikiPage]) -> frozenset[str]:
    # Such words hardly change the ranking, yet they make most pages a hit and the query many times slower.
    texts = (" ".join((page.title, *page.sentences)).lower() for page in islice(pages, _SAMPLED_PAGES))
    sampled = [set(_WORD.findall(text)) for text in texts]
    counts = Counter(word for words in sampled for word in words)
    return frozenset(word for word, count in counts.items() if count > max(20, len(sampled) / 5))


def _index(pages: Iterable[WikiPage]) -> sqlite3.Connection:
    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.execute(
        "CREATE VIRTUAL TABLE pages USING fts5(title, body, tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    rows = ((page.title, " ".join(page.sentences)) for page in pages)
    index.executemany("INSERT INTO pages VALUES (?, ?)", rows)
    index.commit()
    return index


def _by_key(titles: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    keyed: dict[str, list[str]] = {}
    for title in titles:
        keyed.setdefault(key(title), []).append(title)
    return keyed


def _fold(title: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", title).casefold().replace("_", " ").split())


def _letters(title: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", title.casefold()) if not unicodedata.combining(c))
    return " ".join(plain.translate(_PUNCTUATION).split())


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
