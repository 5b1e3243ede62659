"""Faults around a served console: full disk, read-only disk, half-sent bodies, dropped sessions, an endless trajectory.

`python tests/benchmarks/faults.py`; the last line is the result as JSON. Each fault must be answered by one sentence,
and what was acknowledged before it must be there after it. The disk is a small tmpfs, which only root can mount;
without root these two are left out. `tests/storage/test_histories.py` cuts the connections to PostgreSQL.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mutations import CHECK, fault_of

from console.trajectory import Step, Trajectory
from storage.check import check
from storage.engine import close
from tests.at_home import at_home
from tests.benchmarks.measure import processor_s
from tests.serving import Server, serving
from tests.signing_in import signed_in

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "the-token-of-the-settings"
MEGABYTES, HALF_SENT, SESSIONS, STEPS = 24, 60, 1_000, 10_000
ANSWER_S, IMPORT_S, GROWTH_MB = 3.0, 60.0, 100.0


def main() -> None:
    """Causes each fault, prints, ends with one line of JSON."""
    figures: dict[str, float] = {}
    if os.geteuid() == 0:
        with small_disk() as folder:
            with console(folder / "data") as server:
                figures |= full_disk(server, folder)
                figures["problems after the disk"] = problems(server)
            figures |= read_only(folder)
    with tempfile.TemporaryDirectory() as folder, console(Path(folder) / "data") as server:
        figures |= half_sent(server) | dropped(server) | endless(server, Path(folder))
        figures["problems"] = problems(server)
        figures["tracebacks"] = server.said().count("Traceback")
    least = {"refused when full": 1, "refused when read-only": 1}
    most = {"answer beside half-sent bodies (s)": ANSWER_S, "answer after dropped sessions (s)": ANSWER_S}
    most |= {"import of 10,000 steps (s)": IMPORT_S, "growth by dropped sessions (MB)": GROWTH_MB}
    goals = {name: (">=", least[name]) if name in least else ("<=", most.get(name, 0)) for name in figures}
    met = {name: n >= goals[name][1] if name in least else n <= goals[name][1] for name, n in figures.items()}
    for name, n in figures.items():
        print(f"{name:<36}{n:>9.2f}   {goals[name][0]} {goals[name][1]}{'' if met[name] else '   MISSED'}")
    print(json.dumps({"benchmark": "faults", "figures": figures, "goals": goals, "met": all(met.values())}))


@contextmanager
def small_disk() -> Iterator[Path]:
    """A disk in memory of a few megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "none", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def console(data: Path):
    """A served console whose agent may ask as often as it likes."""
    limits = {"INFERACT_AGENT_WAITING": "100000", "INFERACT_AGENT_RUNS": "100000", "INFERACT_API_TOKEN": TOKEN}
    return serving(data, **limits)


def problems(server: Server) -> int:
    """How many problems the database has."""
    url = f"sqlite:///{server.data / 'console.db'}"
    found = check(url)
    close(url)
    return len(found)


def ask(server: Server, number: int):
    """One check that waits for a person."""
    asked = CHECK | {"task_id": f"t{number}", "run": "bot", "detector": "full-validation"}
    del asked["transcript"], asked["budget"]
    return server.client.post("/checks", json=asked | {"task": "pay " + "x" * 20_000})


def refused_and_lost(server: Server, first: int, count: int) -> tuple[int, int, list[str]]:
    """How many of the checks were refused, how many refusals are no sentence, and the ids of those acknowledged."""
    refused, amiss, kept = 0, 0, []
    for number in range(first, first + count):
        said = ask(server, number)
        if said.status_code == 202:
            kept.append(said.json()["check_id"])
        else:
            refused += 1
            amiss += said.status_code != 503 or fault_of(said.json().get("error")) is not None
    return refused, amiss, kept


def lost(server: Server, kept: list[str]) -> int:
    """How many of the acknowledged checks are unknown."""
    return sum(server.client.get(f"/checks/{name}").status_code != 202 for name in kept)


def full_disk(server: Server, folder: Path) -> dict[str, float]:
    """Checks until the disk is full and beyond, then again with some space."""
    before = refused_and_lost(server, 0, 10)
    ballast = folder / "ballast"
    with ballast.open("wb") as file, suppress(OSError):
        while True:
            file.write(b"x" * 2**16)
            file.flush()
    during = refused_and_lost(server, 100, 30)
    ballast.unlink()
    after = refused_and_lost(server, 200, 10)
    kept = before[2] + during[2] + after[2]
    return {
        "refused when full": during[0],
        "refusals amiss when full": before[1] + during[1] + after[0],
        "lost when full": lost(server, kept),
    }


