"""An immutable corpus of pages that can be found by title or by text, from any number of threads."""

from __future__ import annotations

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
