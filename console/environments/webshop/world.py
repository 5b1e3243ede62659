"""The WebShop world: the session of one task, in which the agent's actions open pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console.environments.environment import TaskSpec, has_option
from console.environments.webshop.catalogue import Product, catalogue
from console.environments.webshop.reward import goal_of, reward
from console.environments.webshop.search import search
from console.trajectory.checkpoints import is_thought

INVALID = "Invalid action!"
GO_BACK = "go_back"
"""The browser's back button, which WebShop's site has and its text edition lacks."""
BOUGHT = "\nThank you for shopping with us! \n"
_PER_PAGE = 10
_SEEN_BY_REACT = 3
SUB_PAGES = ("Description", "Features", "Reviews")
_SUB_PAGES = {name.lower(): name for name in SUB_PAGES}


class Shop:
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
        return start_page(self._instruction), self._info()

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
            return start_page(self._instruction)
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
            return start_page(self._instruction)
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
        return self._hits[first : first + (_SEEN_BY_REACT if self._react else _PER_PAGE)]

    def _show_item(self, item: Product) -> str:
        self._page, self._item = "item", item
        return item_page(item, self._chosen)


def start_page(instruction: str) -> str:
    """Return the search page with the user's request."""
    return f"\nWebshop \nInstruction:  \n{instruction} \n[Search] \n"


def results_page(asins: Sequence[str], number: int, total: int) -> str:
    """Return a page of results; as in the original, [< Prev] appears from the second page on, and [Next >] always."""
    lines = ["", "[Back to Search]", f"Page {number} (Total results: {total})"]
    lines += ["[< Prev]"] if number > 1 else []
    lines.append("[Next >]")
    for asin in asins:
        product = catalogue()[asin]
        lines += [f"[{asin}]", product.title, f"${product.price:.2f}"]
    return _text(lines)


def item_page(product: Product, chosen: Mapping[str, str]) -> str:
    """Return the page of an item with its options; chosen options have double brackets."""
    lines = ["", "[Back to Search]", "[< Prev]"]
    lines += [_options(name, values, chosen.get(name)) for name, values in product.options.items()]
    lines += [product.title, f"Price: ${product.price:.2f}", "Rating: N.A."]
    lines += [f"[{name}]" for name in SUB_PAGES]
    return _text([*lines, "[Buy Now]"])


def sub_page(product: Product, name: str) -> str:
    """Return the sub-page behind [Description], [Features] or [Reviews]."""
    texts = {"Description": [product.description], "Features": [*product.features], "Reviews": ["No reviews yet."]}
    return _text(["", "[Back to Search]", "[< Prev]", *texts[name]])


def _options(name: str, values: Sequence[str], chosen: str | None) -> str:
    return f"{name} " + "".join(f"[[{value}]]" if value == chosen else f"[{value}]" for value in values)


def _text(lines: Sequence[str]) -> str:
    return " \n".join(lines).lstrip(" ") + " \n"
