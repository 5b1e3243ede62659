"""An agent that knows HTTP alone: http_agent.py ADDRESS RUN NAME COUNT AT_ONCE LOG DONE; its token is in AGENT_TOKEN.

It does what agent.py does. Where the console is away, it asks again until it is back. It fetches each go-ahead several
times and loses some of the answers on purpose before it says that the action begins.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from agent import note, told

PAUSE_S = 0.1


async def send(client: httpx.AsyncClient, method: str, path: str, **more: Any) -> dict[str, Any] | None:
    """The answer, None where there is none now; any other refusal is raised."""
    try:
        answer = await client.request(method, path, **more)
    except httpx.TransportError:
        await asyncio.sleep(PAUSE_S)
        return None
    if answer.status_code == 503:
        await asyncio.sleep(PAUSE_S)
        return None
    if answer.status_code == 409:
        return {"begun": False}
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


async def decided(client: httpx.AsyncClient, question: dict[str, Any]) -> dict[str, Any]:
    """The check once it is decided; asked from the beginning whenever an answer was lost."""
    while True:
        check = await send(client, "POST", "checks", json=question)
        while check is not None and check["status"] == "waiting":
            check = await send(client, "GET", f"checks/{check['check_id']}", params={"wait": 5})
        if check is not None:
            return check


async def begun(client: httpx.AsyncClient, check: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """The check, begun; or what is said of it where it has begun before, be it by an answer that was lost."""
    for _ in range(2):
        # These answers may be lost: nothing has begun.
        await send(client, "GET", f"checks/{check['check_id']}")
    while (answer := await send(client, "POST", f"checks/{check['check_id']}/begin")) is None:
        pass
    return answer if "decision" in answer else await decided(client, question)


async def pay(client: httpx.AsyncClient, busy: asyncio.Semaphore, run: str, name: str, number: int, log: str) -> None:
    """Asks about one payment and runs what is allowed."""
    asked = f"pay[{name}-{number}]"
    step = {"action": "look[bill]", "observation": f"bill {number} of {name}"}
    question = {"run": run, "task": f"Pay the bills of {name}.", "task_id": f"{name}-{number}", "undo_s": 0}
    async with busy:
        check = await decided(client, question | {"steps": [step], "action": asked})
    if check["decision"]["approved"]:
        check = await begun(client, check, question | {"steps": [step], "action": asked})
    decision = check["decision"]
    if decision["approved"]:
        note(log, ran=decision["action"], asked=asked, at_ms=time.time_ns() // 1_000_000)
        while await send(client, "POST", f"checks/{check['check_id']}/result", json={"observation": "paid"}) is None:
            pass
    kept = {key: decision[key] for key in ("action", "approved", "reason", "feedback", "decision_id")}
    note(log, asked=asked, **kept)


async def main(address: str, run: str, name: str, count: str, at_once: str, log: str, done: str) -> None:
    """Asks about all payments, so many at a time."""
    busy, known = asyncio.Semaphore(int(at_once)), told(log)
    left = [number for number in range(int(count)) if f"pay[{name}-{number}]" not in known]
    headers = {"Authorization": f"Bearer {os.environ['AGENT_TOKEN']}"}
    async with httpx.AsyncClient(base_url=f"{address}/api/v1/", headers=headers, timeout=30, trust_env=False) as client:
        await asyncio.gather(*(pay(client, busy, run, name, number, log) for number in left))
    Path(done).touch()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
