"""What the test endpoint is asked, and what it can answer: texts with token probabilities, or a fault."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")
_ORDINARY = -0.01


@dataclass(frozen=True)
class Ask:
    """One request as the endpoint got it; `number` counts from 0 in the order of arrival."""

    number: int
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages") or self.body["input"])

    @property
    def limit(self) -> int:
        """The most tokens that the reply may have, whatever the request calls it."""
        names = ("max_completion_tokens", "max_tokens", "max_output_tokens")
        return next((int(self.body[name]) for name in names if name in self.body), 1 << 30)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1]["content"]

    @property
    def text(self) -> str:
        """Everything that was said, the messages one after the other."""
        return "\n".join(message["content"] for message in self.messages)


@dataclass(frozen=True)
class Answer:
    """Texts, one for each choice (too few are repeated from the start).

    `odds` are probabilities of single tokens ({"A": 0.2, "B": 0.8}): the first token that is one of them gets them.
    `finish` and `refusal` go into every choice as they are.
    """

    texts: Sequence[str]
    odds: Mapping[str, float] = field(default_factory=dict)
    finish: str = "stop"
    refusal: str | None = None
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Fault:
    """A way to fail: an HTTP status, or `timeout`, `trickle`, `cut`, `garbage`, `page`, `empty` or `drop`.

    `document` is the whole body of the error where it has another form than OpenAI's.
    """

    kind: str
    retry_after: float | str | None = None
    message: str = "the test endpoint fails on purpose"
    parameter: str | None = None
    document: Any = None


@dataclass(frozen=True)
class Raw:
    """A body of a success, as it is."""

    document: Any


Script = Callable[[Ask], Answer | Fault | Raw | str]


def judging(share: float, *, reason: str = "because of the size") -> Answer:
    """The letter A or B with P(B) = share, as a judge that is asked for one of two letters gives it."""
    letter = "B" if share > 0.5 else "A"
    return Answer([f"{letter}. {'False' if letter == 'B' else 'True'}, {reason}"], {"A": 1 - share, "B": share})


def tokens(answer: Answer, text: str, top: int) -> list[dict[str, Any]]:
    """The text's tokens in the wire's form, each with its `top` alternatives."""
    rows, odds = [], dict(answer.odds)
    for token in _TOKEN.findall(text):
        if token.strip() in odds:
            rows.append(_row(token, odds, top))
            odds = {}
        else:
            rows.append(_row(token, {token.strip(): math.exp(_ORDINARY)}, top))
    return rows


def _row(token: str, odds: Mapping[str, float], top: int) -> dict[str, Any]:
    space = token[: len(token) - len(token.lstrip())]
    ranked = sorted(odds.items(), key=lambda pair: -pair[1])[:top]
    return _logprob(token, odds[token.strip()]) | {"top_logprobs": [_logprob(space + name, p) for name, p in ranked]}


def _logprob(token: str, probability: float) -> dict[str, Any]:
    return {"token": token, "logprob": math.log(max(probability, 1e-12)), "bytes": list(token.encode())}
