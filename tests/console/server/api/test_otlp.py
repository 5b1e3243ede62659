"""Live traces: what instrumented agents export over OTLP becomes trajectories, once, whatever is sent twice."""

import gzip
import json
import secrets
import socket
import threading
from base64 import b64encode
from contextlib import suppress
from itertools import count

import httpx
import orjson
import pytest
from sqlmodel import func, select

from console.database import now_ms, reading
from console.runs import live_traces
from storage import tables
from tests.serving import new_agent


def attributes(**given):
    return [{"key": key, "value": {"stringValue": value}} for key, value in given.items()]


def span(trace, number, parent=None, **told):
    """A span of trace `trace`: its root, or the run of a tool."""
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        **({"parentSpanId": f"{parent:016x}"} if parent is not None else {}),
        "name": "agent",
        "startTimeUnixNano": str(1_000_000 + number),
        "attributes": attributes(**told),
    }


def tool(trace, number, parent, command):
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shell", "gen_ai.tool.call.id": f"c{number}"}
    asked = {"gen_ai.tool.call.arguments": json.dumps({"command": command}), "gen_ai.tool.call.result": "done"}
    return span(trace, number, parent, **told, **asked)


def request(*spans, service="shop"):
    resource = {"attributes": attributes(**({"service.name": service} if service else {}))}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": [*spans]}]}]}


@pytest.fixture
def exporter(shared, api, module_data):
    """A client of a new agent, at the root of the server, as an exporter is."""
    token = new_agent(module_data, f"tracer {secrets.token_hex(4)}")
    base = str(shared.client.base_url).partition("/api")[0]
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        yield client


def trajectories(run):
    with reading() as session:
        body, record = tables.TrajectoryBody, tables.Trajectory
        statement = (
            select(body.body)
            .join(record, record.id == body.trajectory_id)
            .join(tables.Run, tables.Run.id == record.run_id)
            .where(tables.Run.name == run)
            .order_by(record.id)
        )
        return [orjson.loads(text) for text in session.exec(statement)]


def actions(run):
    return [[step["action"] for step in one["steps"]] for one in trajectories(run)]


def shell(command):
    return f'shell({{"command":"{command}"}})'


@pytest.mark.at_length
def test_a_trace_is_a_trajectory_when_its_root_ends_and_late_spans_extend_it(exporter):
    first = exporter.post("/v1/traces", json=request(tool(1, 2, 1, "ls"), service="kettles"))
    assert (first.status_code, first.json()) == (200, {})
    assert actions("kettles") == []
    packed = gzip.compress(orjson.dumps(request(span(1, 1), service="kettles")))
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    assert exporter.post("/v1/traces", content=packed, headers=headers).status_code == 200
    assert actions("kettles") == [[shell("ls")]]
    for _ in range(2):
        late = request(tool(1, 3, 1, "git push"), service="kettles")
        assert exporter.post("/v1/traces", json=late).status_code == 200
    assert actions("kettles") == [[shell("ls"), shell("git push")]]
    assert trajectories("kettles")[0]["source"]["session"] == f"{1:032x}"


def test_a_trace_without_a_root_is_read_after_a_silence(exporter):
    exporter.post("/v1/traces", json=request(tool(2, 2, 1, "ls"), service="silent"))
    assert actions("silent") == []
    live_traces.build_due(now_ms() + live_traces.SILENCE_S * 1_000 + 1)
    assert actions("silent") == [[shell("ls")]]


