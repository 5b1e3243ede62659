"""How long a served console takes to answer while many checks wait for a person: `python -m tests.benchmarks.waiting`.

Prints the time of /health and of a page (ms, median and largest of `ROUNDS`) without waiting checks and with `WAITING`
of them, and how long after one decision its agent has the answer.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import httpx
from inferact_client import Gate

from console import runs
from console.database import now_ms, reading, review_queue
from console.review import decisions
from console.review.decisions import ReviewDecision
from tests.serving import new_agent, serving

WAITING, ROUNDS = 200, 40


async def time_requests(url, path):
    """(median, largest) of the ms that a request takes, one at a time on its own connection."""
    took = []
    async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
        await client.get(path)
        for _ in range(ROUNDS):
            started = time.perf_counter()
            (await client.get(path)).raise_for_status()
            took.append((time.perf_counter() - started) * 1_000)
            await asyncio.sleep(0.1)
    return statistics.median(took), max(took)


def approve_one(database, run_name):
    """Approve the next item."""
    with reading(database) as session:
        run = runs.get(session, run_name)
        session.expunge(run)
        claim = decisions.claim_next_item(review_queue(database), session, run, "rita", now_ms())
    decisions.submit(review_queue(database), run, claim, "rita", ReviewDecision("approve"), now_ms())


async def measure(server, data):
    """Print the table."""
    token = new_agent(data, "waiting")
    gate = Gate("waiting", url=server.url, token=token, deadline_s=1_800, undo_s=0)
    paths = ("/api/v1/health", "/_stcore/health")
    before = {path: await time_requests(server.url, path) for path in paths}
    checks = [await gate.asubmit("task", [], {"name": "pay", "arguments": {"n": n}}) for n in range(WAITING)]
    waits = [asyncio.create_task(gate.afetch(check.check_id, wait_s=300)) for check in checks]
    await asyncio.sleep(5)
    during = {path: await time_requests(server.url, path) for path in paths}
    for path in paths:
        (was, worst), (now, worst_now) = before[path], during[path]
        idle, waiting = f"{was:6.1f} (most {worst:6.1f})", f"{now:6.1f} (most {worst_now:6.1f})"
        print(f"{path:<18} idle {idle}  waiting {waiting}  {now / was:.1f}x")
    started = time.perf_counter()
    await asyncio.to_thread(approve_one, f"sqlite:///{data / 'console.db'}", "waiting")
    decided = time.perf_counter() - started
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    print(f"decision took {decided:.2f} s; the agent had it {time.perf_counter() - started:.2f} s after it began")
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


def main():
    """Serve a console on a new data directory and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        with serving(data) as server:
            asyncio.run(measure(server, data))


if __name__ == "__main__":
    main()
