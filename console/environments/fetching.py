"""HTTP requests to the servers of real worlds; only this module connects to these servers.

Every request opens a new connection, so that a request without a connection certainly did not run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from console.environments.environment import WorldUnavailable

_TIMEOUT_S = 60.0
_PASSING = frozenset({429, 500, 502, 503, 504})
"""The statuses of a server that may answer later."""
_LONGEST_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """The body of a response, and its address after redirects."""

    url: str
    text: str


class WebClient:
    """An HTTP client of one server, for any number of threads.

    Requests begin at least `pause_s` seconds apart. Only requests that change nothing may have `retries`.
    """

    def __init__(
        self, base: str, headers: Mapping[str, str] | None = None, *, retries: int = 0, pause_s: float = 0.0
    ) -> None:
        self.base, self._retries, self._pause_s = f"{base.rstrip('/')}/", retries, pause_s
        self._turn, self._next_s = threading.Lock(), 0.0
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(
            timeout=_TIMEOUT_S, limits=limits, headers=headers, follow_redirects=True, trust_env=False
        )

    def fetch(self, method: str, url: str, form: Mapping[str, str] | None = None) -> Fetched:
        """Return the response; raise WorldUnavailable if the request fails or the status is not 200."""
        for attempt in range(self._retries + 1):
            self._wait_for_turn()
            try:
                answer = self._client.request(method, url, data=form)
            except httpx.HTTPError as broken:
                failure, wait_s = self._describe(broken), 2.0**attempt
            else:
                if answer.status_code == httpx.codes.OK:
                    return Fetched(str(answer.url), answer.text)
                failure = WorldUnavailable(f"status {answer.status_code} at {self.base}")
                asked = answer.headers.get("retry-after", "")
                wait_s = float(asked) if asked.isdecimal() else 2.0**attempt
                if answer.status_code not in _PASSING:
                    break
            if attempt < self._retries:
                time.sleep(min(wait_s, _LONGEST_WAIT_S))
        raise failure

    def _describe(self, broken: httpx.HTTPError) -> WorldUnavailable:
        if isinstance(broken, httpx.ConnectError | httpx.ConnectTimeout):
            return WorldUnavailable(f"no connection to {self.base}", is_sent=False)
        return WorldUnavailable(f"{type(broken).__name__} at {self.base}")

    def _wait_for_turn(self) -> None:
        with self._turn:
            time.sleep(max(0.0, self._next_s - time.monotonic()))
            self._next_s = time.monotonic() + self._pause_s

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