def read_only(folder: Path) -> dict[str, float]:
    """Commands on a disk that cannot be written: how many are refused, how many not by a sentence."""
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    environment = os.environ | {"INFERACT_DATA_DIR": str(folder / "data"), "PYTHONPATH": str(ROOT)}
    refused, amiss = 0, 0
    for words in ("worker --once", "run list", "db head", "agent add late", "db backup copy.db"):
        command = [sys.executable, "-m", "console.cli", *words.split()]
        said = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        refused += said.returncode != 0
        amiss += "Traceback" in said.stderr or (said.returncode != 0 and fault_of(said.stderr.strip()) is not None)
        print(f"{words}: {said.returncode} {said.stderr.strip()[-200:]}")
    subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
    return {"refused when read-only": refused, "refusals amiss when read-only": amiss}


def half_sent(server: Server) -> dict[str, float]:
    """The longest of ten answers beside connections that send half a body and rest."""
    head = f"POST /api/v1/checks HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 9000\r\n"
    head += f"Authorization: {server.client.headers['Authorization']}\r\n\r\n" + "{" + '"run"'
    open_ones = []
    for _ in range(HALF_SENT):
        one = socket.create_connection(("127.0.0.1", server.port))
        one.sendall(head.encode())
        open_ones.append(one)
    longest, amiss = 0.0, 0
    for number in range(10):
        started = time.monotonic()
        amiss += ask(server, 1_000 + number).status_code != 202
        longest = max(longest, time.monotonic() - started)
    for one in open_ones:
        one.close()
    return {"answer beside half-sent bodies (s)": longest, "refused beside half-sent bodies": amiss}


def dropped(server: Server) -> dict[str, float]:
    """What a thousand pages that are opened and dropped leave behind."""
    with at_home(server.data):
        cookie = f"inferact_{server.port}={signed_in()}"
    host = f"127.0.0.1:{server.port}"
    headers = {"Host": host, "Origin": f"http://{host}", "Cookie": cookie}
    before = memory_mb(server)
    for number in range(SESSIONS):
        one = socket.create_connection(("127.0.0.1", server.port))
        lines = [f"{name}: {value}" for name, value in headers.items()]
        one.sendall(
            "\r\n".join(
                (
                    "GET /_stcore/stream HTTP/1.1",
                    *lines,
                    "Upgrade: websocket",
                    "Connection: Upgrade",
                    "Sec-WebSocket-Version: 13",
                    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
                    "Sec-WebSocket-Protocol: streamlit\r\n\r\n",
                )
            ).encode()
        )
        if number % 2:
            one.recv(100)
        one.close()
    time.sleep(3)
    started = time.monotonic()
    amiss = ask(server, 2_000).status_code != 202
    took = time.monotonic() - started
    return {
        "answer after dropped sessions (s)": took,
        "refused after dropped sessions": amiss,
        "growth by dropped sessions (MB)": memory_mb(server) - before,
    }


def memory_mb(server: Server) -> float:
    """The memory of the server's process."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def endless(server: Server, folder: Path) -> dict[str, float]:
    """The import of a trajectory of ten thousand steps, and a check with as many steps before it."""
    steps = tuple(Step(f"thought {n}", f"click[item {n}]", f"seen {n}") for n in range(STEPS))
    record = Trajectory("endless", "generic", "buy", (*steps, Step("done", "click[Buy Now]", "bought")))
    with server.client_with(TOKEN) as operator:
        started, spent = time.monotonic(), processor_s(server.process.pid)
        said = operator.post("/trajectories?run=endless", content=record.to_json() + "\n", timeout=120)
        took = time.monotonic() - started
        spent = processor_s(server.process.pid) - spent
    before = [{"thought": "t", "action": f"find[{n}]", "observation": "seen"} for n in range(STEPS)]
    asked = {"run": "bot", "task": "t", "action": "pay", "steps": before}
    answer = server.client.post("/checks", json=asked, timeout=120)
    is_sentence = answer.status_code < 400 or (answer.status_code < 500 and not fault_of(answer.json()["error"]))
    return {
        "import of 10,000 steps (s)": min(took, spent) if spent else took,
        "10,000 steps not imported": int(said.status_code != 200 or said.json()["imported"] != 1),
        "10,000 steps amiss": int(not is_sentence),
    }


if __name__ == "__main__":
    main()
