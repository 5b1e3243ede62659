"""Errors of the model client. A `retryable` request may succeed if it is sent again.

No verdict is stored after an error, so a later detection requests the reply again.
"""

from __future__ import annotations

from console.errors import BadInput, ConsoleError, Refused


class ModelError(ConsoleError):
    """The model returned no usable reply. `retry_after_s` is the delay in seconds that the endpoint requests."""

    retryable = False

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelUnavailable(ModelError):
    """The endpoint is busy, failing, too slow or out of reach."""

    retryable = True


class BadReply(ModelError):
    """The response is not a chat completion."""

    retryable = True


class ModelRefused(ModelError):
    """The model declines to answer."""


class Deferred(ModelError):
    """The request is in a batch whose replies have not arrived yet."""


class ModelSilent(ModelError):
    """The model returned only empty or refused replies."""


class RequestRejected(ModelError):
    """The endpoint does not accept the key, the model or the request."""


class NoModel(BadInput):
    """The model, or its address, is not set."""


class SpendingCapReached(Refused):
    """The next call could cost more than the spending cap leaves."""

    retryable = False
