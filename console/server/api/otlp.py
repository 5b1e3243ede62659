"""OTLP over HTTP: `POST /v1/traces` in protobuf or JSON, also compressed with gzip, with an agent's token."""

from __future__ import annotations

import time
import zlib
from collections import deque
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from console.auth.audit_log import By, Door, acting
from console.database import now_ms, reading
from console.detection import follow
from console.detection.detectors import detector
from console.errors import TooMany
from console.runs import get, live_traces
from console.runs.live_traces import Received
from console.server.api.body import in_thread, read_limited
from console.server.api.errors import refusals
from console.server.sign_in.wrong_tokens import address_of

router = APIRouter()

BODY_LIMIT, UNPACKED_LIMIT = 16 * 2**20, 64 * 2**20
REQUESTS_PER_MINUTE = 1_200
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_ENCODINGS = ("", "identity", "gzip")
_GZIP = 31
_sent: dict[str, deque[float]] = {}


@router.post(
    "/v1/traces",
    response_description="Stored.",
    responses=refusals(400, 401, 409, 413, 415, 429),
    openapi_extra={"requestBody": {"required": True, "content": {_JSON: {}, _PROTOBUF: {}}}},
)
async def receive_traces(request: Request) -> Response:
    """Store the spans of an exporter; the trace of an agent becomes a trajectory when its root span has ended.

    A repeated request stores nothing twice. The run is named after `service.name`, or else after the token's agent.
    """
    agent = request.state.agent.name
    _count(agent)
    kind = request.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if kind not in (_JSON, _PROTOBUF) or encoding not in _ENCODINGS:
        raise HTTPException(415, f"Send {_PROTOBUF} or {_JSON}, plain or compressed with gzip.")
    body = await read_limited(request, BODY_LIMIT)
    received = await in_thread(_store, body, kind, encoding, By(agent, Door.API, address_of(request)))
    content = _answer_protobuf(received) if kind == _PROTOBUF else _answer_json(received)
    return Response(content, media_type=kind)


def _count(agent: str) -> None:
    """Raise TooMany if the agent has sent too many requests within a minute; exporters then try again."""
    now, sent = time.monotonic(), _sent.setdefault(agent, deque())
    while sent and sent[0] < now - 60:
        sent.popleft()
    if len(sent) >= REQUESTS_PER_MINUTE:
        limit = f"the limit of {REQUESTS_PER_MINUTE} requests per minute"
        raise TooMany(f"The agent {agent} exceeded {limit}. Send larger batches.")
    sent.append(now)


def _store(body: bytes, kind: str, encoding: str, by: By) -> Received:
    raw = _unzipped(body) if encoding == "gzip" else body
    with acting(by):
        received = live_traces.store_spans(_parsed(raw, kind), by.who, now_ms())
        for name, trajectories in live_traces.build_due(now_ms()).items():
            _judge(name, trajectories)
    return received


def _judge(run_name: str, trajectories: list[int]) -> None:
    """Queue the new critical actions if the run has a detector that uses no model."""
    with reading() as session:
        name = get(session, run_name).detector
    if name and (judge := detector(name)).ask is None:
        follow.queue_new(run_name, judge, trajectories)


def _unzipped(body: bytes) -> bytes:
    stream = zlib.decompressobj(wbits=_GZIP)
    try:
        raw = stream.decompress(body, UNPACKED_LIMIT + 1)
    except zlib.error as broken:
        raise HTTPException(400, "The body is not valid gzip. Compress the body again, then send it.") from broken
    if len(raw) > UNPACKED_LIMIT:
        raise HTTPException(413, f"The body unpacks to more than {UNPACKED_LIMIT // 2**20} MB. Send smaller batches.")
    if not stream.eof:
        raise HTTPException(400, "The gzip body is cut off. Send the whole body again.")
    return raw


def _parsed(raw: bytes, kind: str) -> dict[str, Any]:
    if kind == _PROTOBUF:
        return _from_protobuf(raw)
    try:
        parsed = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as broken:
        raise HTTPException(400, f"The body is not valid JSON ({broken}). Correct the JSON.") from broken
    if not isinstance(parsed, dict):
        raise HTTPException(400, "The body is not a JSON object. Send an ExportTraceServiceRequest.")
    return parsed


def _messages() -> Any:
    try:
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError as missing:
        sentence = "This console reads JSON only: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, or install it with [otlp]."
        raise HTTPException(415, sentence) from missing
    return trace_service_pb2


def _from_protobuf(raw: bytes) -> dict[str, Any]:
    """Return the request in OTLP's JSON form; its ids are in hexadecimal, where plain protobuf JSON has base64."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError

    try:
        request = _messages().ExportTraceServiceRequest.FromString(raw)
    except DecodeError as broken:
        raise HTTPException(
            400, "The body is not a valid ExportTraceServiceRequest. Send a request of this type."
        ) from broken
    parsed: dict[str, Any] = MessageToDict(request)
    for resource, told in zip(request.resource_spans, parsed.get("resourceSpans", ()), strict=True):
        for scope, inner in zip(resource.scope_spans, told.get("scopeSpans", ()), strict=True):
            for span, found in zip(scope.spans, inner.get("spans", ()), strict=True):
                ids = (span.trace_id, span.span_id, span.parent_span_id)
                found |= dict(zip(("traceId", "spanId", "parentSpanId"), (one.hex() for one in ids), strict=True))
    return parsed


def _answer_json(received: Received) -> bytes:
    partial = {"rejectedSpans": received.rejected, "errorMessage": received.reason}
    return orjson.dumps({"partialSuccess": partial} if received.rejected else {})


def _answer_protobuf(received: Received) -> bytes:
    answer = _messages().ExportTraceServiceResponse()
    if received.rejected:
        answer.partial_success.rejected_spans = received.rejected
        answer.partial_success.error_message = received.reason
    content: bytes = answer.SerializeToString()
    return content
