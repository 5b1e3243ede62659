"""Clients, the MCP gateway and its server killed at random points: what ran without a go-ahead, twice, or unrecorded.

`python tests/benchmarks/crash_mcp.py [--quick]`; the last line is the result as JSON. Eight clients call a bank's tool
through one gateway over HTTP, and a reviewer approves or rejects; a client, the gateway or its server is killed at each
point and starts again. A client that lost its answer calls again with the same arguments. The reviewer rejects a call
that the item's steps show as run before, as a person would. A copy of the gateway that neither begins a call nor keeps
its journal is played the same way (`control_...`); the counts must find what it does wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import yaml
from crash_gate_books import ROOT
from crash_gate_cast import CONSOLE, Player, _listens
from sqlmodel import select

from console import runs
from console.auth import agents
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.trajectory import from_json
from storage import tables
from storage.engine import close
from storage.errors import StorageError
from storage.queue import Claim
from tests.serving import free_port

RUN, CLIENTS, CALLS, POINTS = "mcp", 8, 1_000, 90
QUICK_CALLS, QUICK_POINTS = 48, 9
CONTROL = 64, 32
SECRET, HERE = "a-secret-of-the-gateway", ROOT / "tests" / "doors"
CLIENT_PATH = str(ROOT / "console" / "client")
PAUSE_S = (0.05, 0.6)
NONE = ("<=", 0)
GOALS: dict[str, tuple[str, float]] = {
    "without_go_ahead": NONE,
    "rejected_and_run": NONE,
    "twice": NONE,
    "not_ended": NONE,
    "recorded_twice": NONE,
    "answered_and_unrecorded": NONE,
    "fallen_by_themselves": NONE,
    "control_without_go_ahead": (">=", 1),
    "control_twice": (">=", 1),
    "control_answered_and_unrecorded": (">=", 1),
}
FAULTS = {
    "gateway.py": ("        begun = await self._gate.abegin(decision)\n", "        begun = decision\n"),
    "journal.py": ('        os.write(self._file, f"{line}\\n".encode())\n', ""),
}
"""The lines of the gateway that the control's copy has instead."""


def main() -> None:
    """Print the counts as a table and the result as one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="48 calls, 9 kills")
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of all clients (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=POINTS, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    calls, points = (QUICK_CALLS, QUICK_POINTS) if wanted.quick else (wanted.calls, wanted.kills)
    with tempfile.TemporaryDirectory() as folder:
        figures = crash(Path(folder), calls, points, random.Random(wanted.seed))
    with tempfile.TemporaryDirectory() as folder:
        found = crash(Path(folder), *CONTROL, random.Random(wanted.seed), copy_with_faults(Path(folder)))
    figures |= {f"control_{name}": figure for name, figure in found.items() if name in {"calls", "kills", *GOALS}}
    for name, figure in figures.items():
        print(f"{name:26} {figure}")
    goals = GOALS | {"calls": (">=", calls), "kills": (">=", points), "answered_with_result": (">=", calls // 2)}
    met = all(
        figures[name] >= bound if sign == ">=" else figures[name] <= bound for name, (sign, bound) in goals.items()
    )
    print(json.dumps({"benchmark": "crash_mcp", "figures": figures, "goals": goals, "met": met}))


def copy_with_faults(folder: Path) -> str:
    """Return the path of a copy of the client whose gateway has the control's faults."""
    copy = shutil.copytree(CLIENT_PATH, folder / "client")
    for name, (right, wrong) in FAULTS.items():
        file = copy / "inferact_client" / "mcp_gateway" / name
        text = file.read_text()
        if text.count(right) != 1:
            raise SystemExit(f"{name} has changed, so the control's fault is not in it: {right.strip()}")
        file.write_text(text.replace(right, wrong))
    return str(copy)


