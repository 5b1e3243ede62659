"""Requests, checks, claims, decisions and jobs are spans if the setting is on: the id of the log, and no content."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from console import runs
from console.auth import audit_log
from console.database import now_ms, reading, review_queue
from console.errors import BadInput
from console.gate import Gate
from console.review import access, decisions
from console.review.decisions import ReviewDecision
from console.server import worker
from console.server.log_lines import RequestLog
from console.settings import settings


@pytest.fixture(scope="session")
def exporter():
    """An exporter in memory; a process has one provider of spans."""
    made, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)
    return made


@pytest.fixture
def recorded(exporter, monkeypatch):
    """A function that lists the spans since the last call."""
    monkeypatch.setenv("INFERACT_TRACES", "1")
    settings.cache_clear()
    exporter.clear()

    def take():
        found = exporter.get_finished_spans()
        exporter.clear()
        return list(found)

    yield take
    monkeypatch.undo()
    settings.cache_clear()


def work():
    """Check, claim and decide once."""
    waiting = Gate("bot", "full-validation", undo_s=0).ask("Refund order 17.", [], "refund(17)")
    with reading() as session:
        run = runs.get(session, "bot")
        claim = access.claim_next_item(review_queue(), session, run, "ada", now_ms())
    decisions.submit(review_queue(), run, claim, "ada", ReviewDecision("reject", "Wrong order."), now_ms())
    assert not waiting.look().approved


def test_a_check_a_claim_and_a_decision_are_spans_without_content(recorded):
    work()
    found = recorded()
    assert [one.name for one in found] == ["gate check", "claim", "decide"]
    said = " ".join(f"{dict(one.attributes)} {one.events} {one.status.description}" for one in found)
    assert [word for word in ("refund", "17", "Wrong order", "ada", "bot") if word in said] == []


def test_without_the_setting_nothing_is_recorded(exporter):
    exporter.clear()
    work()
    assert exporter.get_finished_spans() == ()


async def answer(scope, receive, send):
    with audit_log.span("inner"):
        await PlainTextResponse("no", 404)(scope, receive, send)


def test_a_request_has_the_id_of_the_log_and_what_it_does_is_below_it(recorded):
    client = TestClient(RequestLog(answer))
    said = client.get("/api/v1/checks/1-secret", headers={"X-Request-ID": "from-the-proxy"})
    inner, request = recorded()
    assert said.headers["X-Request-ID"] == request.attributes["request.id"] == "from-the-proxy"
    assert dict(request.attributes) == {
        "http.request.method": "GET",
        "url.path": "/api/v1/checks/…",
        "request.id": "from-the-proxy",
        "http.response.status_code": 404,
    }
    assert inner.parent.span_id == request.context.span_id


def test_a_failed_job_keeps_the_type_of_the_error_and_not_its_text(recorded):
    with pytest.raises(BadInput), worker.Presence().job("bot"):
        raise BadInput("refund(17) cannot run.")
    (job,) = recorded()
    assert (job.name, job.status.is_ok, dict(job.attributes), job.events) == (
        "job",
        False,
        {"error.type": "BadInput"},
        (),
    )
    assert job.status.description is None
