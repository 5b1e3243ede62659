"""The log as JSON: a line for each request with its id, and nothing of what was sent."""

import json

import pytest

from console.server.log_lines import mask_path


def requests_in(said):
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    return [line for line in lines if line["logger"] == "console.requests"]


def test_each_request_is_a_line_with_its_id_and_without_content(serve, question):
    server = serve(INFERACT_LOG_FORMAT="json")
    asked = question()
    check_id = server.client.post("/checks", json=asked, headers={"X-Request-ID": "from-the-proxy"}).json()["check_id"]
    said = server.client.get(f"/checks/{check_id}?wait=0", headers={"X-Request-ID": "an odd id"})
    server.stop()
    lines = requests_in(server.said())
    first = next(line for line in lines if line.get("request_id") == "from-the-proxy")
    assert (first["method"], first["path"], first["status"]) == ("POST", "/api/v1/checks", 202)
    assert first["ms"] > 0
    assert said.headers["X-Request-ID"] in [line["request_id"] for line in lines if line["path"].endswith("/checks/…")]
    for secret in (asked["task"], "red kettle", check_id, server.client.headers["Authorization"][7:]):
        assert secret not in server.said()


@pytest.mark.at_length
def test_without_the_setting_requests_are_not_logged(shared, api):
    assert len(api.get("/health").headers["X-Request-ID"]) == 16
    assert requests_in(shared.said()) == []


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/invite/secret", "/invite/…"),
        ("/api/v1/checks/1-abc/begin", "/api/v1/checks/…/begin"),
        ("/media/a/b.png", "/media/…/b.png"),
        ("/" + "x" * 900, "/" + "x" * 199),
    ],
)
def test_a_path_is_logged_without_ids_and_tokens(path, shown):
    assert mask_path(path) == shown
