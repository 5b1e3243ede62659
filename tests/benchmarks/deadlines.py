"""Whether checks return by their deadline from a console that fails: `python -m tests.benchmarks.deadlines`.

Prints for each fault the number of trials, how many ran an action without `begin`, and how late the latest returned
(seconds after its deadline, negative if before). Half of the trials use `check`, half `acheck`. `--deadline-s 40` tries
longer deadlines, all trials of a fault at the same time.
"""

import argparse
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from inferact_client import Gate

from tests.doors.faulty_console import FAULTS, faulty_console

TRIALS, DEADLINE_S, AT_ONCE = 200, 2.0, 8
LONG_S, AT_ONCE_LONG = 10.0, 40


async def try_once(fault, number, deadline_s=DEADLINE_S):
    """(seconds after the deadline, the decision) of one check."""
    async with faulty_console(fault, deadline_s, number) as url:
        gate = Gate("deadlines", url=url, token="t" * 32, deadline_s=deadline_s)
        started = time.monotonic()
        if number % 2:
            decision = await gate.acheck("task", [], "pay({})")
        else:
            decision = await asyncio.to_thread(gate.check, "task", [], "pay({})")
        late_s = time.monotonic() - started - deadline_s
        gate.close()
    return late_s, decision


async def measure(deadline_s):
    """Print the table."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(AT_ONCE_LONG))
    limit = asyncio.Semaphore(AT_ONCE if deadline_s < LONG_S else AT_ONCE_LONG)

    async def limited(fault, number):
        async with limit:
            return await try_once(fault, number, deadline_s)

    for fault in FAULTS:
        tried = await asyncio.gather(*(limited(fault, number) for number in range(TRIALS // len(FAULTS))))
        unsafe = sum(decision.approved and not decision.begun for _, decision in tried)
        begun, late = sum(decision.begun for _, decision in tried), max(late_s for late_s, _ in tried)
        print(
            f"{fault:<12} trials {len(tried):3}  begun {begun:3}  allowed without begin {unsafe}  latest {late:+.3f} s"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deadline-s", type=float, default=DEADLINE_S, help="(default: %(default)s)")
    asyncio.run(measure(parser.parse_args().deadline_s))