def crash(
    folder: Path, calls: int, points: int, chance: random.Random, client_path: str = CLIENT_PATH
) -> dict[str, float]:
    """Play all calls, kill so often meanwhile, and count what came of it."""
    url, port, gateway = f"sqlite:///{folder / 'gate.db'}", free_port(), free_port()
    token = prepare(url)
    environment = {
        "INFERACT_DATABASE_URL": url,
        "INFERACT_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": f"{client_path}{os.pathsep}{ROOT}",
        "INFERACT_MCP_TOKEN": SECRET,
    }
    write_config(folder, port, token)
    # A call takes a moment, so that kills also come between its execution and its answer.
    (folder / "slow").touch()
    serve = [*CONSOLE, "serve", "--port", str(port)]
    code = "import sys; from inferact_client.mcp_gateway.command import main; sys.exit(main(sys.argv[1:]))"
    run_gateway = [sys.executable, "-c", code, "serve", "--config", str(folder / "servers.yaml")]
    run_gateway += ["--http", f"127.0.0.1:{gateway}"]
    players = {
        "console": Player("console", lambda: os.execv(serve[0], serve), environment, folder / "console.out"),
        "gateway": Player(
            "gateway", lambda: os.execv(run_gateway[0], run_gateway), environment, folder / "gateway.out"
        ),
        "reviewer": Player("reviewer", lambda: review(url), environment, folder / "reviewer.out"),
    }
    clients = {
        f"client{number}": Player(
            f"client{number}",
            lambda number=number: call_all(folder, gateway, number, calls // CLIENTS),
            environment,
            folder / f"client{number}.out",
            is_done=(folder / f"client{number}.done").exists,
        )
        for number in range(CLIENTS)
    }
    close(url)
    for player in players.values():
        player.start()
    while not (_listens(port) and _listens(gateway)):
        time.sleep(0.1)
    for player in clients.values():
        player.start()
    killed: Counter[str] = Counter()
    deck: list[str] = []
    until, due = time.monotonic() + calls * 3 + 300, 1.0
    while not all(player.is_done() for player in clients.values()) and time.monotonic() < until:
        time.sleep(chance.uniform(*PAUSE_S))
        for player in [*players.values(), *clients.values()]:
            player.tend()
        # The next kill comes after some answers, so that a slow machine gets on between two kills.
        if killed.total() < points and count_answers(folder) >= due and _listens(gateway):
            deck = deck or chance.sample(["client", "gateway", "server"], 3)
            if kill_one(deck[-1], folder, players["gateway"], clients, chance):
                killed[deck.pop()] += 1
                due = count_answers(folder) + 0.5 * calls / points
    time.sleep(2)
    fallen = [player for player in [*players.values(), *clients.values()] if player.fallen]
    for player in fallen:
        print(f"{player.name} ended by itself:\n{player.log.read_text()[-2_000:]}", file=sys.stderr)
    for player in [*clients.values(), *players.values()]:
        player.kill()
    kills = {f"kills_of_{name}": killed[name] for name in ("client", "gateway", "server")}
    return {"kills": killed.total(), **kills, **books(url, folder, calls), "fallen_by_themselves": len(fallen)}


def kill_one(which: str, folder: Path, gateway: Player, clients: dict[str, Player], chance: random.Random) -> bool:
    """Kill a client, the gateway or its server, and start it again; return whether there was one to kill."""
    if which == "server":
        # The gateway starts its server again by itself.
        pid = folder / "bank.pid"
        if not pid.exists():
            return False
        try:
            os.kill(int(pid.read_text()), signal.SIGKILL)
        except (ProcessLookupError, ValueError):
            return False
        pid.unlink()
        return True
    busy = [player for player in clients.values() if not player.is_done()]
    player = gateway if which == "gateway" or not busy else chance.choice(busy)
    player.kill()
    player.start()
    return True


def count_answers(folder: Path) -> int:
    """How many calls have an answer."""
    return sum(log.read_bytes().count(b"\n") for log in folder.glob("client*.jsonl"))


def prepare(url: str) -> str:
    """Create the run with its policy, and return the token of the gateway's agent."""
    Gate(RUN, "random", [], undo_s=0, budget=1_000_000, url=url).open()
    with writing(url) as session:
        policy_store.save(session, runs.get(session, RUN), "undo: 0\ndefault: ask\n", "ada", now_ms())
        return agents.add(session, "gateway", now_ms())


def write_config(folder: Path, port: int, token: str) -> None:
    """Write the gateway's file: one server, the bank, and a short hold so that clients come back."""
    console = {"url": f"http://127.0.0.1:{port}", "token": token, "run": RUN}
    bank = {"command": sys.executable, "args": [str(HERE / "bank_server.py"), str(folder)]}
    document = {"console": console, "servers": {"bank": bank}, "hold_s": 2, "journal": str(folder / "journal")}
    (folder / "servers.yaml").write_text(yaml.safe_dump(document))


def call_all(folder: Path, gateway: int, number: int, calls: int) -> None:
    """Make all calls of a client, each until it has an answer; a new process goes on after the last answer."""
    sys.path.insert(0, CLIENT_PATH)
    log = folder / f"client{number}.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    answered = {json.loads(line)["amount"] for line in lines if line.endswith("}")}
    for call in range(calls):
        amount = number * 10_000 + call
        if amount not in answered:
            answer = asyncio.run(call_until_answered(gateway, number, amount))
            with log.open("a") as file:
                file.write(json.dumps({"amount": amount, "answer": answer}) + "\n")
    (folder / f"client{number}.done").touch()


