"""Errors of the model client: why a model gave no reply, as facts.

ConsoleError
├── ModelError                 asked, and no reply that can be used came back
│   ├── ModelUnavailable       busy, failing, too slow or out of reach
│   ├── BadReply               an answer came, but not in the form of a chat completion
│   ├── Deferred               the question waits in a batch
│   ├── ModelSilent            one empty or refused reply after the other came
│   ├── ModelRefused           the model, or a filter before it, declines
│   └── RequestRejected        the endpoint does not accept the key, the model or the request
├── BadInput
│   └── NoModel                nobody said which model, or how to reach it
└── Refused
    └── SpendingCapReached     the next call could cost more than is left

`retryable` says that the same request may succeed when it is sent again; none of these leaves a verdict behind, so
that going on later asks again.
"""

from __future__ import annotations

from console.errors import BadInput, ConsoleError, Refused


class ModelError(ConsoleError):
    """The model gave no reply that can be used. `retry_after_s` is how long the endpoint asks to be left alone."""

    retryable = False

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelUnavailable(ModelError):
    """The endpoint is busy, failing, too slow or out of reach."""

    retryable = True


class BadReply(ModelError):
    """What came back is no chat completion."""

    retryable = True


class ModelRefused(ModelError):
    """The model declines to answer."""


class Deferred(ModelError):
    """The question is asked in a batch, whose replies are not there yet."""


class ModelSilent(ModelError):
    """The model gave one empty or refused reply after the other."""


class RequestRejected(ModelError):
    """The endpoint does not accept the key, the model or the request."""


class NoModel(BadInput):
    """There is no model to ask."""


class SpendingCapReached(Refused):
    """The next call could cost more than is left of the spending cap."""

    retryable = False
