"""Whether checks return by their deadline from a console that fails: `python -m tests.benchmarks.deadlines`.

Prints for each fault the number of trials, how many ran an action without `begin`, and how late the latest returned
(seconds after its deadline, negative if before), beside a timer of the same length in the same process. Half of the
trials use `check`, half `acheck`. `--deadline-s 40` tries longer deadlines, one more trial of each fault every
half second.
"""

import argparse
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from inferact_client import Gate

from tests.doors.faulty_console import FAULTS, faulty_console

TRIALS, DEADLINE_S, AT_ONCE = 200, 2.0, 8
LONG_S, STAGGER_S = 10.0, 0.5


async def try_once(fault, number, deadline_s=DEADLINE_S):
    """(seconds after the deadline, the same for a timer that does nothing else, the decision) of one check."""
    async with faulty_console(fault, deadline_s, number) as url:
        gate = Gate("deadlines", url=url, token="t" * 32, deadline_s=deadline_s)
        started = time.monotonic()
        timer = asyncio.ensure_future(asyncio.to_thread(_oversleep, deadline_s))
        if number % 2:
            decision = await gate.acheck("task", [], "pay({})")
        else:
            decision = await asyncio.to_thread(gate.check, "task", [], "pay({})")
        late_s = time.monotonic() - started - deadline_s
        gate.close()
    return late_s, await timer, decision


def _oversleep(seconds):
    """How many seconds a sleep of this length takes too long."""
    began = time.monotonic()
    time.sleep(seconds)
    return time.monotonic() - began - seconds


async def measure(deadline_s):
    """Print the table; long trials of all faults run side by side."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(3 * TRIALS))
    is_long, each = deadline_s >= LONG_S, -(-TRIALS // len(FAULTS))
    limit = asyncio.Semaphore(2 * TRIALS if is_long else AT_ONCE)

    async def limited(fault, number):
        async with limit:
            # Agents do not all end in the same moment.
            await asyncio.sleep(number * STAGGER_S if is_long else 0)
            return await try_once(fault, number, deadline_s)

    async def try_fault(fault):
        tried = await asyncio.gather(*(limited(fault, number) for number in range(each)))
        unsafe = sum(decision.approved and not decision.begun for _, _, decision in tried)
        begun, late = sum(decision.begun for _, _, decision in tried), max(late_s for late_s, _, _ in tried)
        timer = max(timer_s for _, timer_s, _ in tried)
        print(
            f"{fault:<24} trials {len(tried):3}  begun {begun:3}  allowed without begin {unsafe}  "
            f"latest {late:+.3f} s  latest timer {timer:+.3f} s",
            flush=True,
        )

    if is_long:
        await asyncio.gather(*map(try_fault, FAULTS))
    else:
        for fault in FAULTS:
            await try_fault(fault)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deadline-s", type=float, default=DEADLINE_S, help="(default: %(default)s)")
    asyncio.run(measure(parser.parse_args().deadline_s))
