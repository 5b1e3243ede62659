"""Real worlds by source. A task stores the source in its options, so that a run can start the world again.

`webshop=URL` is a running WebShop site, `hotpotqa=FILE` a file of questions, `alfworld=FOLDER` a folder of ALFWorld's
games, and `browser=FOLDER` a folder of web pages. With `hotpotqa=FILE@URL`, the pages come from the MediaWiki site
whose api.php is below this URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from console.environments import ENVIRONMENTS
from console.environments.alfworld.games import list_game_tasks
from console.environments.browser.world import list_page_tasks, read_page_tasks
from console.environments.environment import Environment, TaskSpec
from console.environments.hotpotqa.corpus import WIKI
from console.environments.hotpotqa.tasks import tasks_from_file
from console.environments.webshop.site import list_site_tasks
from console.errors import BadInput

Source = Callable[[str, int, int], Sequence[TaskSpec]]
"""A function from a source, a seed and a count to tasks."""


def _take_questions(source: str, seed: int, count: int) -> Sequence[TaskSpec]:
    path, _, rest = source.partition("@http")
    found = tasks_from_file(path)
    if count > len(found):
        raise BadInput(f"{path} has {len(found)} questions. Use --tasks {len(found)} or fewer.")
    pages = {WIKI: f"http{rest}"} if rest else {}
    return [replace(one, options=pages or one.options) for one in found[:count]]


SOURCES: Mapping[str, Source] = {
    "webshop": list_site_tasks,
    "hotpotqa": _take_questions,
    "alfworld": list_game_tasks,
    "browser": list_page_tasks,
}
"""The function that reads a source, by environment."""


def with_source(environment: Environment, source: str) -> Environment:
    """Return the environment with the tasks of this source; raise BadInput if it has only embedded tasks."""
    take = SOURCES.get(environment.name)
    if take is None:
        raise BadInput(f"{environment.title} has no other source. Name a source of {', '.join(SOURCES)}.")
    named = read_page_tasks(source).critical if environment.name == "browser" else ()
    critical = (*environment.critical, *named)
    return replace(environment, critical=critical, tasks=lambda seed, count: take(source, seed, count))


def parse_sources(texts: Sequence[str]) -> dict[str, Environment]:
    """Parse ENVIRONMENT=SOURCE texts and return the environments by name; raise BadInput if a text has another form."""
    found = {}
    for text in texts:
        name, equals, source = text.partition("=")
        if not equals or not source or name not in ENVIRONMENTS:
            raise BadInput(f"{text!r} is not a source. Use ENVIRONMENT=SOURCE, such as webshop=http://localhost:3000.")
        found[name] = with_source(ENVIRONMENTS[name], source)
    return found
