"""The table of ways in, and what the code itself says that there is: routes, pages and commands."""

import json
import os
import re
from pathlib import Path

import typer
import yaml
from fastapi.routing import APIRoute

from console.server import guard
from tests.forking import Forked

HERE = Path(__file__).parent
FILE = HERE / "ways_in.yaml"
TABLE = yaml.safe_load(FILE.read_text())
GROUPS = TABLE["adversaries"]
_ANSWERED_AS_GET = "HEAD"
_MANY = 3


def expected(row, adversary):
    """What the row says of that adversary: its own word, or that of its group."""
    group = next((name for name, members in GROUPS.items() if adversary in members), "")
    return row.get(adversary, row.get(group))


def without_row(found, section):
    """A sentence for each way that the code has and that section of the table does not, and the other way round."""
    known = TABLE[section]
    where = f"{FILE.relative_to(HERE.parents[1])}, {section}"
    new = [f"{way!r} has no row in {where}: say there what each adversary gets." for way in found if way not in known]
    gone = [f"{way!r} in {where} is no way in any more: take the row out." for way in known if way not in found]
    return new + gone


def start_listing(out):
    """A process that prints the routes of the served app into that file."""
    return Forked([], cwd=HERE, env=os.environ, output=out, program=HERE / "programs" / "list_routes.py")


def listed(process, out):
    """What `start_listing` has printed: (methods, path) of each route."""
    assert process.wait(timeout=60) == 0, out.read_text()
    return [(methods, path) for methods, path in json.loads(out.read_text().splitlines()[-1])]


def routes_of(app_routes):
    """The ways of the served app outside the API, with what the guard leaves open below its last route."""
    opened = [f"GET {path}" for path in guard.OPEN]
    opened += [f"GET {path}{{file}}" for path in guard.OPEN_BELOW if path.endswith("/") and path != "/invite/"]
    named = [way for methods, path in app_routes if not path.startswith("/api") for way in _ways(methods, path)]
    posts = [way.partition(" ")[2] for way in named if way.startswith("POST ")]
    opened = [way for way in opened if way.partition(" ")[2] not in posts]
    return list(dict.fromkeys([*named, "GET /participate", *opened]))


def routes_of_api(app_routes, api):
    """The ways of the agents' API, with what stands around it."""
    around = [f"ANY {_plain(path)}" for methods, path in app_routes if path.startswith("/api") and not methods]
    return [*(way for route in _flat(api.routes) for way in _ways(sorted(route.methods), route.path)), *around]


def commands_of(app):
    """Every command of a Typer app as its words."""
    return sorted(_commands(typer.main.get_command(app), ()))


def _commands(command, words):
    if not hasattr(command, "commands"):
        return [" ".join(words)]
    # A group with options of its own is a command too.
    own = [" ".join(words)] if words and command.params else []
    return own + [name for word, below in command.commands.items() for name in _commands(below, (*words, word))]


def _flat(routes):
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from _flat(route.effective_candidates())
        else:
            assert isinstance(route, APIRoute) or hasattr(route, "methods"), route
            yield route


def _ways(methods, path):
    if len(methods) > _MANY:
        methods = ["POST"]
    return [f"{method} {_plain(path)}" for method in methods if method != _ANSWERED_AS_GET]


def _plain(path):
    return re.sub(r":\w+}", "}", path)
