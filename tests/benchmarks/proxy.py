"""Two consoles and two workers on one PostgreSQL database behind nginx: each is killed in turn, and nothing is lost.

`python tests/benchmarks/proxy.py [--nginx PATH] [--rounds N]`; the last line is the result as JSON. nginx has the
configuration of the operator's chapter. Agents submit, wait, begin and report through nginx while a reviewer decides.
An action whose `begin` got no answer is unknown: its agent must not run it, and asks a person. A killed process is
started again, as systemd does; a webhook that it had claimed is due again after a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import httpx

from console.auth import agents
from console.database import now_ms, reading, review_queue, writing
from console.review import decisions
from console.runs import get, workers
from console.settings import settings
from storage.check import check
from storage.queue import Claim
from tests import postgres
from tests.receiver import Receiver, receiving
from tests.serving import free_port

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE, RUN, HELD_S = 8, "bot", 60
ENDS = ("done", "unknown")
SECRET = "the-secret-of-the-receiver"
ASKED = {"run": RUN, "task": "pay", "action": {"name": "pay", "arguments": {"n": 1}}, "detector": "full-validation"}


def main() -> None:
    """Starts all, kills each console and each worker, prints, ends with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nginx", default=shutil.which("nginx") or "nginx")
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = postgres.make_folder()
        if server is not None:
            stack.callback(postgres.stop, server)
        url = stack.enter_context(postgres.database())
        os.environ |= {"INFERACT_DATABASE_URL": url, "INFERACT_DATA_DIR": folder, "PYTHONPATH": str(ROOT)}
        told = stack.enter_context(receiving())
        os.environ |= {"INFERACT_WEBHOOK_URL": told.url, "INFERACT_WEBHOOK_SECRET": SECRET}
        settings.cache_clear()
        figures = play(Path(folder), given.nginx, given.rounds, stack)
        figures |= webhooks(told, figures["done"] + figures["unknown"])
        figures["database_problems"] = len(check(url))
    exact = dict.fromkeys(("failed", "twice", "database_problems", "webhooks_missing"), 0)
    exact |= {"workers_left": 2, "sessions_kept": 1}
    goals = {name: ("==", n) for name, n in exact.items()} | {"unknown": ("<=", 2 * given.rounds * AT_ONCE)}
    for name, n in figures.items():
        print(f"{name:<22}{n}")
    met = all(figures[name] == goal for name, goal in exact.items()) and figures["unknown"] <= goals["unknown"][1]
    print(json.dumps({"benchmark": "proxy", "figures": figures, "goals": goals, "met": met}))


def play(folder: Path, nginx: str, rounds: int, stack: ExitStack) -> dict[str, float]:
    """What became of the checks while each console and each worker was killed."""
    front, back = free_port(), free_port()
    public = f"http://127.0.0.1:{front}"
    with writing() as session:
        token = agents.add(session, "bot", now_ms())
    hosts = ("127.0.0.1", "127.0.0.2")
    ready = [f"http://{host}:{back}/api/v1/ready" for host in hosts]
    own = ("--port", str(back), "--public-url", public, "--invite", "Ada")
    commands = [("serve", "--host", host, *own) for host in hosts] + [("worker", "--every", "0.2")] * 2
    running = [start(stack, folder, *words) for words in commands]
    configure(stack, folder, nginx, front, back)
    client = httpx.Client(base_url=public, headers={"Authorization": f"Bearer {token}"}, timeout=90, trust_env=False)
    stack.enter_context(client)
    await_ready(ready, public)
    browser = sign_in(stack, running[0][1], public)
    over, ended = threading.Event(), threading.Event()
    reviewer = threading.Thread(target=review, args=(ended,), daemon=True)
    reviewer.start()
    begun: list[str] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        agents_at_work = [pool.submit(play_agent, client, n, begun, over) for n in range(AT_ONCE)]
        for victim in (0, 2, 1, 3) * rounds:
            time.sleep(random.uniform(1, 2))
            running[victim][0].send_signal(signal.SIGKILL)
            time.sleep(2)
            running[victim] = start(stack, folder, *commands[victim])
            await_ready(ready, public)
        over.set()
        found = sum((one.result() for one in agents_at_work), Counter())
    checks = found.total()
    print(*(f"{name:<22}{n}" for name, n in found.items() if name not in ENDS), sep="\n")
    ended.set()
    reviewer.join()
    with reading() as session:
        alive = [one for one in workers.list_workers(session, now_ms()) if one.status == "working"]
    kept = browser.get("/whoami")
    return {name: found[name] for name in ENDS} | {
        "failed": checks - found["done"] - found["unknown"],
        "twice": len(begun) - len({*begun}),
        "workers_left": len(alive),
        "sessions_kept": int(kept.status_code == 200 and "Ada" in kept.text),
    }


