"""What one agent may keep open, how many runs it may make, and how long a body may take."""

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from console.server.guard import BodyDeadline
from tests.serving import new_agent


@pytest.fixture
def limited(serve):
    """A server on which an agent may have two checks waiting and make three runs a day."""
    return serve(INFERACT_AGENT_WAITING="2", INFERACT_AGENT_RUNS="3")


@pytest.mark.at_length
def test_an_agent_has_so_many_checks_waiting_and_makes_so_many_runs_a_day(limited, question):
    api, asked = limited.client, question(run="first")
    waiting = api.post("/checks", json=asked)
    assert [waiting.status_code, api.post("/checks", json=question(run="second")).status_code] == [202, 202]
    refused = api.post("/checks", json=question(run="first"))
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert refused.json() == {
        "error": "2 checks of this agent are pending, the maximum for one agent. Wait for a decision, or "
        "withdraw a check."
    }
    assert api.post("/checks", json=asked).json() == waiting.json() | {"seconds_left": pytest.approx(1_800, abs=60)}
    with limited.client_with(new_agent(limited.data, "another")) as other:
        assert other.post("/checks", json=question(run="first")).status_code == 202
    assert api.delete(f"/checks/{waiting.json()['check_id']}").status_code == 200
    assert api.post("/checks", json=question(run="third")).status_code == 202
    refused = api.post("/checks", json=question(run="fourth"))
    assert (refused.status_code, "3 runs within a day" in refused.json()["error"]) == (429, True)


def body_of(parts, seconds=0.3):
    """(status, text) of an answer that echoes the length of a body, which comes in these (pause, part) pairs."""

    async def echo(request: Request):
        answer = PlainTextResponse(str(len(await request.body())))
        await asyncio.sleep(seconds * 2)
        # After the whole body, a slow answer is not an error: this waits for a hang-up.
        return PlainTextResponse("gone") if await request.is_disconnected() else answer

    async def run():
        coming, sent = iter(parts), []

        async def receive():
            pause, part, more = next(coming, (60, b"", False))
            await asyncio.sleep(pause)
            return {"type": "http.request", "body": part, "more_body": more}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
        app = Starlette(routes=[Route("/", echo, methods=["POST"])])
        await BodyDeadline(app, seconds)(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"]), b"".join(each.get("body", b"") for each in sent).decode()

    return asyncio.run(run())


def test_a_body_that_is_sent_by_half_is_answered_and_its_connection_closed():
    status, headers, said = body_of([(0, b"x", True)])
    assert (status, headers[b"connection"]) == (408, b"close")
    assert "did not arrive" in said


@pytest.mark.at_length
def test_a_body_that_trickles_is_given_up_and_a_large_one_has_the_time_that_it_needs():
    assert body_of([(0.1, b"x", True)] * 20)[0] == 408
    assert body_of([(0.1, b"x" * 2**16, True)] * 6 + [(0, b"", False)])[::2] == (200, str(6 * 2**16))
