"""How the large providers answer: each wraps a script into its own refusals, forms and habits, in their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.fakes.answers import Answer, Ask, Fault, Raw, Script

Complaint = Callable[[Ask], Fault | None]
REASONING = 700
"""Tokens that a reasoning model spends before it says anything."""


def _refusing(*complaints: Complaint) -> Complaint:
    return lambda ask: next((found for complain in complaints if (found := complain(ask))), None)


def _takes_no(name: str, status: str, message: str, parameter: str | None = None, **more: Any) -> Complaint:
    return lambda ask: Fault(status, message=message, parameter=parameter, **more) if name in ask.body else None


def _other_value(name: str, usual: object, status: str, message: str, parameter: str | None = None) -> Complaint:
    return lambda ask: (
        Fault(status, message=message, parameter=parameter) if ask.body.get(name, usual) != usual else None
    )


def _answering(good: Answer, **changes: Any) -> Answer:
    return replace(good, **changes)


def _reasons(ask: Ask, good: Answer) -> Answer:
    """The reply of a model that thinks first: nothing where the limit is reached before."""
    used = {"prompt_tokens": 100, "completion_tokens": min(ask.limit, REASONING + 20)}
    if ask.limit <= REASONING:
        return Answer([""], finish="length", usage=used)
    return replace(good, usage=used)


def _thinks_aloud(ask: Ask, good: Answer) -> Answer:
    """The reply of a model whose thoughts stand in the text, with letters in them that are no answer."""
    thought = "<think>\nAnswer: A would be easy.\nB. is likelier?\nVerdict: Correct, at first sight.\n"
    if ask.limit < REASONING:
        return Answer([thought], finish="length")
    return Answer([f"{thought}</think>\n\n{text}" for text in good.texts], {}, usage=good.usage)


def _parts(ask: Ask, good: Answer) -> Raw:
    """The reply as a list of parts, the thinking apart."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "A. no, wait"}]}
    message = {"role": "assistant", "content": [thinking, {"type": "text", "text": good.texts[0]}]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return Raw({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": {}})


def _thinks_apart(ask: Ask, good: Answer) -> Answer | Raw:
    """The reply of a model whose server takes the thoughts out of the text, and with the limit reached all of it."""
    thought = "Answer: A would be easy. B. is likelier? Verdict: Correct, at first sight."
    done = ask.limit > REASONING
    message = {"role": "assistant", "content": good.texts[0] if done else None, "reasoning_content": thought}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if done else "length", "logprobs": None}
    usage = {"prompt_tokens": 100, "completion_tokens": min(ask.limit, REASONING + 20)}
    return Raw({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


def _response(ask: Ask, good: Answer) -> Raw:
    """The reply in the form of the Responses API."""
    if ask.limit <= REASONING:
        document = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    else:
        content = [{"type": "output_text", "text": good.texts[0], "annotations": []}]
        document = {
            "status": "completed",
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "role": "assistant", "content": content},
            ],
        }
    used = {"input_tokens": 50, "output_tokens": min(ask.limit, REASONING), "total_tokens": 50}
    return Raw({"object": "response", "id": "resp_1", "model": "o-pro", "usage": used} | document)


_OPENAI_REASONING = _refusing(
    _takes_no(
        "max_tokens", "400",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
    ),
    _other_value(
        "temperature", 1, "400",
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "temperature",
    ),
    _takes_no("logprobs", "403", "You are not allowed to request logprobs from this model."),
    _other_value("n", 1, "400", "Unsupported value: 'n' does not support 5 with this model.", "n"),
)  # fmt: skip
_GEMINI = _refusing(
    _takes_no(
        "logprobs", "400", "",
        document=[{"error": {"code": 400, "message": "Logprobs is not enabled for models/g", "status": "x"}}],
    ),
    _other_value("n", 1, "400", "Multiple candidates is not enabled for this model"),
)  # fmt: skip
_GROQ = _refusing(
    _takes_no("logprobs", "400", "`logprobs` is not supported with this model"),
    _other_value("n", 1, "400", "'n' : number must be at most 1"),
    _takes_no("response_format", "400", "This model does not support response format `json_schema`."),
)


def _forbidden(name: str) -> dict[str, Any]:
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]}


