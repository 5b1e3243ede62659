"""Search over the catalogue: SQLite FTS5 in memory, best bm25 first.

bm25 is a sum over the words of a query. FTS5 is therefore queried once for each distinct word, and a search adds the
stored scores. The order equals that of `word OR word OR ...`, and a search is about twenty times as fast.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.reward import STOP_WORDS

MOST_RESULTS = 50
_MOST_WORDS = 40
_WORD = re.compile(r"[a-z0-9]+")
_ASKING = {"am", "buy", "can", "choose", "find", "get", "looking", "m", "need", "please", "show", "want", "you"}
_FILLER = STOP_WORDS | _ASKING | {"dollars", "lower", "price", "than"}
_BY_WORD = "SELECT rowid - 1, -bm25(product) FROM product WHERE product MATCH ? ORDER BY rowid"


@dataclass(frozen=True, slots=True)
class _Index:
    """One connection for all threads; one thread uses the connection at a time."""

    connection: sqlite3.Connection
    lock: threading.Lock
    asins: tuple[str, ...]


def search(query: str) -> tuple[str, ...]:
    """Return the ASINs of up to 50 products that share a word with the query in the original's fields, best first."""
    return _ranked(query_words(query))


def query_words(query: str) -> tuple[str, ...]:
    """Return the words of a query to search for: at most 40, without duplicates and common words."""
    found = dict.fromkeys(word for word in _WORD.findall(query.lower()) if word not in _FILLER)
    return tuple(found)[:_MOST_WORDS]


def searchable_text(product: Product) -> str:
    """Return the text of a product that a search matches."""
    options = (" ".join(values) for values in product.options.values())
    return " ".join([product.title, product.description, product.features[0], *options])


@lru_cache(maxsize=4096)
def _ranked(asked: tuple[str, ...]) -> tuple[str, ...]:
    asins = _index().asins
    scores = np.zeros(len(asins))
    for word in asked:
        rows, parts = _scores(word)
        scores[rows] += parts
    most = min(MOST_RESULTS, int(np.count_nonzero(scores)))
    if not most:
        return ()
    least = np.partition(scores, -most)[-most]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")[:most]
    return tuple(asins[row] for row in candidates[order])


@lru_cache(maxsize=4096)
def _scores(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    index = _index()
    with index.lock:
        found = index.connection.execute(_BY_WORD, (f'"{word}"',)).fetchall()
    rows, parts = zip(*found, strict=True) if found else ((), ())
    return np.array(rows, dtype=np.int64), np.array(parts, dtype=np.float64)


@lru_cache(maxsize=1)
def _index() -> _Index:
    products: Mapping[str, Product] = catalogue()
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE VIRTUAL TABLE product USING fts5(contents, tokenize = 'porter unicode61')")
    rows = ((searchable_text(product),) for product in products.values())
    connection.executemany("INSERT INTO product VALUES (?)", rows)
    return _Index(connection, threading.Lock(), tuple(products))
