"""An agent as a process of its own: agent.py URL RUN NAME COUNT AT_ONCE LOG DONE [die].

It asks about its payments, "runs" an approved one by a line in LOG and ends with the file DONE. With `die` it kills
itself between getting a go-ahead and running the action.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from console.gate import Gate


def note(path: str, **line: object) -> None:
    """Appends one line in one write, so that no kill leaves half of it."""
    with Path(path).open("ab", buffering=0) as stream:
        stream.write(json.dumps(line).encode() + b"\n")


async def pay(gate: Gate, busy: asyncio.Semaphore, name: str, number: int, log: str, die: bool) -> None:
    """Asks about one payment and runs what is allowed."""
    action = f"pay[{name}-{number}]"
    steps = [("look[bill]", f"bill {number} of {name}")]
    async with busy:
        decision = await gate.acheck(f"Pay the bills of {name}.", steps, action, task_id=f"{name}-{number}")
    if die:
        os.kill(os.getpid(), signal.SIGKILL)
    if decision.approved:
        note(log, ran=decision.action, asked=action)
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


async def main(url: str, run: str, name: str, count: str, at_once: str, log: str, done: str, *more: str) -> None:
    """Asks about all payments, so many at a time."""
    gate = Gate(run, "full-validation", ["pay*"], undo_s=0, poll_s=0.03, url=url)
    busy = asyncio.Semaphore(int(at_once))
    await asyncio.gather(*(pay(gate, busy, name, number, log, "die" in more) for number in range(int(count))))
    Path(done).touch()


asyncio.run(main(*sys.argv[1:]))
