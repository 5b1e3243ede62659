"""A rehearsal: requests are counted and answered as a model might, and nothing is sent.

It stands apart from what counts with it, since it is a transport, and the room above knows no requests.
"""

from __future__ import annotations

import re

from console.llm.messages import Reply, Request, Token, Usage
from console.llm.transport import Transport

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_|\n+")
_STEP = re.compile(r"^Step (\d+)", re.MULTILINE)
_SURE = -0.05
_SENTENCE = "it is what the last page of the record shows, the request names it, and nothing speaks against it."


def tokens_in(text: str) -> int:
    """About how many tokens a text has; a model's own tokenizer counts others, in much the same proportion."""
    return sum(1 for _ in _PIECE.finditer(text))


class Rehearsal(Transport):
    """The transport of a rehearsal: replies that every question can be read from, with the tokens they would take."""

    async def exchange(self, request: Request) -> Reply:
        """A made-up reply to the request."""
        self.tally.requests += 1
        chat = "\n".join(message["content"] for message in request.messages)
        # A is answered as often as B, so that what is asked further after either is counted in part.
        letter = "AB"[len(chat) % 2]
        text = letter if request.logprobs else _reply(chat)
        token = (Token(letter, _SURE),) if request.logprobs else None
        used = Usage(tokens_in(chat), request.n * tokens_in(text))
        return Reply((text,) * request.n, (token,) * request.n, request.model, used, ("stop",) * request.n)


def _reply(chat: str) -> str:
    if "Step N" not in chat:
        return f"Task: buy a green kettle of one litre\nVerdict: Correct\nReason: {_SENTENCE}\nA"
    steps = max((int(number) for number in _STEP.findall(chat)), default=1)
    lines = [f"Step {number}: 0.9" for number in range(1, steps + 1)]
    return "\n".join([*lines, f"Justification: {_SENTENCE}"])
