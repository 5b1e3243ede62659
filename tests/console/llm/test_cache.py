"""Replies on disk: paid for once, in whatever process, and without a key in them."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from console.errors import Refused
from console.llm.cache import Replies
from console.llm.messages import Reply, Request, Token, Usage, parse_stored_reply
from tests.fakes.answers import Fault, judging
from tests.fakes.endpoint import serving
from tests.fakes.judges import in_turn

ROOT = Path(__file__).resolve().parents[3]


def test_a_second_run_makes_no_request_and_says_so(ask, tmp_path):
    questions = [f"question {i}" for i in range(5)]
    with serving(lambda ask: judging(0.3)) as endpoint:
        first, _ = ask(endpoint, *questions, client={"cache_dir": tmp_path}, logprobs=True, top_logprobs=5)
        again, llm = ask(endpoint, *questions, client={"cache_dir": tmp_path}, logprobs=True, top_logprobs=5)
        assert endpoint.requests == 5
    assert all(reply.cached for reply in again)
    assert [reply.as_cached() for reply in first] == again
    assert (llm.tally.requests, llm.tally.cached) == (0, 5)


def test_only_what_is_missing_is_asked(ask, tmp_path):
    with serving("ok") as endpoint:
        ask(endpoint, "a", "b", client={"cache_dir": tmp_path})
        ask(endpoint, "a", "b", "c", client={"cache_dir": tmp_path})
    *together, last = [request.last for request in endpoint.asks]
    assert (sorted(together), last) == (["a", "b"], "c")


@pytest.mark.parametrize(
    "other",
    [
        {"temperature": 0.5},
        {"max_tokens": 3},
        {"n": 2},
        {"logprobs": True},
        {"seed": 1},
        {"take": 1},
        {"client": {"model": "other"}},
    ],
    ids=str,
)
def test_any_other_request_is_another_question(ask, tmp_path, other):
    asked = dict(other)
    client = asked.pop("client", {})
    with serving("ok") as endpoint:
        ask(endpoint, "q", client={"cache_dir": tmp_path})
        ask(endpoint, "q", client={"cache_dir": tmp_path} | client, **asked)
        assert endpoint.requests == 2


def test_the_same_words_at_another_address_are_another_question():
    request = Request("test", ({"role": "user", "content": "q"},), 0.0, 5)
    assert request.key("http://one/v1") != request.key("http://two/v1")


def test_a_failure_is_not_kept(ask, tmp_path):
    with serving(in_turn(Fault("500"), "well")) as endpoint:
        [failure], _ = ask(endpoint, "q", client={"cache_dir": tmp_path, "retries": 0})
        [reply], _ = ask(endpoint, "q", client={"cache_dir": tmp_path})
    assert isinstance(failure, Exception)
    assert reply.text == "well"


def test_neither_key_nor_question_is_on_disk(ask, tmp_path):
    with serving("ok") as endpoint:
        ask(endpoint, "a private question", client={"cache_dir": tmp_path, "account": "run-1"})
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"ok" in written
    assert b"sk-secret-key" not in written
    assert b"private question" not in written


def test_a_reply_reads_back_as_it_was():
    tokens = (Token("A", -0.1, (("A", -0.1), ("B", -2.5))), Token(" b", -3.0))
    reply = Reply(("A b", ""), (tokens, None), "m", Usage(3, 2, 1), ("stop", "length"), 12.5, 0.25, 2, False, ("n",))
    assert parse_stored_reply(reply.to_json()) == reply


def test_a_reply_of_another_form_is_asked_for_again(tmp_path):
    replies = Replies(tmp_path)
    replies.put("k", Reply(("x",), (None,), "m"))
    with sqlite3.connect(replies.path) as db:
        db.execute("UPDATE reply SET body = ?", (b'{"from": "the future"}',))
    db.close()
    assert replies.get("k") is None
    replies.close()


def test_a_damaged_file_is_told_with_what_to_do(tmp_path):
    (tmp_path / "replies.sqlite").write_bytes(b"not a database at all, only words" * 100)
    with pytest.raises(Refused, match="Move the file away"):
        Replies(tmp_path)


@pytest.mark.at_length
def test_several_processes_write_at_once(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from console.llm.cache import Replies; from console.llm.messages import Reply\n"
        "replies = Replies(Path(sys.argv[1]))\n"
        "for i in range(100):\n"
        "    replies.put(f'{sys.argv[2]}-{i}', Reply((str(i),), (None,), 'm'))\n"
        "    replies.charge('all', 0.5)\n"
        "replies.close()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    writers = [subprocess.Popen([*command, name], cwd=ROOT) for name in ("one", "two", "three")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    replies = Replies(tmp_path)
    assert [replies.get(f"{name}-99").text for name in ("one", "two", "three")] == ["99"] * 3
    assert replies.spent_usd("all") == 150.0
    replies.close()


@pytest.mark.at_length
def test_a_killed_run_keeps_what_it_had(ask, tmp_path):
    code = (
        "import asyncio, sys; from pathlib import Path; from console.llm import LLM, ClientOptions\n"
        "async def main():\n"
        "    options = ClientOptions(base_url=sys.argv[1], cache_dir=Path(sys.argv[2]), concurrency=1)\n"
        "    async with LLM('test', options) as llm:\n"
        "        for i in range(50):\n"
        "            await llm.complete([{'role': 'user', 'content': f'question {i}'}])\n"
        "            print(i, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with serving("ok", latency_s=0.02) as endpoint:
        command = [sys.executable, "-c", code, endpoint.url, str(tmp_path)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
            while run.stdout.readline().strip() != "9":
                pass
            run.kill()
        asked_before = endpoint.requests
        questions = [f"question {i}" for i in range(50)]
        replies, _ = ask(endpoint, *questions, client={"cache_dir": tmp_path})
        assert all(reply.text == "ok" for reply in replies)
        missing = sum(not reply.cached for reply in replies)
        assert endpoint.requests - asked_before == missing
        assert missing <= 40
