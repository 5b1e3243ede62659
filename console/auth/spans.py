"""Spans of requests, checks, claims, decisions and jobs by the OpenTelemetry API; off unless the setting is on.

The SDK that the operator configures exports the spans. No span holds content: names, texts and actions stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from console.errors import BadInput
from console.settings import settings


def check_settings() -> None:
    """Raise BadInput if the setting needs a package that is not installed."""
    if settings().traces and find_spec("opentelemetry") is None:
        raise BadInput("INFERACT_TRACES needs OpenTelemetry. Install it: pip install 'inferact-console[traces]'")


@contextmanager
def span(name: str, about: Mapping[str, str | int] | None = None) -> Iterator[None]:
    """Record the block, or as a decorator the function, as a span; read the attributes `about` at its end."""
    if not settings().traces:
        yield
        return
    from opentelemetry import trace

    # The text of an exception may quote an action, so that the span keeps only its type.
    start = trace.get_tracer("inferact.console").start_as_current_span
    with start(name, record_exception=False, set_status_on_exception=False) as current:
        try:
            yield
        except BaseException as failed:
            current.set_status(trace.Status(trace.StatusCode.ERROR))
            current.set_attribute("error.type", type(failed).__name__)
            raise
        finally:
            current.set_attributes(about or {})