_MISTRAL = _refusing(
    _takes_no(
        "logprobs", "422", "",
        document=_forbidden("logprobs"),
    ),
    _takes_no(
        "top_logprobs", "422", "",
        document=_forbidden("top_logprobs"),
    ),
    _takes_no(
        "seed", "422", "",
        document=_forbidden("seed"),
    ),
)  # fmt: skip
_LITELLM = _refusing(
    _takes_no(
        "logprobs", "400",
        "litellm.UnsupportedParamsError: bedrock does not support parameters: ['logprobs', 'top_logprobs', 'n'], for "
        "model=x. To drop these, set `litellm.drop_params=True` or for proxy: drop_params: true",
    ),
    _other_value(
        "n", 1, "400",
        "litellm.UnsupportedParamsError: bedrock does not support parameters: ['n'], for model=x. To drop these, set "
        "`litellm.drop_params=True`",
    ),
)  # fmt: skip
_XAI = _refusing(
    _takes_no("logprobs", "400", "", document={"code": "x", "error": "Argument not supported on this model: logprobs"})
)
_VLLM = _refusing(
    _takes_no("top_logprobs", "400", "Requested sample logprobs of 5, which is greater than max allowed: 0"),
    _takes_no("logprobs", "400", "Requested sample logprobs of 1, which is greater than max allowed: 0"),
)
_LLAMA_CPP = _refusing(_other_value("n", 1, "500", "Only one completion choice is allowed: not supported"))
_DEEPSEEK = _refusing(
    _takes_no("logprobs", "400", "deepseek-reasoner does not support the parameter `logprobs`"),
    _takes_no("response_format", "400", "This response_format type is unavailable now"),
)
_RESPONSES_ONLY = _refusing(
    _takes_no(
        "messages", "404", "This model is only supported in v1/responses and not in v1/chat/completions.", "model"
    ),
    _takes_no(
        "temperature", "400", "Unsupported parameter: 'temperature' is not supported with this model.", "temperature"
    ),
    _takes_no("include", "400", "logprobs are not supported with reasoning models.", "include"),
    _takes_no("top_logprobs", "400", "logprobs are not supported with reasoning models.", "top_logprobs"),
)
_AZURE_RESPONSES = _refusing(
    _takes_no("messages", "400", "The chatCompletion operation does not work with the specified model, o-pro."),
)


def _none(ask: Ask) -> None:
    return None


PROVIDERS: Mapping[str, tuple[Complaint, Callable[[Ask, Answer], Answer | Raw], tuple[str, ...]]] = {
    "OpenAI, reasoning": (_OPENAI_REASONING, _reasons, ("n",)),
    "OpenAI, Responses only": (_RESPONSES_ONLY, _response, ()),
    "Azure, Responses only": (_AZURE_RESPONSES, _response, ()),
    "Anthropic, compatible": (_none, lambda ask, good: good, ()),
    "Gemini, compatible": (_GEMINI, lambda ask, good: good, ()),
    "Groq": (_GROQ, lambda ask, good: good, ()),
    "Mistral": (_MISTRAL, _parts, ("n",)),
    "LiteLLM before Bedrock": (_LITELLM, lambda ask, good: good, ()),
    "xAI": (_XAI, lambda ask, good: good, ("n",)),
    "vLLM": (_VLLM, lambda ask, good: good, ("n",)),
    "vLLM, thinking aloud": (_none, _thinks_aloud, ("n", "logprobs")),
    "vLLM, thoughts apart": (_none, _thinks_apart, ()),
    "llama.cpp": (_LLAMA_CPP, lambda ask, good: good, ("logprobs",)),
    "Ollama, thinking aloud": (_none, _thinks_aloud, ()),
    "DeepSeek, reasoning": (_DEEPSEEK, _reasons, ()),
}
"""(what it refuses, how it answers else, what it offers in silence) of each."""


def provider(name: str, script: Script) -> Script:
    """The script behind that provider's endpoint; `serving` needs its third entry as `offers`."""
    complain, answered, _ = PROVIDERS[name]

    def reply(ask: Ask) -> Answer | Fault | Raw | str:
        if complaint := complain(ask):
            return complaint
        good = script(ask)
        if isinstance(good, (Fault, Raw)):
            return good
        return answered(ask, Answer([good]) if isinstance(good, str) else good)

    return reply