async def call_until_answered(gateway: int, number: int, amount: int) -> str:
    """Call the tool until the answer is neither lost nor "still waiting"."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    address, headers = f"http://127.0.0.1:{gateway}/mcp", {"Authorization": f"Bearer {SECRET}"}
    meta: Any = {"inferact/task": {"id": f"task {number}", "text": "Pay what is due."}}
    while True:
        try:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                while True:
                    result = await client.call_tool("transfer", {"to": "ada", "amount": amount}, meta=meta)
                    text = " ".join(part.text for part in result.content)
                    if "Still waiting" not in text:
                        return text
        except Exception:
            # The gateway is gone; it starts again.
            await asyncio.sleep(0.2)


def answer_to(amount: int) -> str:
    """What the reviewer says about a payment, by its number alone."""
    return "reject" if zlib.crc32(str(amount).encode()) % 4 == 0 else "approve"


def review(url: str) -> None:
    """Decide one item after the other; a payment that its steps show already is rejected."""
    queue = review_queue(url)
    while True:
        with reading(url) as session:
            run = runs.get(session, RUN)
            session.expunge(run)
            claim = decisions.claim_next_item(queue, session, run, "rita", now_ms())
        if not isinstance(claim, Claim):
            time.sleep(0.02)
            continue
        with reading(url) as session:
            item = session.get_one(tables.Item, claim.item_id)
            record = from_json(session.get_one(tables.TrajectoryBody, item.trajectory_id).body)
        pending = decisions.pending_action(claim)
        said = answer_to(amount_of(pending))
        if any(str(step.action) == pending for step in record.steps):
            said = "reject"
        try:
            decisions.submit(queue, run, claim, "rita", decisions.ReviewDecision(said, "No."), now_ms())
        except StorageError as refused:
            print(f"reviewer: {refused}", file=sys.stderr)


def amount_of(action: str) -> int:
    """The number of a payment."""
    return int(json.loads(action[action.index("(") + 1 : -1])["amount"])


def books(url: str, folder: Path, calls: int) -> dict[str, float]:
    """Hold what the bank and the clients noted against the console's tables."""
    ran = [json.loads(line) for line in (folder / "executed.jsonl").read_text().splitlines()]
    answers = {}
    for log in folder.glob("client*.jsonl"):
        answers |= {said["amount"]: said["answer"] for said in map(json.loads, log.read_text().splitlines())}
    with reading(url) as session:
        intents = session.exec(select(tables.Intent)).all()
        bodies = session.exec(select(tables.TrajectoryBody.body)).all()
    begun: dict[int, list[tables.Intent]] = {}
    for intent in intents:
        begun.setdefault(amount_of(intent.action), []).append(intent)
    times = Counter(line["amount"] for line in ran)
    paid = [amount for amount, answer in answers.items() if f"Sent {amount} to" in answer]
    without = [
        line for line in ran if not any(one.started_ms <= line["at_ms"] for one in begun.get(line["amount"], ()))
    ]
    return {
        "calls": len(answers),
        "executed": len(times),
        "answered_with_result": len(paid),
        "rejected": sum("rejected" in answer for answer in answers.values()),
        "unknown": sum("has begun before" in answer or "may have run" in answer for answer in answers.values()),
        "without_go_ahead": len(without),
        "rejected_and_run": sum(answer_to(amount) == "reject" for amount in times),
        "twice": sum(times.values()) - len(times),
        "not_ended": calls - len(answers),
        "recorded_twice": count_repeats(bodies),
        "answered_and_unrecorded": sum(not any(one.finished_ms for one in begun.get(amount, ())) for amount in paid),
    }


def count_repeats(bodies: Any) -> int:
    """How many results of one trajectory are recorded for a call more than once."""
    found = 0
    for body in bodies:
        own = Counter(str(step.action) for step in from_json(body).steps)
        found += sum(count > 1 for count in own.values())
    return found


if __name__ == "__main__":
    main()
