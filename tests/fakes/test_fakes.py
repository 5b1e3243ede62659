"""The test endpoint itself: one write a response, counters, and every mishap."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes.answers import Answer, judging
from tests.fakes.endpoint import serving
from tests.fakes.judges import MISHAPS, rule

ROOT = Path(__file__).resolve().parents[2]


def sent(url, *, patience_s=10, **body):
    """The bytes of the first read after one request, on a connection of its own."""
    address = urlsplit(url)
    told = json.dumps({"model": "m", "messages": [{"role": "user", "content": "q"}]} | body).encode()
    with socket.create_connection((address.hostname, address.port), timeout=patience_s) as line:
        line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(told) + told)
        return line.recv(1 << 20)


def test_a_response_is_one_write_header_and_body():
    with serving("x" * 10_000) as endpoint:
        head, _, body = sent(endpoint.url, n=2).partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head
    assert len(json.loads(body)["choices"]) == 2


def test_the_letters_have_the_odds_that_were_set():
    with serving(lambda ask: judging(0.25)) as endpoint:
        body = sent(endpoint.url, logprobs=True, top_logprobs=2).partition(b"\r\n\r\n")[2]
    first = json.loads(body)["choices"][0]["logprobs"]["content"][0]
    assert (first["token"], [other["token"] for other in first["top_logprobs"]]) == ("A", ["A", "B"])


@pytest.mark.parametrize("name", MISHAPS)
def test_every_mishap_is_answered_or_cut_as_it_says(name):
    with serving(lambda ask: MISHAPS[name](Answer(["A. True"]))) as endpoint:
        if name != "timeout":
            sent(endpoint.url)
        else:
            with pytest.raises(TimeoutError):
                sent(endpoint.url, patience_s=0.3)
    assert endpoint.requests == 1


def test_it_runs_as_a_program_that_tells_its_counters():
    command = [sys.executable, "-m", "tests.fakes.endpoint", "--latency", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        try:
            url = program.stdout.readline().strip()
            assert b"200 OK" in sent(url)
            address = urlsplit(url)
            with socket.create_connection((address.hostname, address.port), timeout=10) as line:
                line.sendall(b"GET /counts HTTP/1.1\r\n\r\n")
                counts = json.loads(line.recv(1 << 16).partition(b"\r\n\r\n")[2])
        finally:
            program.kill()
    assert (counts["requests"], counts["most_in_flight"]) == (1, 1)


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Step N: probability", "Justification:"),
        ("Task: x", "Task:"),
        ("Verdict: x", "Verdict:"),
        ("A or B", "because"),
    ],
)
def test_the_judge_by_rule_answers_in_the_form_that_is_asked_for(question, form):
    with serving(rule) as endpoint:
        body = sent(endpoint.url, messages=[{"role": "user", "content": question}]).partition(b"\r\n\r\n")[2]
    assert form in json.loads(body)["choices"][0]["message"]["content"]
