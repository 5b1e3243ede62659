"""A model endpoint for tests: OpenAI's chat completions over real HTTP on 127.0.0.1, scripted, timed and counted.

Each response is one write, header and body: two writes would cost 40 ms of delayed acknowledgement a call.
Run as a program (`python -m tests.fakes.endpoint --latency 0.2`) it answers by rule, prints its address, and tells its
counters under /counts, so that a benchmark does not share a processor's time with it.
"""

import argparse
import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fakes.answers import Answer, Ask, Fault, Raw, Script
from tests.fakes.batches import Batches
from tests.fakes.wire import Counter as TokenCounter
from tests.fakes.wire import completion, failure, http, parse, quarters

NEVER_S = 3_600.0


@dataclass
class Endpoint:
    """Counters and knobs of a running endpoint; `offers` names what it supports of n and logprobs."""

    script: Script
    latency_s: float = 0.0
    offers: frozenset[str] = frozenset({"n", "logprobs"})
    url: str = ""
    asks: list[Ask] = field(default_factory=list)
    completions: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    outcomes: Counter = field(default_factory=Counter)
    keep_asks: bool = True
    total: int = 0
    counted: TokenCounter = quarters
    batches: Batches = field(default_factory=Batches)

    @property
    def requests(self) -> int:
        return self.total

    def asked(self, path: str, headers: dict, body: dict) -> Ask:
        """The request, counted and kept."""
        ask = Ask(self.total, path, headers, body)
        self.total += 1
        if self.keep_asks:
            self.asks.append(ask)
        return ask

    def response(self, ask: Ask, answer: Answer | Fault | Raw | str) -> tuple[bytes, bool]:
        """(the whole response, whether the connection goes on) that carries an answer."""
        if isinstance(answer, Fault):
            return failure(answer)
        if isinstance(answer, Raw):
            return http(200, json.dumps(answer.document).encode()), True
        answer = Answer([answer]) if isinstance(answer, str) else answer
        wanted = int(ask.body.get("n") or 1) if "n" in self.offers else 1
        self.completions += wanted
        return completion(ask, answer, wanted, "logprobs" in self.offers, self.counted), True

    def counts(self) -> dict:
        """The counters as one JSON object."""
        plain = {"requests": self.total, "completions": self.completions, "most_in_flight": self.most_in_flight}
        return plain | {"outcomes": dict(self.outcomes)}

    def reset(self) -> None:
        """Sets every counter to nought."""
        self.asks.clear()
        self.outcomes.clear()
        self.completions = self.most_in_flight = self.total = 0


class Connection(asyncio.Protocol):
    """One kept-alive connection; a request may come in several pieces, an answer leaves in one."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint, self._received, self._waiting = endpoint, b"", None

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while parsed := parse(self._received):
            path, headers, body, self._received = parsed
            self._take(path, headers, body)

    def connection_lost(self, reason) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._leave()

    def _take(self, path, headers, body) -> None:
        endpoint = self._endpoint
        if "/files" in path or "/batches" in path:
            self._transport.write(endpoint.batches.take(path, body, endpoint))
            return
        if not path.split("?")[0].endswith(("/chat/completions", "/responses")):
            self._transport.write(http(200, json.dumps(endpoint.counts()).encode()))
            if path == "/reset":
                endpoint.reset()
            return
        ask = endpoint.asked(path, headers, json.loads(body))
        endpoint.in_flight += 1
        endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
        answer = endpoint.script(ask)
        wait = NEVER_S if isinstance(answer, Fault) and answer.kind == "timeout" else endpoint.latency_s
        endpoint.outcomes[answer.kind if isinstance(answer, Fault) else "answered"] += 1
        self._waiting = asyncio.get_running_loop().call_later(wait, self._send, ask, answer)

    def _leave(self) -> None:
        self._waiting = None
        self._endpoint.in_flight -= 1

    def _send(self, ask: Ask, answer: Answer | Fault | str) -> None:
        self._leave()
        response, goes_on = self._endpoint.response(ask, answer)
        self._transport.write(response)
        if not goes_on:
            self._transport.close()


@contextmanager
def serving(
    script: Script | str, *, latency_s: float = 0.0, offers=("n", "logprobs"), counted: TokenCounter = quarters
) -> Iterator[Endpoint]:
    """An endpoint in a thread of this process; `script` is a function of the Ask, or the one text to answer."""
    answer = (lambda ask: script) if isinstance(script, str) else script
    endpoint = Endpoint(answer, latency_s, frozenset(offers), counted=counted)
    started, loop = threading.Event(), asyncio.new_event_loop()
    thread = threading.Thread(target=_loop, args=(endpoint, loop, started), daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield endpoint
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def _loop(endpoint: Endpoint, loop: asyncio.AbstractEventLoop, started: threading.Event) -> None:
    asyncio.set_event_loop(loop)
    connections: list[Connection] = []
    server = loop.run_until_complete(_listen(endpoint, connections))
    started.set()
    loop.run_forever()
    for connection in connections:
        connection._transport.abort()
    server.close()
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(server.wait_closed())
    loop.close()


async def _listen(endpoint: Endpoint, connections: list[Connection], port: int = 0) -> asyncio.Server:
    def connected() -> Connection:
        connections.append(Connection(endpoint))
        return connections[-1]

    server = await asyncio.get_running_loop().create_server(connected, "127.0.0.1", port, backlog=1024)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    return server


async def _serve(endpoint: Endpoint, port: int) -> None:
    server = await _listen(endpoint, [], port)
    print(endpoint.url, flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serves the rule-based judge until it is stopped."""
    from tests.fakes.judges import rule

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--latency", type=float, default=0.2, help="seconds before each answer")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    asyncio.run(_serve(Endpoint(rule, given.latency, keep_asks=False), given.port))


if __name__ == "__main__":
    main()
