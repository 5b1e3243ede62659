"""Routes of the API beside checks: health, imports, and the document that describes them."""

import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

import httpx
import jsonschema
import pytest
from prometheus_client.parser import text_string_to_metric_families

from console.database import writing
from console.gate.policy.policy_store import choose
from console.server.api.routes import API
from storage.tables import ReplacedPolicy
from tests.logs import purchase, write_log

DOCUMENT = API.openapi()
OPERATIONS = [(method, path) for path, item in DOCUMENT["paths"].items() for method in item]


@pytest.mark.at_length
def test_health_tells_how_long_the_oldest_has_waited_and_the_server_stops_at_once_though_an_agent_waits(
    serve, question
):
    server = serve()
    empty = server.client.get("/health").json()
    assert empty == {"status": "ok", "database": True, "oldest_pending_s": None, "version": version("inferact-console")}
    check_id = server.client.post("/checks", json=question()).json()["check_id"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.client.get, f"/checks/{check_id}?wait=60")
        time.sleep(0.5)
        assert 0.5 <= server.client.get("/health").json()["oldest_pending_s"] < 30
        assert server.stop() < 10
        assert waiting.result(timeout=5).status_code == 202
    assert "Traceback" not in server.said()


@pytest.mark.at_length
def test_ready_names_what_a_console_still_waits_for(serve):
    server = serve()
    assert server.client.get("/ready").json() == {"ready": True, "problems": []}
    replaced = {"epoch": 1, "version": 1, "text": "default: ask", "digest": "d", "author": "ada", "created_ms": 1}
    with writing() as session:
        session.add(ReplacedPolicy(run="*", **replaced))
    said = server.client.get("/ready")
    assert (said.status_code, said.json()["ready"]) == (503, False)
    assert "inferact policy set" in said.json()["problems"][0]
    with writing() as session:
        choose(session, "*", 2)
        session.connection().exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    with server.client_with("") as unknown:
        said = unknown.get("/ready")
    assert said.status_code == 503
    assert "inferact db upgrade" in said.json()["problems"][0]


@pytest.mark.at_length
def test_metrics_are_counts_that_prometheus_reads(api, admin, question):
    asked = question()
    assert api.post("/checks", json=asked).status_code == 202
    assert "may not import or read metrics" in api.get("/metrics").json()["error"]
    said = admin.get("/metrics")
    assert said.headers["content-type"].startswith("text/plain; version=")
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(said.text)
        for sample in family.samples
    }
    assert found["inferact_waiting_agents",] == 1
    assert 0 <= found["inferact_longest_wait_seconds",] < 60
    assert found["inferact_pending_items", asked["run"]] == 1
    assert found["inferact_dead_messages",] == found["inferact_expired_items",] == 0
    assert found["inferact_console_info", version("inferact-console")] == 1
    assert found["process_resident_memory_bytes",] > 10 << 20
    assert asked["task"] not in said.text


def test_the_document_is_served_and_names_every_operation(api):
    said = api.get("/openapi.json")
    assert said.status_code == 200
    assert said.json() == DOCUMENT
    assert set(said.json()["paths"]) == {
        "/api/v1/checks",
        "/api/v1/checks/{check_id}",
        "/api/v1/checks/{check_id}/begin",
        "/api/v1/checks/{check_id}/result",
        "/api/v1/trajectories",
        "/v1/traces",
        "/api/v1/health",
        "/api/v1/ready",
        "/api/v1/metrics",
    }


