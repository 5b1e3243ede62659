"""An agent as a process of its own: agent.py URL RUN NAME COUNT AT_ONCE LOG DONE [die | reckless].

It asks about its payments, "runs" an approved one by a line in LOG and ends with the file DONE; started again, it asks
about those whose answer LOG does not hold. With `die` it kills itself between getting a go-ahead and running the
action; with `reckless` it asks about all of them and runs them, whatever the answer.
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from console.gate import Gate


def note(path: str, **line: object) -> None:
    """Appends one line in one write, so that no kill leaves half of it."""
    with Path(path).open("ab", buffering=0) as stream:
        stream.write(json.dumps(line).encode() + b"\n")


def told(path: str) -> set[str]:
    """The actions whose answer is in the log."""
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    return {line["asked"] for line in map(json.loads, lines) if "reason" in line}


async def pay(gate: Gate, busy: asyncio.Semaphore, name: str, number: int, log: str, manner: str) -> None:
    """Asks about one payment and runs what is allowed."""
    action = f"pay[{name}-{number}]"
    steps = [("look[bill]", f"bill {number} of {name}")]
    async with busy:
        decision = await gate.acheck(f"Pay the bills of {name}.", steps, action, task_id=f"{name}-{number}")
    if manner == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if decision.approved or manner == "reckless":
        note(log, ran=decision.action, asked=action, at_ms=time.time_ns() // 1_000_000)
    if decision.approved:
        gate.done(decision, "paid")
    note(
        log,
        asked=action,
        action=decision.action,
        approved=decision.approved,
        reason=decision.reason,
        feedback=decision.feedback,
        decision_id=decision.decision_id,
    )


async def main(
    url: str, run: str, name: str, count: str, at_once: str, log: str, done: str, manner: str = "careful"
) -> None:
    """Asks about all payments, so many at a time."""
    token = os.environ["AGENT_TOKEN"] if url.startswith("http") else None
    gate = Gate(run, "full-validation", ["pay*"], undo_s=0, poll_s=0.03, url=url, token=token)
    busy, known = asyncio.Semaphore(int(at_once)), set() if manner == "reckless" else told(log)
    left = [number for number in range(int(count)) if f"pay[{name}-{number}]" not in known]
    await asyncio.gather(*(pay(gate, busy, name, number, log, manner) for number in left))
    Path(done).touch()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