def test_without_a_service_the_agent_names_the_run_and_no_agent_writes_into_anothers(exporter, shared, module_data):
    exporter.post("/v1/traces", json=request(span(3, 1), tool(3, 2, 1, "ls"), service=""))
    exporter.post("/v1/traces", json=request(span(4, 1), tool(4, 2, 1, "ls"), service="mine"))
    other = new_agent(module_data, "another tracer")
    said = exporter.post(
        "/v1/traces",
        json=request(span(5, 1), tool(5, 2, 1, "rm -r x"), service="mine"),
        headers={"Authorization": f"Bearer {other}"},
    )
    assert said.status_code == 409
    assert "does not hold traces of the agent another tracer" in said.json()["error"]
    assert actions("mine") == [[shell("ls")]]
    with reading() as session:
        assert any(name.startswith("tracer") for name in session.exec(select(tables.Run.name)))


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {"content-type": "application/json"}, 400),
        (b"[]", {"content-type": "application/json"}, 400),
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {"content-type": "application/json", "content-encoding": "deflate"}, 415),
        (b"{}", {"content-type": "application/json", "content-encoding": "gzip"}, 400),
        (gzip.compress(b"{}", mtime=0)[:-6], {"content-type": "application/json", "content-encoding": "gzip"}, 400),
        (gzip.compress(b" " * (65 * 2**20)), {"content-type": "application/json", "content-encoding": "gzip"}, 413),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(exporter, content, headers, status):
    assert exporter.post("/v1/traces", content=content, headers=headers).status_code == status


def test_spans_with_ids_that_are_not_hexadecimal_are_rejected_by_number(exporter):
    base64 = {**span(6, 1), "traceId": b64encode(b"0" * 16).decode()}
    said = exporter.post("/v1/traces", json=request(span(6, 2), base64, service="partly")).json()
    assert said["partialSuccess"]["rejectedSpans"] == 1
    assert "hexadecimal" in said["partialSuccess"]["errorMessage"]


class _LossyLine:
    """A line to the server that closes every third connection after the server took the request, before its answer."""

    def __init__(self, port):
        self.port, self.lost, self.listener = port, 0, socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        with suppress(OSError):
            for number in count(1):
                threading.Thread(target=self._serve, args=(self.listener.accept()[0], number % 3 == 0)).start()

    def _serve(self, near, is_lost):
        with near, socket.create_connection(("127.0.0.1", self.port)) as far, suppress(OSError):
            threading.Thread(target=self._copy, args=(near, far), daemon=True).start()
            while answer := far.recv(2**16):
                if is_lost:
                    self.lost += 1
                    return
                near.sendall(answer)

    def _copy(self, near, far):
        with suppress(OSError):
            while asked := near.recv(2**16):
                far.sendall(asked)


@pytest.mark.parametrize("traces", [20, pytest.param(250, marks=pytest.mark.at_length)])
def test_four_real_exporters_lose_and_double_nothing(shared, api, module_data, traces):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the OTLP exporter is not installed")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    line = _LossyLine(shared.client.base_url.port)
    token, run_name, tools = new_agent(module_data, f"four exporters {traces}"), f"many {traces}", 9

    def send(number, base):
        exporter = OTLPSpanExporter(f"{base}/v1/traces", headers={"Authorization": f"Bearer {token}"}, timeout=60)
        provider = TracerProvider(resource=Resource.create({"service.name": run_name}))
        provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=20_000, max_export_batch_size=500))
        tracer = provider.get_tracer("test")
        for trace in range(traces):
            with tracer.start_as_current_span("invoke_agent"):
                for call in range(tools):
                    told = {
                        "gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": "shell",
                        "gen_ai.tool.call.id": f"c{call}",
                        "gen_ai.tool.call.arguments": json.dumps({"command": f"{number} {trace} {call}"}),
                    }
                    with tracer.start_as_current_span("execute_tool shell", attributes=told):
                        pass
        provider.force_flush(120_000)
        provider.shutdown()

    with line as base:
        threads = [threading.Thread(target=send, args=(number, base)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert line.lost > 0
    with reading() as session:
        run = session.exec(select(tables.Run).where(tables.Run.name == run_name)).one()
        stored = session.exec(select(func.count()).where(tables.LiveSpan.run_id == run.id)).one()
    assert stored == 4 * traces * (tools + 1)
    found = actions(run_name)
    wanted = [[shell(f"{n} {trace} {call}") for call in range(tools)] for n in range(4) for trace in range(traces)]
    assert sorted(found) == sorted(wanted)
