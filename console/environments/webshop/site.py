"""A running WebShop site as a world over HTTP; actions follow the links and forms of its pages.

The pages have the same text as in the embedded edition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin
from uuid import uuid4

from console.environments.environment import TaskSpec, World, WorldUnavailable, has_option
from console.environments.fetching import WebClient
from console.environments.webshop import pages
from console.environments.webshop.world import BOUGHT, GO_BACK, INVALID, SEEN_BY_REACT
from console.errors import BadInput, Refused
from console.trajectory.checkpoints import is_thought

SITE, GOAL = "webshop", "goal"
"""The options of a task with the address of the site and the number of the goal."""


def list_site_tasks(url: str, seed: int, count: int) -> list[TaskSpec]:
    """Return tasks for goals of the site from number `seed` on; raise BadInput if a goal cannot be read."""
    return [_read_task(url, seed + index) for index in range(count)]


def _read_task(url: str, goal: int) -> TaskSpec:
    task = TaskSpec(f"webshop-goal-{goal}", "webshop", "", {}, {SITE: url, GOAL: goal})
    session = ShopSite(task)
    try:
        session.reset()
    except WorldUnavailable as away:
        raise BadInput(f"{url} has no readable goal {goal} ({away}). Check the address, or use fewer tasks.") from away
    finally:
        session.close()
    return TaskSpec(task.task_id, "webshop", session.instruction, {}, task.options)


class ShopSite(World):
    """One session at the site; the task's option `webshop` is its address, and `goal` the number of its goal."""

    def __init__(self, task: TaskSpec) -> None:
        url, self._goal = str(task.options[SITE]), int(task.options[GOAL])
        self._client, self._task = WebClient(url), task
        self._react = has_option("webshop", task.options, "observation", "full", "react")

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin a session for the goal; raise Refused if the site's instruction for the goal has changed."""
        self._score: float | None = None
        self._history: list[str] = []
        # The site takes the goal's number from the last part of the session's name.
        self._open("GET", urljoin(self._client.base, f"fixed_{uuid4().hex}_{self._goal}"))
        self.instruction = pages.read_instruction(self._page)
        if self._task.instruction and self.instruction != self._task.instruction:
            raise Refused(f"The site has changed the instruction of goal {self._goal}. Start a new run.")
        return pages.start_text(self.instruction), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one action; an impossible action returns "Invalid action!" and changes nothing."""
        if self._score is not None:
            return BOUGHT, 0.0, True, False, self._info()
        observation = self._run(action.strip())
        return observation, self._score or 0.0, self._score is not None, False, self._info()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _info(self) -> dict[str, Any]:
        return {"success": self._score == 1.0, "score": self._score or 0.0}

    def _run(self, action: str) -> str:
        if is_thought(action):
            return "OK."
        if action == GO_BACK:
            return self._go_back()
        verb, bracket, argument = action.partition("[")
        if not bracket or not argument.endswith("]") or verb not in ("search", "click"):
            return INVALID
        argument = argument[:-1]
        return self._search(argument) if verb == "search" else self._click(argument.lower())

    def _go_back(self) -> str:
        if not self._history:
            return INVALID
        self._open("GET", self._history.pop())
        return self._read()

    def _search(self, query: str) -> str:
        field = self._page.find("input", id="search_input")
        form = field.find_form() if field else None
        if field is None or form is None:
            return INVALID
        # The site puts the query into an address, in which a slash would be another page.
        asked = {field.attributes.get("name", ""): query.replace("/", " ")}
        return self._follow("POST", form.attributes.get("action", ""), asked)

    def _click(self, button: str) -> str:
        for text, form in pages.list_buttons(self._page).items():
            if text.lower() == button and text != "Search" and not (self._react and text == pages.NEXT):
                return self._follow(form.attributes.get("method", "get").upper(), form.attributes.get("action", ""))
        links = self._page.find_all(css="product-link")[: SEEN_BY_REACT if self._react else None]
        for link in links:
            if link.text.lower() == button:
                return self._follow("GET", link.attributes.get("href", ""))
        for values in pages.list_options(self._page).values():
            if address := values.get(button):
                self._follow("GET", address)
                return f"You have clicked {button}."
        return INVALID

    def _follow(self, method: str, address: str, form: Mapping[str, str] | None = None) -> str:
        before = self._url
        self._open(method, urljoin(before, address), form)
        self._history.append(before)
        return self._read()

    def _open(self, method: str, url: str, form: Mapping[str, str] | None = None) -> None:
        found = self._client.fetch(method, url, form)
        self._url, self._page = found.url, pages.read_html(found.text)

    def _read(self) -> str:
        page = self._page
        self._score = pages.read_score(page)
        if self._score is not None:
            return BOUGHT
        if page.find("input", id="search_input"):
            return pages.start_text(pages.read_instruction(page))
        if found := pages.read_results(page):
            number, total, rows = found
            return pages.results_text(rows[: SEEN_BY_REACT if self._react else None], number, total)
        buttons = list(pages.list_buttons(page))
        if pages.BUY not in buttons:
            return pages.sub_text(pages.list_texts(page))
        others = [name for name in buttons if name not in (pages.BACK, pages.PREVIOUS, pages.BUY)]
        options = {name: list(values) for name, values in pages.list_options(page).items()}
        return pages.item_text(options, pages.read_chosen(self._url), _read_facts(page), others)


def _read_facts(page: pages.Element) -> list[str]:
    """Return the title, price and rating of an item."""
    title = page.find("h2")
    prices = [one.text for one in page.find_all("h4") if one.text.startswith(("Price:", "Rating:"))]
    return [title.text if title else "", *prices]
