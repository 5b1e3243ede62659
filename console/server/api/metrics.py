"""Metrics of the console in the text format of Prometheus, for the token of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends, Response

from console.database import now_ms, reading
from console.review.notices.health import count_reviews, measure_health
from console.server.api.admission import refuse_agents
from console.server.api.body import in_thread
from console.server.api.errors import refusals

if TYPE_CHECKING:
    from prometheus_client.core import Metric

router = APIRouter()
_TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@router.get(
    "/metrics",
    response_class=Response,
    response_description="The metrics.",
    responses={200: _TEXT, **refusals(401)},
    dependencies=[Depends(refuse_agents)],
)
async def metrics() -> Response:
    """Return pending items and checks, decisions, undelivered messages and this process's own metrics.

    The names of runs are in the response, so it needs the token of INFERACT_API_TOKEN.
    """
    content, media_type = await in_thread(_render)
    return Response(content, media_type=media_type)


def _render() -> tuple[bytes, str]:
    # The library takes a twentieth of a second to load, and most consoles are never asked for metrics.
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    registry.register(_Reviews())
    ProcessCollector(registry=registry)
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Reviews:
    """The collector that reads the database once for each response."""

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily

        now = now_ms()
        with reading() as session:
            health, reviews = measure_health(session, now), count_reviews(session)
        yield InfoMetricFamily("inferact_console", "The console's version.", {"version": version("inferact-console")})
        waited_s = 0.0 if health.since_ms is None else max(0, now - health.since_ms) / 1_000
        values: dict[str, tuple[str, Any]] = {
            "inferact_waiting_agents": ("Agents that wait for a decision.", health.waiting),
            "inferact_longest_wait_seconds": (
                "Seconds that the longest-waiting agent has waited; 0 if no agent waits.",
                waited_s,
            ),
            "inferact_expired_items": ("Items of the last 24 hours that got no decision in time.", health.expired),
            "inferact_failed_messages": ("Notices and webhooks whose last attempt failed.", health.undelivered),
            "inferact_dead_messages": ("Notices and webhooks that are not retried any more.", health.dead),
        }
        for name, (text, value) in values.items():
            yield GaugeMetricFamily(name, text, value)
        pending = GaugeMetricFamily("inferact_pending_items", "Pending items by run.", labels=["run"])
        for run, count in reviews.pending:
            pending.add_metric([run], count)
        yield pending
        decided = CounterMetricFamily("inferact_decisions", "Decisions by kind, undone ones too.", labels=["decision"])
        for kind, count in reviews.decisions:
            decided.add_metric([kind], count)
        yield decided