def webhooks(told: Receiver, checks: int) -> dict[str, int]:
    """Webhooks that did not arrive within the minute after which a killed sender's are due again, and doubled ones."""
    until = time.monotonic() + HELD_S + 30
    while len(arrived := Counter(json.loads(body)["data"]["check_id"] for _, _, body in told.got)) < checks:
        if time.monotonic() > until:
            break
        time.sleep(1)
    return {"webhooks_missing": checks - len(arrived), "webhooks_again": arrived.total() - len(arrived)}


def start(stack: ExitStack, folder: Path, *words: str) -> tuple[subprocess.Popen, Path]:
    """A command of the console as a process of its own, and the file that it writes to."""
    out = folder / f"{'-'.join(words[:3]).replace('/', '')}-{time.time_ns()}.out"
    with out.open("wb") as file:
        command = [sys.executable, "-m", "console.cli", *words]
        process = subprocess.Popen(command, cwd=folder, stdout=file, stderr=subprocess.STDOUT)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process, out


def configure(stack: ExitStack, folder: Path, nginx: str, front: int, back: int) -> None:
    """Starts nginx with the handbook's configuration, its ports replaced."""
    chapter = (ROOT / "console" / "web" / "handbook" / "operator.md").read_text()
    text = re.search(r"^```nginx\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL)[1]
    text = text.replace(":8501", f":{back}").replace("listen 8080", f"listen 127.0.0.1:{front}")
    paths = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; "
    user = "user root; " if os.geteuid() == 0 else ""
    path = folder / "nginx.conf"
    path.write_text(f"{user}{head}events {{}} http {{ access_log off; {paths} {text} }}")
    process = subprocess.Popen([nginx, "-p", folder, "-c", path], stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.terminate)


def await_ready(addresses: list[str], public: str) -> None:
    """Waits until every console takes requests."""
    until = time.monotonic() + 120
    for address in addresses:
        while time.monotonic() < until:
            with suppress(httpx.HTTPError):
                if httpx.get(address, headers={"Host": public.partition("//")[2]}, trust_env=False).status_code == 200:
                    break
            time.sleep(0.2)
        else:
            raise SystemExit(f"{address} did not become ready")


def sign_in(stack: ExitStack, out: Path, public: str) -> httpx.Client:
    """Ada's browser, signed in through nginx by the link that a console printed."""
    link = re.search(r"Your link +(\S+)", out.read_text())[1]
    browser = stack.enter_context(httpx.Client(base_url=public, follow_redirects=True, trust_env=False, timeout=60))
    browser.get(link)
    said = browser.post(link, headers={"Origin": public}, data={"name": "Ada"})
    said.raise_for_status()
    return browser


def review(over: threading.Event) -> None:
    """Approves whatever is pending until told to stop."""
    queue = review_queue()
    while not over.wait(0.05):
        with reading() as session, suppress(Exception):
            run = get(session, RUN)
            session.expunge(run)
            run.undo_ms = 0
            while isinstance(claim := decisions.claim_next_item(queue, session, run, "rita", now_ms()), Claim):
                decisions.submit(queue, run, claim, "rita", decisions.ReviewDecision("approve", ""), now_ms())


def play_agent(client: httpx.Client, number: int, begun: list[str], over: threading.Event) -> Counter[str]:
    """One action after the other until told to stop; counts how they ended."""
    found, turns = Counter[str](), count()
    while not over.is_set():
        found[one_check(client, f"t{number}-{next(turns)}", begun)] += 1
    return found


def one_check(client: httpx.Client, task: str, begun: list[str]) -> str:
    """One action from its check to its result; an agent sends again what was not answered."""
    asked = ASKED | {"task_id": task, "undo_s": 0}
    said = again(lambda: client.post("/api/v1/checks", json=asked))
    name = said["check_id"]
    while said["status"] == "waiting":
        said = again(lambda: client.get(f"/api/v1/checks/{name}", params={"wait": "20"}))
    if not said["decision"]["approved"]:
        return said["decision"]["reason"]
    try:
        started = client.post(f"/api/v1/checks/{name}/begin")
    except httpx.HTTPError:
        return "unknown"
    if started.status_code != 200:
        return "unknown" if started.status_code >= 500 else f"begin {started.status_code}"
    begun.append(name)
    again(lambda: client.post(f"/api/v1/checks/{name}/result", json={"observation": "paid"}))
    return "done"


def again(send) -> dict:
    """The answer of a request that may be sent again."""
    for _ in range(60):
        with suppress(httpx.HTTPError):
            said = send()
            if said.status_code < 500:
                said.raise_for_status()
                return said.json()
        time.sleep(0.2)
    raise SystemExit("no answer")


if __name__ == "__main__":
    main()
