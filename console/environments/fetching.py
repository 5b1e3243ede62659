"""HTTP requests to the servers of real worlds; only this module connects to these servers.

Every request opens a new connection, so that a request without a connection certainly did not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from console.environments.environment import WorldUnavailable

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """The body of a response, and its address after redirects."""

    url: str
    text: str


class WebClient:
    """An HTTP client of one server."""

    def __init__(self, base: str, headers: Mapping[str, str] | None = None) -> None:
        self.base = f"{base.rstrip('/')}/"
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(
            timeout=_TIMEOUT_S, limits=limits, headers=headers, follow_redirects=True, trust_env=False
        )

    def fetch(self, method: str, url: str, form: Mapping[str, str] | None = None) -> Fetched:
        """Return the response; raise WorldUnavailable if the request fails or the status is not 200."""
        try:
            answer = self._client.request(method, url, data=form)
        except (httpx.ConnectError, httpx.ConnectTimeout) as away:
            raise WorldUnavailable(f"no connection to {self.base}", is_sent=False) from away
        except httpx.HTTPError as broken:
            raise WorldUnavailable(f"{type(broken).__name__} at {self.base}") from broken
        if answer.status_code != httpx.codes.OK:
            raise WorldUnavailable(f"status {answer.status_code} at {self.base}")
        return Fetched(str(answer.url), answer.text)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()
