"""A console that fails: it hangs, drips bytes, restarts, or decides at the last moment."""

import asyncio
import json
import random
from contextlib import asynccontextmanager

from tests.serving import free_port

FAULTS = ("away", "hung", "dripping", "dripping header", "endless interim replies", "restarting", "late")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n"
DRIPS = {
    "dripping": (HEAD + b"\r\n", b" "),
    "dripping header": (HEAD + b"X-Slow: ", b"-"),
    "endless interim replies": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
}
"""What is sent at once, and what follows it again and again."""
CHECK = "0" * 32
DRIP_S = 0.1


@asynccontextmanager
async def faulty_console(fault, deadline_s, seed=0):
    """Yield the address of a console with this fault, for checks that end after `deadline_s`."""
    if fault == "away":
        yield f"http://127.0.0.1:{free_port()}"
        return
    chance, begun = random.Random(seed), asyncio.get_running_loop().time()

    async def answer(reader, writer):
        try:
            await _converse(reader, writer, fault, begun + deadline_s, chance)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The agent has hung up, or the trial is over.
            return
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _converse(reader, writer, fault, ends, chance):
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length")), 0)
        await reader.readexactly(length)
        if fault == "hung":
            await asyncio.sleep(3_600)
        if fault in DRIPS:
            at_once, drop = DRIPS[fault]
            writer.write(at_once)
            while True:
                writer.write(drop)
                await writer.drain()
                await asyncio.sleep(DRIP_S)
        if fault == "restarting" and chance.random() < 0.7:
            await asyncio.sleep(chance.random() * 0.3)
            return
        await _reply(writer, head.split()[0:2], fault, ends, chance)


async def _reply(writer, request, fault, ends, chance):
    """Answer as the API does: pending, then approved at the last moment, then begun."""
    now = asyncio.get_running_loop().time()
    said = {"check_id": CHECK, "status": "waiting", "decision": None, "seconds_left": 60}
    if request[0] == "GET" or request[1].endswith("/begin"):
        if request[0] == "GET" and fault == "late":
            await asyncio.sleep(max(ends - now - chance.random() * 0.5, 0))
        decision = {"approved": True, "edited": False, "action": "pay({})", "call": None, "feedback": ""}
        approved = decision | {"reason": "approved", "item_id": 1, "decision_id": 1, "score": None}
        is_late = fault == "late" or request[1].endswith("/begin")
        said |= {"status": "decided", "decision": approved} if is_late else {}
    if request[1].endswith("/begin"):
        await asyncio.sleep(chance.random() * 0.6)
    body = json.dumps(said).encode()
    status = b"200 OK" if said["decision"] else b"202 Accepted"
    writer.write(b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body)))
    writer.write(body)
    await writer.drain()
