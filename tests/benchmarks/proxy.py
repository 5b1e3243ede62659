"""Two consoles and two workers on one PostgreSQL database behind nginx: one of each is killed, and nothing is lost.

`python tests/benchmarks/proxy.py [--nginx PATH] [--checks N]`; the last line is the result as JSON. nginx has the
configuration of the operator's chapter. Agents submit, wait, begin and report through nginx while a reviewer decides.
An action whose `begin` got no answer is unknown: its agent must not run it, and asks a person.
"""

from __future__ import annotations

import argparse
import json
import os
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
from tests.serving import free_port

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE, RUN = 8, "bot"
ASKED = {"run": RUN, "task": "pay", "action": {"name": "pay", "arguments": {"n": 1}}, "detector": "full-validation"}


def main() -> None:
    """Starts all, kills one console and one worker in the middle, prints, ends with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nginx", default=shutil.which("nginx") or "nginx")
    parser.add_argument("--checks", type=int, default=120)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = postgres.make_folder()
        if server is not None:
            stack.callback(postgres.stop, server)
        url = stack.enter_context(postgres.database())
        os.environ |= {"INFERACT_DATABASE_URL": url, "INFERACT_DATA_DIR": folder, "PYTHONPATH": str(ROOT)}
        settings.cache_clear()
        figures = play(Path(folder), given.nginx, given.checks, stack)
        figures["database_problems"] = len(check(url))
    exact = dict.fromkeys(("failed", "twice", "database_problems"), 0) | {"workers_left": 1, "sessions_kept": 1}
    goals = {name: ("==", n) for name, n in exact.items()} | {"unknown": ("<=", AT_ONCE)}
    for name, n in figures.items():
        print(f"{name:<22}{n}")
    met = all(figures[name] == goal for name, goal in exact.items()) and figures["unknown"] <= AT_ONCE
    print(json.dumps({"benchmark": "proxy", "figures": figures, "goals": goals, "met": met}))


def play(folder: Path, nginx: str, checks: int, stack: ExitStack) -> dict[str, float]:
    """What became of the checks while a console and a worker were killed."""
    front, back = free_port(), free_port()
    public = f"http://127.0.0.1:{front}"
    with writing() as session:
        token = agents.add(session, "bot", now_ms())
    served = [
        start(stack, folder, "serve", "--host", host, "--port", str(back), "--public-url", public, "--invite", "Ada")
        for host in ("127.0.0.1", "127.0.0.2")
    ]
    working = [start(stack, folder, "worker", "--every", "0.2") for _ in range(2)]
    configure(stack, folder, nginx, front, back)
    client = httpx.Client(base_url=public, headers={"Authorization": f"Bearer {token}"}, timeout=90, trust_env=False)
    stack.enter_context(client)
    await_ready([f"http://{host}:{back}/api/v1/ready" for host in ("127.0.0.1", "127.0.0.2")], public)
    browser = sign_in(stack, served[0][1], public)
    over = threading.Event()
    reviewer = threading.Thread(target=review, args=(over,), daemon=True)
    reviewer.start()
    begun: list[str] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = [pool.submit(one_check, client, number, begun) for number in range(checks)]
        while sum(end.done() for end in ends) < checks // 3:
            time.sleep(0.1)
        for process, _ in (served[0], working[0]):
            process.send_signal(signal.SIGKILL)
        found = Counter(end.result() for end in ends)
    over.set()
    reviewer.join()
    with reading() as session:
        alive = [one for one in workers.list_workers(session, now_ms() + 25_000) if one.status == "working"]
    kept = browser.get("/whoami")
    return {
        "done": found["done"],
        "unknown": found["unknown"],
        "failed": checks - found["done"] - found["unknown"],
        "twice": len(begun) - len({*begun}),
        "workers_left": len(alive),
        "sessions_kept": int(kept.status_code == 200 and "Ada" in kept.text),
    }


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


def one_check(client: httpx.Client, number: int, begun: list[str]) -> str:
    """One action from its check to its result; an agent sends again what was not answered."""
    asked = ASKED | {"task_id": f"t{number}", "undo_s": 0}
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
