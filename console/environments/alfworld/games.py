"""ALFWorld's own games as worlds, through the optional packages `alfworld` and `textworld`.

Older games say "put THING in/on PLACE", newer games "move THING to PLACE". The agent may use either wording, and
observations use the newer wording. The packages are not thread-safe, so all games share one lock.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import orjson

from console.environments.alfworld.household import NOTHING_HAPPENS
from console.environments.alfworld.rules import THOUGHT_NOTED
from console.environments.environment import TaskSpec, World, has_option
from console.errors import BadInput, UnreadableFile
from console.trajectory.checkpoints import is_thought

GAME = "game"
"""The task option with the path of the game file."""
_FILE, _ABOUT = "game.tw-pddl", "traj_data.json"
_WELCOME = "-= Welcome to TextWorld, ALFRED! =-\n\n"
_TASK = re.compile(r"Your task is to: (.+?)\"", re.DOTALL)
_UNPLAYED = ("movable", "Sliced")
"""Words in the paths of games that ALFWorld's own reader omits."""
_ARRIVAL = re.compile(r"^You arrive at loc \d+\. ")
_MOVE, _PUT = re.compile(r"move (.+) to (.+)"), re.compile(r"put (.+) in/on (.+)")
_WAS_PUT = re.compile(r"^You put the (.+) in/on the (.+)\.$")
_LOCK = threading.Lock()


def list_game_tasks(folder: str, seed: int, count: int) -> list[TaskSpec]:
    """Return tasks of the games below a folder, in an order drawn by the seed; raise BadInput if there are too few."""
    root = Path(folder).expanduser().absolute()
    games = sorted(path for path in root.rglob(_FILE) if not any(word in str(path) for word in _UNPLAYED))
    Random(seed).shuffle(games)
    tasks: list[TaskSpec] = []
    for game in games:
        if len(tasks) == count:
            break
        if (task := _read_task(root, game)) is not None:
            tasks.append(task)
    if len(tasks) < count:
        raise BadInput(f"{folder} has {len(tasks)} solvable ALFWorld games. Use --tasks {len(tasks)} or fewer.")
    return tasks


def _read_task(root: Path, game: Path) -> TaskSpec | None:
    try:
        found, about = orjson.loads(game.read_bytes()), orjson.loads((game.parent / _ABOUT).read_bytes())
        asked, kinds = _TASK.search(found["grammar"]), about["pddl_params"]
        task_type, thing = str(about["task_type"]), str(kinds["object_target"]).lower()
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as broken:
        raise UnreadableFile(str(game), f"this is not an ALFWorld game ({broken!r}). Remove the file") from broken
    if not found.get("solvable") or asked is None:
        return None
    place = str(kinds.get("toggle_target") or kinds.get("parent_target") or "").lower()
    gold = {"type": task_type, "thing": thing, "receptacle": place}
    key = str(game.parent.relative_to(root))
    return TaskSpec(key, "alfworld", asked[1].strip(), gold, {GAME: str(game), "type": task_type})


class GameWorld(World):
    """The world of one game; a trial succeeds only if the game is won."""

    def __init__(self, task: TaskSpec) -> None:
        if has_option("ALFWorld", task.options, "errors", "plain", "fine"):
            raise BadInput("ALFWorld's own games have no fine errors. Leave out --fine-errors.")
        self._path, self._won = str(task.options[GAME]), False
        self._game: Any = None

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start the game; raise BadInput if a package is missing, and UnreadableFile if the game file is missing."""
        if not Path(self._path).is_file():
            raise UnreadableFile(self._path, "the game of this task is missing. Restore the file")
        self.close()
        with _LOCK:
            self._game = _start(self._path)
            state = self._game.reset()
        self._won = False
        self._is_old = any(" in/on " in one for one in state["command_templates"])
        return str(state["feedback"]).removeprefix(_WELCOME), self._info()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one command, translated to the game's wording."""
        if self._won or self._game is None:
            return NOTHING_HAPPENS, 0.0, self._won, False, self._info()
        if is_thought(action):
            return THOUGHT_NOTED, 0.0, False, False, self._info()
        with _LOCK:
            state, _, _ = self._game.step(_reword(action.strip(), self._is_old))
        self._won = bool(state["won"])
        told = _WAS_PUT.sub(r"You move the \1 to the \2.", _ARRIVAL.sub("", str(state["feedback"])))
        return told, float(self._won), self._won, False, self._info()

    def close(self) -> None:
        """End the game."""
        game, self._game = self._game, None
        if game is not None:
            with _LOCK:
                game.close()

    def _info(self) -> dict[str, Any]:
        return {"success": self._won, "score": float(self._won)}


def _reword(action: str, is_old: bool) -> str:
    found = (_MOVE if is_old else _PUT).fullmatch(action)
    if found is None:
        return action
    return f"put {found[1]} in/on {found[2]}" if is_old else f"move {found[1]} to {found[2]}"


def _start(path: str) -> Any:
    # Without this variable, an import of alfworld makes a folder in the home directory.
    os.environ.setdefault("ALFWORLD_DATA", str(Path(path).parent))
    try:
        textworld = import_module("textworld")
        demangler = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler
    except ImportError as missing:
        raise BadInput(
            "ALFWorld's own games need alfworld and textworld. Install make and g++, then run: "
            "pip install 'inferact-console[alfworld]'"
        ) from missing
    wanted = textworld.EnvInfos(won=True, command_templates=True)
    return textworld.start(path, wanted, wrappers=[demangler()])
