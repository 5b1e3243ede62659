"""Expert runs of ALFWorld, one JSON object per run: the game file, and actions with their observations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import orjson

from console.errors import UnreadableFile
from console.runs.importers.parts.intake import plain_list
from console.runs.importers.parts.json_records import Record, objects, read_required_list
from console.runs.importers.records import Entry, Found, Importer, Progress, with_critical_action
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.messages import content_text
from console.trajectory.strict_yaml import read_data

_NAME = "alfworld-expert"
_MARKS = ((".expert_traj", ".gamefile"), (".expert_traj[].action",))
_SENTENCES = read_data(files(__package__) / "alfworld_expert.yaml", dict[str, str])
_SUFFIX = re.compile(r"___\d+\s*$")
_TASK = "Your task is to:"


def read(path: Path, progress: Progress | None = None) -> Iterator[Entry]:
    """Yield the runs, with task sentences from the neighbouring file alfworld_tasks_suffix.json or the game's name."""
    goals = _goals(path.with_name("alfworld_tasks_suffix.json"))
    for record in objects(path, progress, *_MARKS):
        yield Found(record.line, with_critical_action(_trajectory(path, record, goals)))


def _trajectory(path: Path, record: Record, goals: Mapping[str, str]) -> Trajectory:
    entries = read_required_list(record, path, "expert_traj")
    if not all(isinstance(entry, dict) and "action" in entry for entry in entries):
        reason = "An entry of expert_traj is not an object with an action. Export the log again."
        raise UnreadableFile(str(path), reason, record.line)
    steps = tuple(
        Step(action=content_text(e.get("action")), observation=content_text(e.get("observation"))) for e in entries
    )
    game = game_of(record.value.get("gamefile")) or f"line-{record.line}"
    opening, _, task = goals.get(game, "").rpartition(_TASK)
    source = {"file": path.name, "line": record.line, "format": _NAME}
    if "env_name" in record.value:
        source["env_name"] = record.value["env_name"]
    return Trajectory(
        task_id=game,
        environment="alfworld",
        instruction=_SUFFIX.sub("", task).strip() or _sentence(game),
        steps=steps,
        outcome=Outcome.FINISHED if steps else Outcome.ERROR,
        source=source,
        extra=record.notes,
        opening=opening.strip(),
    )


def game_of(gamefile: object) -> str:
    """Return the last two folders of a game's path (task and trial), or "" if the path has fewer."""
    first = gamefile[0] if isinstance(gamefile, list) and gamefile else gamefile
    folders = [part for part in first.split("/")[:-1] if part] if isinstance(first, str) else []
    return "/".join(folders[-2:])


def _goals(companion: Path) -> dict[str, str]:
    try:
        entries = orjson.loads(companion.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    tasks = [entry for entry in plain_list(entries) if isinstance(entry, dict) and isinstance(entry.get("goal"), str)]
    return {game_of(task.get("gamefile")): task["goal"] for task in tasks}


def _sentence(game: str) -> str:
    """Return a task sentence from a task folder's name, such as `pick_two_obj_and_place-CD-None-Safe-308`."""
    kind, *names = game.partition("/")[0].split("-")
    if len(names) < 3 or kind not in _SENTENCES:
        return game
    thing, holder, place = (name.lower() for name in names[:3])
    return _SENTENCES[kind].format(thing=thing, holder=holder, place=place)


IMPORTER = Importer(_NAME, "ALFWorld expert runs", read, _MARKS)
