"""Faults of an endpoint: what is asked again, what is left out, and what is told in one sentence."""

import time

import pytest

from console.llm import LLM, ClientOptions, Reply
from console.llm.errors import BadReply, ModelRefused, ModelUnavailable, RequestRejected
from tests.fakes.answers import Answer, Fault, Raw
from tests.fakes.endpoint import serving
from tests.fakes.judges import MISHAPS, in_turn, mishap_prone
from tests.sweeps import sweep


@sweep("kind", ["500", "503", "429", "408", "cut", "garbage", "empty", "drop"])
def test_a_passing_fault_is_asked_again(ask, kind):
    with serving(in_turn(Fault(kind, retry_after=0.01), "well")) as endpoint:
        [reply], llm = ask(endpoint, "q")
    assert reply.text == "well"
    assert (endpoint.requests, llm.tally.retries) == (2, 1)


def test_a_request_without_an_answer_is_given_up_and_asked_again(ask):
    with serving(in_turn(Fault("timeout"), "well")) as endpoint:
        [reply], _ = ask(endpoint, "q", client={"timeout_s": 0.2})
    assert reply.text == "well"
    assert endpoint.requests == 2


@pytest.mark.at_length
def test_a_body_that_trickles_and_never_ends_is_given_up(ask):
    with serving(in_turn(Fault("trickle"), "well")) as endpoint:
        [reply], _ = ask(endpoint, "q", client={"timeout_s": 0.3})
    assert reply.text == "well"


@pytest.mark.at_length
def test_the_endpoint_is_left_alone_as_long_as_it_asks(ask):
    with serving(in_turn(Fault("429", retry_after=0.6), "well")) as endpoint:
        started = time.monotonic()
        ask(endpoint, "q")
        assert time.monotonic() - started >= 0.6


@sweep(
    ("kind", "error", "said"),
    [
        ("500", ModelUnavailable, "answered 500"),
        ("drop", ModelUnavailable, "cannot be reached"),
        ("empty", BadReply, "no `choices`"),
        ("garbage", BadReply, "invalid JSON"),
        ("cut", ModelUnavailable, "cannot be reached"),
    ],
    kept=2,
)
def test_a_lasting_fault_ends_in_a_named_error_that_can_be_retried(ask, kind, error, said):
    with serving(in_turn(Fault(kind, retry_after=0.0))) as endpoint:
        [failure], llm = ask(endpoint, "q", client={"retries": 1})
    assert type(failure) is error
    assert failure.retryable
    assert said in str(failure)
    assert (endpoint.requests, llm.tally.failed) == (2, 1)


def test_a_pause_that_is_longer_than_the_deadline_is_not_waited_for(ask):
    with serving(in_turn(Fault("429", retry_after=60))) as endpoint:
        started = time.monotonic()
        [failure], _ = ask(endpoint, "q", client={"deadline_s": 1.0})
        assert time.monotonic() - started < 5
    assert isinstance(failure, ModelUnavailable)
    assert endpoint.requests == 1


def test_the_deadline_holds_over_all_attempts_together(ask):
    with serving(in_turn(Fault("timeout"))) as endpoint:
        started = time.monotonic()
        [failure], _ = ask(endpoint, "q", client={"timeout_s": 0.3, "deadline_s": 0.5})
        assert time.monotonic() - started < 3
    assert isinstance(failure, ModelUnavailable)


@pytest.mark.parametrize(
    ("status", "advice"), [("401", "OPENAI_API_KEY"), ("404", "OPENAI_BASE_URL"), ("400", "on purpose")]
)
def test_a_rejected_request_is_not_sent_again(ask, status, advice):
    with serving(in_turn(Fault(status))) as endpoint:
        [failure], _ = ask(endpoint, "q")
    assert isinstance(failure, RequestRejected)
    assert not failure.retryable
    assert advice in str(failure)
    assert endpoint.requests == 1


def test_a_refusal_is_named(ask):
    with serving(in_turn(Answer(["x"], refusal="I must not."))) as endpoint:
        [failure], _ = ask(endpoint, "q")
    assert isinstance(failure, ModelRefused)
    assert "I must not." in str(failure)
    assert endpoint.requests == 1


