"""Scripts for the endpoint: a judge by rule, the mishaps of real models, and faults by a stated share."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

from tests.fakes.answers import Answer, Ask, Fault, Script, judging

_STEP = re.compile(r"^Step (\d+)", re.MULTILINE)


def share_of(text: str) -> float:
    """A probability in [0, 1] that only depends on the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def rule(ask: Ask) -> Answer:
    """A well-formed answer to any of the detectors' questions, told by the form that the question asks for."""
    question, doubt = ask.last, share_of(ask.text)
    if "Reply with one JSON object" in question:
        return Answer([_lines(question)])
    if "Step N:" in question:
        steps = max((int(number) for number in _STEP.findall(ask.text)), default=1)
        lines = [f"Step {number}: {1 - doubt / steps:.2f}" for number in range(1, steps + 1)]
        return Answer(["\n".join([*lines, "Justification: each step follows the last."])])
    if "Task:" in question:
        return Answer(["Task: buy a plain thing of some colour\nReason: it is what the actions look for."])
    if "Verdict:" in question:
        verdict = "Incorrect" if doubt > 0.5 else "Correct"
        return Answer([f"Status: Completed\nVerdict: {verdict}\nReason: as the steps show."])
    return judging(doubt)


def _lines(question: str) -> str:
    """The lists of `requirements`: one line with the request's first words, which nothing in the record decides."""
    if '{"requirements"' in question:
        words = question.partition("<<<REQUEST")[2].splitlines()[1]
        return json.dumps({"requirements": [{"kind": "thing", "source": "request", "quote": words, "bound_to": ""}]})
    return json.dumps({"lines": [{"number": 1, "standing": "cannot tell", "quote": "", "step": 0}], "further": []})


MISHAPS: Mapping[str, Callable[[Answer], Answer | Fault]] = {
    "rate limit": lambda good: Fault("429", retry_after=0.01),
    "server error": lambda good: Fault("500"),
    "timeout": lambda good: Fault("timeout"),
    "cut body": lambda good: Fault("cut"),
    "no json": lambda good: Fault("garbage"),
    "dropped": lambda good: Fault("drop"),
    "no choices": lambda good: Fault("empty"),
    "refusal": lambda good: Answer(["x"], refusal="I cannot help with that request."),
    "refusal in words": lambda good: Answer(["I'm sorry, but I can't help with that."]),
    "wrong language": lambda good: Answer(["Die Antwort lautet: vermutlich richtig."]),
    "markdown": lambda good: Answer([f"**{text}**" for text in good.texts], good.odds),
    "rambling": lambda good: Answer([f"At first I thought B. False, yet it is not.\n{text}" for text in good.texts]),
    "empty text": lambda good: Answer([""]),
}
"""What goes wrong at real endpoints, each a function of the answer that would have been right."""


def mishap_prone(script: Script, *, share: float, seed: int = 0, kinds: Sequence[str] = tuple(MISHAPS)) -> Script:
    """The script, with that share of its answers spoilt, each kind as likely as the next."""
    draw = Random(seed)

    def spoilt(ask: Ask) -> Answer | Fault | str:
        good = script(ask)
        if draw.random() >= share or isinstance(good, Fault):
            return good
        good = Answer([good]) if isinstance(good, str) else good
        return MISHAPS[draw.choice(kinds)](good)

    return spoilt


def in_turn(*answers: Answer | Fault | str) -> Script:
    """The answers one after the other; the last one goes on for ever."""
    return lambda ask: answers[min(ask.number, len(answers) - 1)]
