"""The WebShop world: the session of one task, in which the agent's actions open pages, and the shop's search.

The search uses SQLite FTS5 in memory, best bm25 first. bm25 is a sum over the words of a query. FTS5 is therefore
queried once for each distinct word, and a search adds the stored scores. The order is the same as for `word OR word OR
...`, and a search is about twenty times as fast.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from console.environments.environment import TaskSpec, World, has_option
from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.pages import item_text, results_text, start_text, sub_text
from console.environments.webshop.tasks import STOP_WORDS, goal_of, reward
from console.trajectory.checkpoints import is_thought

INVALID = "Invalid action!"
GO_BACK = "go_back"
"""The browser's back button, which WebShop's site offers and its text edition lacks."""
BOUGHT = "\nThank you for shopping with us! \n"
_PER_PAGE = 10
SEEN_BY_REACT = 3
SUB_PAGES = ("Description", "Features", "Reviews")
_SUB_PAGES = {name.lower(): name for name in SUB_PAGES}


class Shop(World):
    """One session of the shop. Clicks ignore case; `click[Buy Now]` buys the item, on item pages only.

    `options["observation"]` is "full" (ten products a page) or "react" (only the first three products, no next page).
    """

    def __init__(self, task: TaskSpec) -> None:
        self._instruction = task.instruction
        self._goal = goal_of(task.gold)
        self._options: Mapping[str, Any] = task.options
        self.reset()

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Open the search page; the seed has no effect, because the task determines everything."""
        self._react = has_option("webshop", {**self._options, **(options or {})}, "observation", "full", "react")
        self._page = "start"
        self._hits: tuple[str, ...] = ()
        self._number = 1
        self._item: Product | None = None
        self._chosen: dict[str, str] = {}
        self._score: float | None = None
        self._sub_page = ""
        self._history: list[tuple[Any, ...]] = []
        return start_text(self._instruction), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one action; an impossible action returns "Invalid action!" and changes nothing."""
        if self._score is not None:
            return BOUGHT, 0.0, True, False, self._info()
        before = self._page, self._hits, self._number, self._item, dict(self._chosen), self._sub_page
        action = action.strip()
        observation = self._go_back() if action == GO_BACK else self._answer(action)
        if observation != INVALID and action != GO_BACK and not is_thought(action):
            self._history.append(before)
        return observation, self._score or 0.0, self._score is not None, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {"success": self._score == 1.0, "score": self._score or 0.0}

    def _go_back(self) -> str:
        if not self._history:
            return INVALID
        self._page, self._hits, self._number, self._item, self._chosen, self._sub_page = self._history.pop()
        if self._page == "start":
            return start_text(self._instruction)
        if self._page == "results" or self._item is None:
            return self._results(self._number)
        return sub_page(self._item, self._sub_page) if self._page == "sub" else self._show_item(self._item)

    def _answer(self, action: str) -> str:
        if is_thought(action):
            return "OK."
        verb, bracket, argument = action.partition("[")
        if not bracket or not argument.endswith("]"):
            return INVALID
        if verb == "search" and self._page == "start":
            self._hits = search(argument[:-1])
            return self._results(1)
        return self._click(argument[:-1].lower()) if verb == "click" else INVALID

    def _click(self, button: str) -> str:
        if self._page == "start":
            return INVALID
        if button == "back to search":
            self._page = "start"
            return start_text(self._instruction)
        if self._page == "results":
            return self._click_result(button)
        if self._item is None:
            return INVALID
        if self._page == "sub":
            return self._show_item(self._item) if button == "< prev" else INVALID
        return self._click_item(button, self._item)

    def _click_result(self, button: str) -> str:
        if button == "next >" and not self._react:
            return self._results(self._number + 1)
        if button == "< prev" and self._number > 1:
            return self._results(self._number - 1)
        if button.upper() not in self._visible():
            return INVALID
        self._chosen = {}
        return self._show_item(catalogue()[button.upper()])

    def _click_item(self, button: str, item: Product) -> str:
        if button == "buy now":
            self._score = reward(self._goal, item, self._chosen)
            return BOUGHT
        if button == "< prev":
            return self._results(self._number)
        if button in _SUB_PAGES:
            self._page, self._sub_page = "sub", _SUB_PAGES[button]
            return sub_page(item, self._sub_page)
        for name, values in item.options.items():
            if button in values:
                self._chosen[name] = button
                return f"You have clicked {button}."
        return INVALID

    def _results(self, number: int) -> str:
        self._page, self._number = "results", number
        return results_page(self._visible(), number, len(self._hits))

    def _visible(self) -> Sequence[str]:
        first = (self._number - 1) * _PER_PAGE
        return self._hits[first : first + (SEEN_BY_REACT if self._react else _PER_PAGE)]

    def _show_item(self, item: Product) -> str:
        self._page, self._item = "item", item
        return item_page(item, self._chosen)


def results_page(asins: Sequence[str], number: int, total: int) -> str:
    """Return a page of results of the embedded shop."""
    products = (catalogue()[asin] for asin in asins)
    return results_text([(one.asin, one.title, f"${one.price:.2f}") for one in products], number, total)


def item_page(product: Product, chosen: Mapping[str, str]) -> str:
    """Return the page of a product with its options."""
    facts = [product.title, f"Price: ${product.price:.2f}", "Rating: N.A."]
    return item_text(product.options, chosen, facts, SUB_PAGES)


def list_sub_page_texts(product: Product, name: str) -> list[str]:
    """Return the texts behind [Description], [Features] or [Reviews]."""
    texts = {"Description": [product.description], "Features": [*product.features], "Reviews": ["No reviews yet."]}
    return texts[name]


def sub_page(product: Product, name: str) -> str:
    """Return the sub-page behind [Description], [Features] or [Reviews]."""
    return sub_text(list_sub_page_texts(product, name))


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
    """Return the ASINs of up to 50 products that share a word with the query, best match first."""
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
