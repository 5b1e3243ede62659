"""The served console tells an agent's server of each decision, and stops though that server is dead."""

import json
import time

import pytest

from console.server.webhooks import signature
from tests.receiver import receiving
from tests.serving import free_port

SECRET = "not base64 but long enough"


@pytest.mark.at_length
def test_a_decision_is_told_by_the_server_that_asked(serve, question, decide):
    asked = question()
    with receiving() as receiver:
        receiver.answers = [500, 200]
        server = serve(INFERACT_WEBHOOK_URL=receiver.url, INFERACT_WEBHOOK_SECRET=SECRET)
        check_id = server.client.post("/checks", json=asked).json()["check_id"]
        decide(asked["run"], "reject", "Too dear.")
        deadline = time.monotonic() + 20
        while len(receiver.got) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert server.stop() < 10
    (_, first, _), (_, headers, body) = receiver.got
    headers = {name.lower(): value for name, value in headers.items()}
    right = signature(SECRET.encode(), headers["webhook-id"], int(headers["webhook-timestamp"]), body)
    assert headers["webhook-signature"] == right
    assert headers["webhook-id"] in first.values()
    data = json.loads(body)["data"]
    assert (data["check_id"], data["decision"], data["feedback"]) == (check_id, "reject", "Too dear.")
    assert SECRET not in server.said()


@pytest.mark.at_length
def test_a_receiver_that_is_not_there_holds_nothing_up(serve, question, decide):
    asked = question()
    server = serve(INFERACT_WEBHOOK_URL=f"http://127.0.0.1:{free_port()}/", INFERACT_WEBHOOK_SECRET=SECRET)
    check_id = server.client.post("/checks", json=asked).json()["check_id"]
    decide(asked["run"], "approve")
    assert server.client.get(f"/checks/{check_id}?wait=5").json()["decision"]["approved"] is True
    time.sleep(1.0)
    assert server.client.get("/health").status_code == 200
    assert server.stop() < 10
    assert "Traceback" not in server.said()
