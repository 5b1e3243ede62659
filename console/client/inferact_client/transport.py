"""The connection to a served console: one pool of connections for a process and for each event loop.

A forked process opens its own connections. Proxies and `.netrc` of the agent's shell are not used, because they must
not come between the agent and its console.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from inferact_client.decision import Decision
from inferact_client.errors import ClientError
from inferact_client.talk import AWAY, Call, Reply, Talk

Result = TypeVar("Result")
_MOST_BYTES = 32 * 2**20
_LEAST_S = 0.05


class Connection:
    """The console at `address`, used with an agent's `token`; raise ClientError if one of them is unusable."""

    def __init__(self, address: str, token: str | None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ClientError(f"url is {address!r}. Give the console's address, such as http://127.0.0.1:8501.")
        if not token:
            raise ClientError("A served console needs the agent's token. Create a token: inferact agent add NAME")
        if not token.isascii() or not token.isprintable():
            raise ClientError("The token contains invalid characters. Copy the token again.")
        self.address, self._token, self._is_tls = address.rstrip("/"), token, parts.scheme == "https"
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._client: tuple[httpx.Client, threading.local] | None = None
        self._tls: ssl.SSLContext | None = None
        self._leases: dict[asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, int]] = {}

    def run(self, talk: Talk, ends: float, interrupted: Callable[[], None] = lambda: None) -> Decision:
        """Run the conversation until `ends` (monotonic seconds); on Ctrl+C, call `interrupted` and raise again."""
        reply: Reply | None = None
        try:
            while True:
                step = next(talk) if reply is None else talk.send(reply)
                if isinstance(step, float):
                    time.sleep(step)
                    reply = AWAY
                else:
                    reply = self.send(step, ends)
        except StopIteration as end:
            decision: Decision = end.value
            return decision
        except KeyboardInterrupt:
            interrupted()
            raise

    async def arun(self, talk: Talk, ends: float) -> Decision:
        """Run the conversation without blocking the event loop."""
        reply: Reply | None = None
        async with self.lease() as client:
            try:
                while True:
                    step = next(talk) if reply is None else talk.send(reply)
                    if isinstance(step, float):
                        await asyncio.sleep(step)
                        reply = AWAY
                    else:
                        reply = await self.asend(client, step, ends)
            except StopIteration as end:
                decision: Decision = end.value
                return decision

    def send(self, call: Call, ends: float) -> Reply:
        """Return the reply, or `AWAY` if no console answers within the call's patience and before `ends`."""
        client, exchange = self._sync_client()
        exchange.ends = time.monotonic() + _left(call, ends)
        try:
            with client.stream(call.method, call.path, json=call.body) as response:
                content = b""
                for part in response.iter_bytes():
                    content += part
                    if len(content) > _MOST_BYTES:
                        return AWAY
                return _parse(response.status_code, content)
        except httpx.HTTPError:
            return AWAY

    async def asend(self, client: httpx.AsyncClient, call: Call, ends: float) -> Reply:
        """Return the reply like `send`."""
        left = _left(call, ends)
        try:
            response = await within(client.request(call.method, call.path, json=call.body, timeout=left), left)
            return _parse(response.status_code, response.content)
        except (httpx.HTTPError, asyncio.TimeoutError):
            return AWAY

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[httpx.AsyncClient]:
        """Yield the event loop's pool of connections; the last user closes the pool."""
        loop = asyncio.get_running_loop()
        self._forget_after_fork()
        client, users = self._leases.get(loop) or (httpx.AsyncClient(**self._options()), 0)
        self._leases[loop] = client, users + 1
        try:
            yield client
        finally:
            client, users = self._leases.get(loop, (client, 1))
            if users > 1:
                self._leases[loop] = client, users - 1
            else:
                self._leases.pop(loop, None)
                await client.aclose()

    def close(self) -> None:
        """Close the pool of this process; the next call opens a new pool."""
        with self._lock:
            self._forget_after_fork()
            if self._client is not None:
                self._client[0].close()
            self._client = None

    def _sync_client(self) -> tuple[httpx.Client, threading.local]:
        """Return the process's pool and the thread-local object in which a thread sets the end of its request."""
        if self._client is not None and self._pid == os.getpid():
            return self._client
        with self._lock:
            self._forget_after_fork()
            if self._client is None:
                # Imported late, as httpx imports its own network.
                from inferact_client.sockets import Network

                options = self._options()
                network = Network(options["verify"], options["limits"])
                client = httpx.Client(**options, transport=network, timeout=None)
                weakref.finalize(self, client.close)
                self._client = client, network.exchange
            return self._client

    def _forget_after_fork(self) -> None:
        """Drop connections that belong to the parent process without closing them."""
        if self._pid != os.getpid():
            self._pid, self._client, self._leases = os.getpid(), None, {}

    def _options(self) -> dict[str, Any]:
        if self._is_tls and self._tls is None:
            self._tls = httpx.create_ssl_context(trust_env=False)
        return {
            "base_url": f"{self.address}/api/v1/",
            "headers": {"Authorization": f"Bearer {self._token}"},
            "trust_env": False,
            # Loading certificates takes longer than all the rest, and plain HTTP needs none.
            "verify": self._tls if self._tls is not None else False,
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=30),
        }


async def within(work: Coroutine[Any, Any, Result], seconds: float) -> Result:
    """Return the work's result; raise TimeoutError if it takes longer.

    Before Python 3.12, `asyncio.wait_for` loses a cancellation that arrives together with the result. An agent that was
    cancelled would then wait on.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise asyncio.TimeoutError
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


def _left(call: Call, ends: float) -> float:
    return max(min(call.patience_s, ends - time.monotonic()), _LEAST_S)


def _parse(status: int, content: bytes) -> Reply:
    """Parse a reply; treat a reply that no console sends, such as a proxy's page, as a lost connection."""
    try:
        document = json.loads(content)
    except ValueError:
        return AWAY
    return Reply(status, document) if isinstance(document, dict) and 200 <= status < 500 else AWAY
