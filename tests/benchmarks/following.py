"""How soon a followed session's critical actions are in the queue, while the follower is killed and started again.

`python -m tests.benchmarks.following [SECONDS]` writes a Claude Code session line by line over 60 seconds. Each request
leads to commands, some lines arrive in two halves, and `kill -9` ends `inferact follow` three times, each time at once
after the line of a command. Prints the delay from a whole line to its item in the queue, the items queued twice, and
the actions that are missing.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson

LIMIT_S = 2.0
_BEFORE_KILLS = ("build/1/1", "build/3/0", "build/4/3")
"""The commands after whose lines the follower is killed."""
_COMMAND = "import sys; from console.cli import run_command; sys.exit(run_command(sys.argv[1:]))"
_QUEUED = (
    "SELECT b.body, i.step FROM item i JOIN trajectory t ON t.id = i.trajectory_id "
    "JOIN trajectory_body b ON b.trajectory_id = t.id"
)


def events(requests: int, commands: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield (event, command that it calls or "") of a session in which every request leads to several commands."""
    number = 0

    def event(role: str, content: object) -> dict[str, Any]:
        nonlocal number
        number += 1
        parent = f"u{number - 1}" if number > 1 else None
        message = {"role": role, "content": content, **({"id": f"m{number}"} if role == "assistant" else {})}
        return {"type": role, "sessionId": "s-1", "uuid": f"u{number}", "parentUuid": parent, "message": message}

    for request in range(requests):
        yield event("user", f"Please clean up part {request} of the build folder."), ""
        for one in range(commands):
            command, call = f"rm -r build/{request}/{one}", f"c{request}-{one}"
            used = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
            yield event("assistant", [used]), command
            yield event("user", [{"type": "tool_result", "tool_use_id": call, "content": f"removed {one}"}]), ""
        yield event("assistant", [{"type": "text", "text": f"Part {request} is clean."}]), ""


def queued(database: Path) -> Counter[str]:
    """Return how often each command stands in the queue."""
    found: Counter[str] = Counter()
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as link:
        for body, step in link.execute(_QUEUED):
            action = orjson.loads(body)["steps"][step]["action"]
            found[orjson.loads(action[action.index("{") : action.rindex("}") + 1])["command"]] += 1
    return found


def start(log: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start `inferact follow` on the log, with its data in the folder."""
    command = [sys.executable, "-c", _COMMAND, "follow", str(log), "--run", "r", "--every", "0.25"]
    env = os.environ | {"INFERACT_DATA_DIR": str(folder)}
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)


def main(seconds: str = "60") -> None:
    """Write the session, and print what the queue held and when."""
    told = [*events(6, 4)]
    pause = float(seconds) / len(told)
    ends = {number for number, (_, command) in enumerate(told) if command.endswith(_BEFORE_KILLS)}
    whole_at: dict[str, float] = {}
    seen_at: dict[str, float] = {}
    down: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as place:
        folder, log = Path(place) / "data", Path(place) / "session.jsonl"
        folder.mkdir()
        log.touch()
        process = start(log, folder)
        time.sleep(6)
        for number, (event, command) in enumerate(told):
            line = orjson.dumps(event) + b"\n"
            cut = len(line) // 2 if number % 3 == 0 else 0
            with log.open("ab", buffering=0) as out:
                out.write(line[:cut])
                _watch(folder, pause / 2, seen_at)
                out.write(line[cut:])
            if command:
                whole_at[command] = time.monotonic()
            if number in ends:
                began = time.monotonic()
                process.send_signal(signal.SIGKILL)
                process.wait()
                process = start(log, folder)
                down.append((began, began + 8))
            _watch(folder, pause / 2, seen_at)
        _watch(folder, 10, seen_at)
        process.send_signal(signal.SIGKILL)
        process.wait()
        _print(queued(folder / "console.db"), whole_at, seen_at, down)


def _watch(folder: Path, seconds: float, seen_at: dict[str, float]) -> None:
    until = time.monotonic() + seconds
    while True:
        for command in queued(folder / "console.db"):
            seen_at.setdefault(command, time.monotonic())
        if time.monotonic() >= until:
            return
        time.sleep(0.05)


def _print(
    found: Counter[str],
    whole_at: Mapping[str, float],
    seen_at: Mapping[str, float],
    down: Sequence[tuple[float, float]],
) -> None:
    missing = [one for one in whole_at if one not in seen_at]
    late = {one: seen_at[one] - at for one, at in whole_at.items() if one in seen_at}
    is_restart = {one: any(begin - LIMIT_S <= whole_at[one] <= end for begin, end in down) for one in late}
    steady = sorted(delay for one, delay in late.items() if not is_restart[one])
    restarts = sorted(delay for one, delay in late.items() if is_restart[one])
    print(f"critical actions: {len(whole_at)}, in the queue: {len(seen_at)}, missing: {missing}")
    print(f"queued more than once: {[one for one, count in found.items() if count > 1]}")
    print(f"seconds from line to queue, while it runs: at most {max(steady, default=0):.2f} (limit {LIMIT_S})")
    print(f"around {len(down)} kill -9 and restarts: {len(restarts)} actions, at most {max(restarts, default=0):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
