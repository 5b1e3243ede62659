"""What cannot be used is refused in one sentence of JSON, and never with a traceback."""

import socket
import time

import httpx
import pytest

from tests.signing_in import signed_in


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"run": ""}, "is not a valid run name"),
        ({"task": "  "}, "task"),
        ({"action": ""}, "action is empty"),
        ({"detector": "no-such"}, "no-such"),
        ({"trial": -1}, "trial"),
        ({"budget": -1}, "budget"),
        *(({name: 2**63}, name) for name in ("trial", "budget", "reviews_per_item")),
        ({"threshold": 2}, "threshold"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"surprise": 1}, "surprise"),
        ({"steps": [{"observed": "x"}]}, "steps.0"),
        ({"critical": "refund*"}, "critical"),
        ({"on_timeout": "approve"}, "on_timeout"),
    ],
)
def test_a_check_that_cannot_be_used_is_refused_and_names_why(api, question, change, named):
    said = api.post("/checks", json=question() | change)
    assert said.status_code in (404, 422)
    assert list(said.json()) == ["error"]
    assert named in said.json()["error"]
    assert "Traceback" not in said.text


def test_an_endless_name_is_shown_by_its_beginning(api, question):
    said = api.post("/checks", json=question() | {"9" * 5_000: 1}).json()["error"]
    assert "9" * 80 in said
    assert len(said) < 300


@pytest.mark.at_length
def test_a_client_that_hangs_up_in_the_middle_of_a_body_leaves_no_traceback(shared, api):
    head = "POST /api/v1/checks HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n"
    head += f"Authorization: {api.headers['Authorization']}\r\n\r\n{{"
    with socket.create_connection(("127.0.0.1", shared.port)) as half:
        half.sendall(head.encode())
        time.sleep(0.5)
    time.sleep(0.5)
    assert api.get("/health").status_code == 200
    assert "Traceback" not in shared.said()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b'"x"', b"\xff\xfe", b"null"])
def test_a_body_that_is_no_object_is_refused(api, body):
    said = api.post("/checks", content=body)
    assert said.status_code in (400, 422)
    assert set(said.json()) == {"error"}


def test_a_body_that_is_too_large_is_refused(api):
    said = api.post("/checks", content=b'{"run": "' + b"x" * (9 * 2**20) + b'"}')
    assert said.status_code == 413
    assert "larger than 8 MB" in said.json()["error"]


def test_a_body_that_does_not_say_how_large_it_is_is_cut_off(api):
    def endless():
        for _ in range(200):
            yield b"x" * 2**16

    try:
        said = api.post("/checks", content=endless())
    except httpx.WriteError:
        return
    assert said.status_code == 413


@pytest.mark.parametrize("path", ["/nothing", "/checks/1-1/nothing", "/", "/../v2/checks", "/openapi.yaml"])
def test_an_address_that_is_not_there_is_a_404_in_json(api, shared, path):
    said = api.get(f"{shared.url}/api/v1{path}")
    assert said.status_code == 404
    assert "openapi.json" in said.json()["error"]


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/x", "/api/v2/checks"])
def test_nothing_under_api_is_answered_with_the_console_s_page(shared, path):
    said = shared.client.get(shared.url + path, follow_redirects=True)
    assert said.status_code == 404
    assert said.headers["content-type"] == "application/json"


def test_a_method_that_is_not_there_is_a_405_in_json(api):
    said = api.put("/checks", json={})
    assert said.status_code == 405
    assert "error" in said.json()


def test_the_console_s_own_page_is_served_beside_it(shared, api):
    said = httpx.get(shared.url, headers={"Accept": "text/html"}, follow_redirects=True)
    assert said.status_code == 200
    assert "Open your link" in said.text
    said = httpx.get(shared.url, cookies={f"inferact_{shared.port}": signed_in()})
    assert said.status_code == 200
    assert "<title>Streamlit</title>" in said.text
