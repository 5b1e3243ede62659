"""The client against a real server: choices, probabilities, limits, and questions that are not asked twice."""

import asyncio
import gc
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from console.llm import LLM, ClientOptions, connect
from console.llm.client import find_capabilities, probe
from console.llm.errors import NoModel
from console.settings import settings
from tests.fakes.answers import Answer, Fault, judging
from tests.fakes.endpoint import serving


def test_a_reply_has_text_usage_latency_and_no_cost_where_no_price_is_known(ask):
    with serving("It fits.", latency_s=0.05) as endpoint:
        [reply], llm = ask(endpoint, "Does it fit?")
    assert reply.text == "It fits."
    assert reply.usage.prompt_tokens == 3
    assert reply.latency_ms >= 50
    assert reply.cost_usd is None
    assert not reply.cached
    assert reply.finish == ("stop",)
    assert (llm.tally.requests, llm.tally.prompt_tokens) == (1, 3)


def test_the_request_is_what_was_asked_for(ask):
    with serving("yes") as endpoint:
        ask(endpoint, "q", temperature=0.7, max_tokens=7, n=2, logprobs=True, top_logprobs=5, seed=11)
    body = endpoint.asks[0].body
    assert body == {
        "model": "test",
        "messages": [{"role": "user", "content": "q"}],
        "temperature": 0.7,
        "max_tokens": 7,
        "n": 2,
        "logprobs": True,
        "top_logprobs": 5,
        "seed": 11,
    }
    assert endpoint.asks[0].headers["authorization"] == "Bearer sk-secret-key"


def test_token_probabilities_come_with_their_alternatives(ask):
    with serving(lambda ask: judging(0.8)) as endpoint:
        [reply], _ = ask(endpoint, "A or B?", logprobs=True, top_logprobs=5)
    first = reply.token_logprobs[0][0]
    assert first.text == "B"
    assert math.exp(first.logprob) == pytest.approx(0.8)
    assert {text: pytest.approx(math.exp(logprob)) for text, logprob in first.top} == {"B": 0.8, "A": 0.2}
    assert reply.has_logprobs


def test_five_choices_are_one_request_where_the_endpoint_gives_them(ask):
    with serving(lambda ask: Answer(["one", "two", "three"])) as endpoint:
        [reply], _ = ask(endpoint, "q", n=3, temperature=0.7)
    assert reply.texts == ("one", "two", "three")
    assert (endpoint.requests, reply.requests, reply.without) == (1, 1, ())


def test_five_choices_are_asked_one_by_one_where_it_does_not(ask):
    with serving(lambda ask: f"answer {ask.number}", offers=["logprobs"]) as endpoint:
        replies, _ = ask(endpoint, "q", n=5, temperature=0.7, seed=3, client={"concurrency": 1})
        assert endpoint.requests == 5
        assert sorted(replies[0].texts) == [f"answer {number}" for number in range(5)]
        assert replies[0].requests == 5
        assert replies[0].without == ("n",)
        assert replies[0].usage.completion_tokens == 15
    assert sorted(request.body["seed"] for request in endpoint.asks) == [3, 4, 5, 6, 7]


def test_an_endpoint_without_logprobs_is_said_in_the_reply(ask):
    with serving("A", offers=["n"]) as endpoint:
        [reply], _ = ask(endpoint, "q", logprobs=True, top_logprobs=5)
    assert reply.token_logprobs == (None,)
    assert not reply.has_logprobs
    assert reply.without == ("logprobs",)


def test_no_more_requests_are_out_than_allowed(ask):
    with serving("ok", latency_s=0.02) as endpoint:
        replies, _ = ask(endpoint, *(f"question {i}" for i in range(30)), client={"concurrency": 4})
    assert [reply.text for reply in replies] == ["ok"] * 30
    assert endpoint.most_in_flight == 4


def test_the_same_question_at_the_same_time_is_sent_once(ask):
    with serving("ok", latency_s=0.05) as endpoint:
        replies, llm = ask(endpoint, "q", "q", "q")
    assert endpoint.requests == 1
    assert [reply.cached for reply in replies] == [False, True, True]
    assert llm.tally.cached == 2


def test_a_caller_that_leaves_does_not_take_the_answer_from_the_others():
    async def leave(url):
        async with LLM("test", ClientOptions(base_url=url)) as llm:
            messages = [{"role": "user", "content": "q"}]
            first = asyncio.create_task(llm.complete(messages))
            second = asyncio.create_task(llm.complete(messages))
            await asyncio.sleep(0.05)
            first.cancel()
            return await second

    with serving("still here", latency_s=0.2) as endpoint:
        assert asyncio.run(leave(endpoint.url)).text == "still here"
        assert endpoint.requests == 1


