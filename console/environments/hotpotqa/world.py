"""The HotPotQA world: search, look up and answer, with the grammar and wording of ReAct's WikiEnv.

An action runs only if it is exactly one call, so that only an action that matches `Finish[*]` can end a trial.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from console.environments.environment import TaskSpec, World
from console.environments.hotpotqa.corpus import WikiPage
from console.errors import BadInput
from console.trajectory.checkpoints import is_thought, to_storable_text

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_CLOSED = frozenset({"yes", "no", "noanswer"})


def normalise(answer: str) -> str:
    """Return the answer in lower case, without ASCII punctuation, articles and extra blanks."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> bool:
    """Return whether both answers are equal after normalisation (exact match, EM)."""
    return normalise(answer) == normalise(gold)


def lenient_match(answer: str, gold: str) -> bool:
    """Return whether one normalised answer contains the other, as in InferAct's code, or False if either is empty."""
    given, wanted = normalise(answer), normalise(gold)
    return bool(given and wanted) and (given in wanted or wanted in given)


def f1(answer: str, gold: str) -> float:
    """Return the F1 score of shared words, 0 to 1; `yes`, `no` and `noanswer` must match exactly."""
    given, wanted = normalise(answer), normalise(gold)
    if given != wanted and (given in _CLOSED or wanted in _CLOSED):
        return 0.0
    given_words, wanted_words = given.split(), wanted.split()
    shared = sum((Counter(given_words) & Counter(wanted_words)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(given_words), shared / len(wanted_words)
    return 2 * precision * recall / (precision + recall)


STEP_CAP = 6
GO_BACK = "go_back"
"""The browser's back button: return to the previous page and its lookup position."""
_CALL = re.compile(r"(?P<name>[A-Za-z]+)\[(?P<argument>.*)\]", re.DOTALL)
_ECHOED = 300
_START = "Use Search[entity] first."
_GRAMMAR = "Search[entity], Lookup[keyword] or Finish[answer]"


class Pages(Protocol):
    """The pages of a corpus or of a MediaWiki site."""

    def find(self, title: str) -> WikiPage | None:
        """Return the page with this title, or None."""
        ...

    def similar(self, text: str) -> Sequence[str]:
        """Return the titles of pages about the text, the best first."""
        ...


class Encyclopedia(World):
    """The encyclopedia for one question; the option `lenient_em` accepts lenient matches as success."""

    def __init__(self, task: TaskSpec, pages: Pages) -> None:
        self._task, self._pages = task, pages
        self.reset()

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Close every page and return the question; raise BadInput if the step cap is below 1."""
        settings = {**self._task.options, **(options or {})}
        self._step_cap = settings.get("step_cap", STEP_CAP)
        if not isinstance(self._step_cap, int) or self._step_cap < 1:
            raise BadInput(f"step_cap is {self._step_cap!r}. Use a whole number of at least 1.")
        self._lenient = bool(settings.get("lenient_em", False))
        self._steps = 0
        self._page: WikiPage | None = None
        self._keyword, self._shown = "", 0
        self._answer: str | None = None
        self._history: list[tuple[WikiPage | None, str, int]] = []
        return f"Question: {self._task.instruction}\nAnswer it with {_GRAMMAR}.", self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one action and return the observation; for a malformed action the observation is an explanation."""
        if self._answer is None:
            self._steps += 1
            before = self._page, self._keyword, self._shown
            observation = self._run(to_storable_text(action).strip())
            if action.strip() != GO_BACK and not observation.startswith("Invalid action") and not is_thought(action):
                self._history.append(before)
        else:
            observation = "The question has been answered; nothing more can happen."
        info = self._info()
        terminated = self._answer is not None
        truncated = not terminated and self._steps >= self._step_cap
        return observation, float(info.get("score", 0.0)), terminated, truncated, info

    def _run(self, action: str) -> str:
        call = _CALL.fullmatch(action)
        name, argument = (call["name"].lower(), call["argument"].strip()) if call else ("", "")
        if action == GO_BACK:
            return self._go_back(action)
        if name == "finish":
            self._answer = argument
            return "Episode finished."
        if name == "think":
            return "Nice thought."
        if name == "search" and argument:
            return self._search(argument)
        if name == "lookup" and argument:
            return self._lookup(argument)
        return f"Invalid action: {_cut(action)}. Use {_GRAMMAR}."

    def _go_back(self, action: str) -> str:
        if not self._history:
            return f"Invalid action: {action}. This is the first page."
        self._page, self._keyword, self._shown = self._history.pop()
        return self._page.opening if self._page else f"No page is open. {_START}"

    def _search(self, entity: str) -> str:
        self._page = self._pages.find(entity)
        self._keyword, self._shown = "", 0
        if self._page:
            return self._page.opening
        return f"Could not find {_cut(entity)}. Similar: {list(self._pages.similar(_cut(entity)))}."

    def _lookup(self, keyword: str) -> str:
        if not self._page:
            return f"No page is open. {_START}"
        if keyword.lower() != self._keyword:
            self._keyword, self._shown = keyword.lower(), 0
        found = self._page.lookup(keyword)
        if self._shown >= len(found):
            return "No more results."
        self._shown += 1
        return f"(Result {self._shown} / {len(found)}) {found[self._shown - 1]}"

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"steps": self._steps}
        if self._answer is None and self._steps < self._step_cap:
            return info
        given, gold = self._answer or "", str(self._task.gold.get("answer", ""))
        answered = self._answer is not None
        exact, lenient = answered and exact_match(given, gold), answered and lenient_match(given, gold)
        success = lenient if self._lenient else exact
        share = f1(given, gold) if answered else 0.0
        scores = {"success": success, "score": float(success), "em": exact, "lenient_em": lenient, "f1": share}
        return info | scores | {"answer": self._answer}


def _cut(text: str) -> str:
    return text if len(text) <= _ECHOED else text[:_ECHOED] + "..."