def test_the_document_holds_together():
    assert DOCUMENT["openapi"] == "3.1.0"
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema.get("description"), name
    names = [one["operationId"] for path in DOCUMENT["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))
    for reference in _references(DOCUMENT):
        found = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_operation_says_what_it_does_and_how_it_refuses(method, path):
    said = DOCUMENT["paths"][path][method]
    assert said["description"].endswith(".")
    assert "403" in said["responses"]
    assert ("401" in said["responses"]) == (path not in ("/api/v1/health", "/api/v1/ready"))
    assert {one["name"] for one in said.get("parameters", []) if one["in"] == "path"} == (
        {"check_id"} if "{check_id}" in path else set()
    )


def test_the_document_names_the_token_the_bodies_and_the_parameters():
    assert DOCUMENT["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert DOCUMENT["security"] == [{"token": []}]
    assert DOCUMENT["paths"]["/api/v1/health"]["get"]["security"] == [{}]
    check = DOCUMENT["paths"]["/api/v1/checks"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert check == {"$ref": "#/components/schemas/CheckSent"}
    imported = DOCUMENT["paths"]["/api/v1/trajectories"]["post"]
    assert set(imported["requestBody"]["content"]) == {"application/octet-stream"}
    assert {one["name"]: one["required"] for one in imported["parameters"]} == {
        "run": True,
        "format": False,
        "name": False,
    }
    waited = DOCUMENT["paths"]["/api/v1/checks/{check_id}"]["get"]["parameters"]
    assert {one["name"] for one in waited} == {"check_id", "wait"}


def test_what_is_answered_is_what_the_document_says(api, question):
    waiting = api.post("/checks", json=question()).json()
    for schema, found in (
        ("Check", waiting),
        ("Check", api.delete(f"/checks/{waiting['check_id']}").json()),
        ("Health", api.get("/health").json()),
        ("Problem", api.get("/checks/0-0").json()),
    ):
        jsonschema.validate(found, {"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]})


def test_every_answer_carries_the_policy(shared):
    for path in ("/", "/api/v1/health", "/api/nothing"):
        headers = httpx.get(shared.url + path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def _seconds(client):
    started = time.perf_counter()
    client.get("/openapi.json")
    return time.perf_counter() - started


def test_no_answer_waits_for_an_acknowledgement(api, shared):
    """An answer whose second part waits for the first one's takes the 40 ms that a client puts it off."""
    kept, fresh = [], []
    for _ in range(20):
        with shared.client_with("") as client:
            # The first answer on a connection never waits so.
            fresh.append(_seconds(client))
            kept += [_seconds(client) for _ in range(3)]
    assert min(kept) < 3 * min(fresh)


def _references(part):
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref":
                yield value
            else:
                yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)


@pytest.fixture
def log(tmp_path):
    return write_log(tmp_path / "kettles.jsonl", purchase(0, wrong=True), purchase(1, wrong=False)).read_bytes()


def test_a_log_is_imported_and_known_the_second_time(admin, log):
    said = admin.post("/trajectories?run=sent&name=kettles.jsonl", content=log)
    assert said.status_code == 200
    assert said.json() == {
        "files": [
            {
                "path": "kettles.jsonl",
                "format": "jsonl",
                "read": 2,
                "imported": 2,
                "extended": 0,
                "duplicates": 0,
                "skipped": 0,
                "rejected": [],
                "trajectories": 2,
                "calls": 8,
                "answers": 0,
                "pictures": 0,
                "decisions": 0,
                "left_out": [],
                "documents": [],
            }
        ],
        "imported": 2,
        "rejected": 0,
    }
    again = admin.post("/trajectories?run=sent&format=jsonl", content=log).json()
    assert (again["imported"], again["files"][0]["duplicates"]) == (0, 2)


def test_a_damaged_log_leaves_nothing_behind_and_names_its_line(admin, log):
    said = admin.post("/trajectories?run=damaged&name=a.jsonl&format=jsonl", content=log + b"{broken\n")
    assert said.status_code == 422
    document = said.json()
    assert document["files"][0]["rejected"][0]["line"] == 3
    assert document["error"].startswith("a.jsonl, line 3:")
    assert document["imported"] == 0
    whole = admin.post("/trajectories?run=damaged&name=a.jsonl", content=log).json()
    assert whole["imported"] == 2


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "?run=NAME"),
        ("?run=", "?run=NAME"),
        ("?run=a/b", "not a valid run name"),
        ("?run=a&format=no", "Unknown format 'no'"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused(admin, log, query, named):
    said = admin.post(f"/trajectories{query}", content=log)
    assert said.status_code == 422
    assert named in said.json()["error"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a\x00b", "x" * 500])
def test_a_name_is_no_path(admin, log, name):
    said = admin.post("/trajectories", params={"run": "named", "name": name, "format": "jsonl"}, content=log)
    assert said.status_code == 200


def test_an_empty_body_is_refused(admin):
    said = admin.post("/trajectories?run=empty", content=b"")
    assert said.status_code == 422
    assert said.json()["error"]


def test_an_agent_may_not_import(api, log):
    said = api.post("/trajectories?run=by-an-agent", content=log)
    assert said.status_code == 403
    assert "may not import" in said.json()["error"]