def test_one_client_serves_one_event_loop_after_the_other():
    with serving("ok") as endpoint:
        llm = LLM("test", ClientOptions(base_url=endpoint.url))

        async def once(text):
            reply = await llm.complete([{"role": "user", "content": text}])
            await llm.aclose()
            return reply

        assert [asyncio.run(once(text)).text for text in ("a", "b")] == ["ok", "ok"]


def test_a_client_that_nobody_closes_is_closed_with_its_event_loop(recwarn):
    with serving("ok") as endpoint:
        llm = LLM("test", ClientOptions(base_url=endpoint.url))
        for text in ("a", "b"):
            assert asyncio.run(llm.complete([{"role": "user", "content": text}])).text == "ok"
        del llm
        gc.collect()
    assert not recwarn.list


def test_several_threads_share_a_client_each_with_its_own_loop():
    with serving("ok", latency_s=0.05) as endpoint, ThreadPoolExecutor(3) as pool:
        llm = LLM("test", ClientOptions(base_url=endpoint.url, retries=0))

        async def several(name):
            questions = [[{"role": "user", "content": f"{name} {number}"}] for number in range(5)]
            return await asyncio.gather(*(llm.complete(question) for question in questions))

        replies = list(pool.map(lambda name: asyncio.run(several(name)), "abc"))
    assert [[reply.text for reply in some] for some in replies] == [["ok"] * 5] * 3


def test_half_of_a_surrogate_pair_does_not_stop_a_question(ask):
    with serving("ok") as endpoint:
        [reply], _ = ask(endpoint, "broken \ud83d emoji")
    assert reply.text == "ok"
    assert endpoint.asks[0].last == "broken ? emoji"


def test_without_a_model_the_error_says_what_to_set():
    with pytest.raises(NoModel, match="INFERACT_MODEL"):
        connect()


def test_without_key_and_address_the_error_says_what_to_set(ask):
    async def lost():
        async with LLM("gpt-4o") as llm:
            await llm.complete([{"role": "user", "content": "q"}])

    with pytest.raises(NoModel, match="OPENAI_API_KEY"):
        asyncio.run(lost())


def test_the_settings_and_the_ecosystems_variables_are_enough(monkeypatch, data_dir):
    async def asked():
        async with connect() as llm:
            return await llm.complete([{"role": "user", "content": "q"}])

    with serving("ok") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-shell")
        monkeypatch.setenv("INFERACT_MODEL", "llama")
        settings.cache_clear()
        assert asyncio.run(asked()).model == "llama"
        assert asyncio.run(asked()).cached
        assert endpoint.requests == 1
        assert endpoint.asks[0].headers["authorization"] == "Bearer sk-of-the-shell"
    assert (data_dir / "cache").is_dir()


def test_importing_the_client_does_not_import_the_library_behind_it():
    code = "import sys, console.llm; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def test_the_key_is_in_no_log(ask, caplog):
    caplog.set_level("DEBUG")
    with serving("ok") as endpoint:
        ask(endpoint, "q")
    assert caplog.text
    assert "sk-secret-key" not in caplog.text


def probed(script, **offers):
    async def asked(url):
        async with LLM("test", ClientOptions(base_url=url, retries=0)) as llm:
            return await probe(llm)

    with serving(script, **offers) as endpoint:
        return asyncio.run(asked(endpoint.url))


@pytest.mark.parametrize(
    "offers", [{"n", "logprobs"}, {"n"}, {"logprobs"}, set()], ids=["both", "n", "logprobs", "nothing"]
)
def test_it_tells_what_there_is(offers):
    offer = probed(lambda ask: judging(0.1), offers=offers)
    assert offer.answers
    assert offer.choices == ("n" in offers)
    assert offer.logprobs == ("logprobs" in offers)
    assert offer.alternatives == (2 if "logprobs" in offers else 0)
    assert offer.problem is None


def test_a_parameter_that_is_not_taken_is_named():
    offer = probed(lambda ask: Fault("400", message="'seed' is not supported") if "seed" in ask.body else "A")
    assert offer.left_out == ("seed",)


def test_why_it_does_not_answer_is_said():
    offer = probed(lambda ask: Fault("401"))
    assert not offer.answers
    assert "OPENAI_API_KEY" in offer.problem


def test_the_settings_endpoint_is_asked_afresh_each_time(monkeypatch):
    with serving("A") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        assert asyncio.run(find_capabilities("llama")).model == "llama"
        monkeypatch.setenv("INFERACT_MODEL", "phi")
        settings.cache_clear()
        assert [asyncio.run(find_capabilities()).model for _ in range(2)] == ["phi", "phi"]
        assert endpoint.requests == 3


def test_without_a_model_it_says_what_to_set():
    assert "INFERACT_MODEL" in asyncio.run(find_capabilities()).problem


def test_without_a_way_to_a_model_it_says_what_to_set():
    assert "OPENAI_API_KEY" in asyncio.run(find_capabilities("gpt-4o")).problem