def test_a_content_filter_is_a_refusal(ask):
    with serving(in_turn(Answer([""], finish="content_filter"))) as endpoint:
        [failure], _ = ask(endpoint, "q")
    assert isinstance(failure, ModelRefused)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "content_filter",
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        ),
        ("invalid_prompt", "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
        ("data_inspection_failed", "Input data may contain inappropriate content."),
    ],
)
def test_a_filter_before_the_model_that_answers_400_is_a_refusal_too(ask, code, said):
    error = {"message": said, "type": None, "param": "prompt", "code": code, "innererror": {"code": "Responsible"}}
    with serving(in_turn(Fault("400", document={"error": error}))) as endpoint:
        [failure], _ = ask(endpoint, "q")
    assert isinstance(failure, ModelRefused)
    assert said in str(failure)
    assert endpoint.requests == 1


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
ROUTED = {"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "x"}}, "user_id": "u"}


@sweep(
    ("fault", "said"),
    [
        (Fault("529", document=OVERLOADED), "answered 529: Overloaded"),
        (Raw(ROUTED), "no `choices` (Provider returned error)"),
        (Raw({"id": "x", "choices": [], "usage": None}), "no `choices`."),
        (Fault("page"), "answered 502: 502 Bad Gateway nginx"),
    ],
    ids=["overloaded", "an error within a success", "no choice", "a gateway's page"],
    kept=2,
)
def test_what_stands_before_a_model_fails_in_its_own_form_and_is_asked_again(ask, fault, said):
    with serving(in_turn(fault, "well")) as endpoint:
        [reply], _ = ask(endpoint, "q")
        assert (reply.text, endpoint.requests) == ("well", 2)
    with serving(in_turn(fault)) as endpoint:
        [failure], _ = ask(endpoint, "q", client={"retries": 0})
    assert failure.retryable
    assert said in str(failure)
    assert "<" not in str(failure)


def test_a_quota_that_is_used_up_is_not_asked_again(ask):
    error = {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}
    with serving(in_turn(Fault("429", document={"error": error}))) as endpoint:
        [failure], _ = ask(endpoint, "q")
    assert isinstance(failure, RequestRejected)
    assert endpoint.requests == 1


@pytest.mark.parametrize(
    ("parameter", "complaint"),
    [
        ("logprobs", "This model does not support `logprobs`."),
        ("temperature", "Unsupported value: 'temperature'"),
        ("seed", "seed: extra fields not permitted"),
    ],
)
def test_a_parameter_that_the_endpoint_does_not_take_is_left_out_and_said(ask, parameter, complaint):
    def script(ask):
        return Fault("400", message=complaint) if parameter in ask.body else "well"

    with serving(script) as endpoint:
        replies, _ = ask(endpoint, "q", "r", logprobs=True, seed=1, temperature=0.5, client={"concurrency": 1})
    assert [reply.text for reply in replies] == ["well", "well"]
    assert all(parameter in reply.without for reply in replies)
    assert endpoint.requests == 3


def test_a_prompt_that_is_too_long_changes_nothing_for_the_others(ask):
    def script(ask):
        long = len(ask.last) > 20
        return (
            Fault("400", message="Too long: reduce the prompt or max_tokens.", parameter="max_tokens") if long else "ok"
        )

    with serving(script) as endpoint:
        [failure, reply], _ = ask(endpoint, "long " * 20, "short", client={"concurrency": 1})
    assert isinstance(failure, RequestRejected)
    assert reply.text == "ok"
    assert endpoint.asks[-1].body["max_tokens"] == 512


def test_a_date_to_come_back_at_is_understood(ask):
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    with serving(in_turn(Fault("503", retry_after=past), "well")) as endpoint:
        [reply], _ = ask(endpoint, "q")
    assert reply.text == "well"


def test_newer_models_get_their_own_name_for_the_length(ask):
    def script(ask):
        return (
            "well"
            if "max_completion_tokens" in ask.body
            else Fault("400", message="Unsupported parameter.", parameter="max_tokens")
        )

    with serving(script) as endpoint:
        [reply], _ = ask(endpoint, "q", max_tokens=9)
    assert reply.text == "well"
    assert reply.without == ()
    assert endpoint.asks[-1].body["max_completion_tokens"] == 9


@pytest.mark.at_length
def test_with_three_faults_in_ten_every_question_ends_in_a_reply_or_a_named_error(ask):
    script = mishap_prone(lambda ask: "A. True", share=0.3, seed=5)
    client = {"timeout_s": 0.3, "concurrency": 8, "retries": 2}
    with serving(script) as endpoint:
        results, llm = ask(endpoint, *(f"question {i}" for i in range(60)), client=client)
    replies = [result for result in results if isinstance(result, Reply)]
    failures = [result for result in results if not isinstance(result, Reply)]
    assert len(replies) + len(failures) == 60
    assert all(isinstance(failure, (ModelUnavailable, BadReply, ModelRefused)) for failure in failures)
    assert llm.tally.failed == len(failures)
    assert set(endpoint.outcomes) & {"500", "429", "timeout", "cut"}
    assert len(MISHAPS) >= 12


def test_the_key_is_in_no_error_and_no_repr(ask):
    with serving(in_turn(Fault("401", message="no such key: sk-secret-key"))) as endpoint:
        [failure], llm = ask(endpoint, "q")
    assert "sk-secret-key" not in str(failure)
    assert "[key]" in str(failure)
    assert "sk-secret-key" not in repr(llm)
    assert failure.__cause__ is None
    with_password = LLM("test", ClientOptions(base_url="http://user:sk-secret-key@127.0.0.1:1/v1?token=sk-secret-key"))
    assert with_password.endpoint == "http://127.0.0.1:1/v1"
