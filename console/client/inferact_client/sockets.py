"""Connections that end with their exchange: no connect, read or write lasts beyond it, however slowly bytes arrive.

HTTP libraries limit each single read. A console that sends a byte now and then would hold an agent for hours.
"""

from __future__ import annotations

import ssl
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

import httpcore
import httpx

_PIECE = 16_384
"""Bytes that a socket takes at once if it takes any, so that each write waits once."""


class Network(httpx.HTTPTransport):
    """A connection pool with a deadline: each thread sets `exchange.ends` (monotonic seconds) before its request."""

    def __init__(self, verify: ssl.SSLContext | bool, limits: httpx.Limits) -> None:
        super().__init__(verify=verify, trust_env=False)
        self.exchange = threading.local()
        self._pool = httpcore.ConnectionPool(
            ssl_context=verify if isinstance(verify, ssl.SSLContext) else None,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Sockets(self.exchange),
        )


class _Sockets(httpcore.SyncBackend):
    def __init__(self, exchange: threading.local) -> None:
        self.exchange = exchange

    def left_s(self) -> float:
        """Return the seconds until the exchange ends; raise TimeoutException if it has ended."""
        left: float = self.exchange.ends - time.monotonic()
        if left <= 0:
            raise httpcore.TimeoutException
        return left

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *rest: Any, **more: Any) -> _Stream:
        """Return a connection; a thread looks up the name, because nothing limits how long that takes."""
        found: SimpleQueue[httpcore.NetworkStream | Exception] = SimpleQueue()
        left = self.left_s()

        def connect() -> None:
            try:
                found.put(super(_Sockets, self).connect_tcp(host, port, left, *rest, **more))
            except Exception as failure:
                found.put(failure)

        threading.Thread(target=connect, daemon=True).start()
        try:
            stream = found.get(timeout=left)
        except Empty:
            raise httpcore.ConnectTimeout from None
        if isinstance(stream, Exception):
            raise stream
        return _Stream(stream, self)


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, sockets: _Sockets) -> None:
        self._stream, self._sockets = stream, sockets

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._sockets.left_s())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._sockets.left_s())

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._sockets.left_s())
        return _Stream(secured, self._sockets)
