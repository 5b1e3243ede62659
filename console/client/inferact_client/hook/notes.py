"""Notes of the hook about a session: the user's request, and the calls that have begun and have no result yet."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_KEEP_S = 7 * 86_400
_MOST_BYTES = 1_000_000


def state_folder(program: str = "inferact-hook") -> Path:
    """Return the folder for stored data of a program, such as the hook's notes; INFERACT_HOOK_STATE replaces it."""
    own = os.environ.get("INFERACT_HOOK_STATE") if program == "inferact-hook" else None
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / program


def write_privately(path: Path, text: str) -> None:
    """Write a file that only its owner may read, in one step."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)
    Path(name).replace(path)


class Session:
    """The notes of one session of one program."""

    def __init__(self, host: str, session_id: str) -> None:
        self.name = f"{host}:{session_id}"
        digest = hashlib.sha256(self.name.encode("utf-8", "replace")).hexdigest()[:32]
        self._folder = state_folder() / "sessions" / digest

    def start_request(self, prompt: str, transcript: str) -> None:
        """Store the user's request and the length of the transcript before the request."""
        known = self.request
        note = {"task": prompt, "number": known.get("number", -1) + 1, "offset": _size(transcript)}
        write_privately(self._folder / "request.json", json.dumps(note))
        _forget_old(self._folder.parent)

    @property
    def request(self) -> dict[str, Any]:
        """The current request with `task`, `number` and `offset`, or {} if the program reported none."""
        return _read(self._folder / "request.json")

    @property
    def task_id(self) -> str:
        """The id of the task: the session and the number of its request."""
        return f"{self.name}:{self.request.get('number', 0)}"

    def begin(self, keys: list[str], note: Mapping[str, Any]) -> None:
        """Store a call that may run now, under each of its keys."""
        for key in keys:
            write_privately(self._folder / f"{key}.json", json.dumps({**note, "keys": keys}))

    def end(self, keys: list[str]) -> dict[str, Any]:
        """Return and remove the note of a call that has run, or {} if there is none."""
        for key in keys:
            if note := _read(self._folder / f"{key}.json"):
                for other in note.get("keys", [key]):
                    (self._folder / f"{other}.json").unlink(missing_ok=True)
                return note
        return {}

    def read_transcript(self, transcript: str) -> str:
        """Return the transcript's first line and the lines since the current request, at most 1 MB."""
        path, offset = Path(transcript), int(self.request.get("offset") or 0)
        if not transcript or not path.is_file():
            return ""
        with path.open("rb") as file:
            head = file.readline(_MOST_BYTES)
            if not head.endswith(b"\n") or path.suffix == ".json":
                # One document rather than a line for each event.
                file.seek(0)
                whole = file.read(2 * _MOST_BYTES + 1)
                return whole.decode("utf-8", "replace") if len(whole) <= 2 * _MOST_BYTES else ""
            end = path.stat().st_size
            start = max(offset, file.tell(), end - _MOST_BYTES)
            file.seek(start)
            if start not in (offset, len(head)):
                file.readline()
            return (head + file.read(_MOST_BYTES)).decode("utf-8", "replace")


def call_keys(event: Mapping[str, Any], *inputs: object) -> list[str]:
    """Return the keys under which a call is noted: its id if the program gives one, else its name and arguments."""
    if event.get("tool_use_id"):
        return [_key("id", event["tool_use_id"])]
    return list(dict.fromkeys(_key(event.get("tool_name"), given) for given in inputs))


def _key(kind: object, value: object) -> str:
    text = json.dumps([kind, value], sort_keys=True, default=str)
    return f"call-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _size(transcript: str) -> int:
    return Path(transcript).stat().st_size if transcript and Path(transcript).is_file() else 0


def _read(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _forget_old(folder: Path) -> None:
    for session in folder.iterdir():
        if time.time() - session.stat().st_mtime > _KEEP_S:
            shutil.rmtree(session, ignore_errors=True)
