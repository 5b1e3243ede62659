"""A scripted model that fills in requirement tables, and the faults of a worse one at known places."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.fakes.answers import Ask

CANARY = "zebra-canary"
_NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """One line as the model tells it; `number` 0 leaves it out."""

    kind: str
    asked: str
    standing: str
    quote: str = ""
    step: int = 0
    source: str = "request"
    bound_to: str = ""


def is_list(ask: Ask) -> bool:
    """Whether the request asks for the list of a task."""
    return '{"requirements"' in ask.text


def listed(lines: Sequence[Told]) -> str:
    """The reply to the question for the list."""
    rows = [{"kind": one.kind, "source": one.source, "quote": one.asked, "bound_to": one.bound_to} for one in lines]
    return json.dumps({"requirements": rows}, ensure_ascii=False)


def filled(lines: Sequence[Told], left_out: Sequence[int] = (), further: Sequence[dict] = ()) -> str:
    """The reply to the question about a checkpoint, without the lines of these numbers."""
    rows = [
        {"number": number, "standing": one.standing, "quote": one.quote, "step": one.step}
        for number, one in enumerate(lines, start=1)
        if number not in left_out
    ]
    return json.dumps({"lines": rows, "further": list(further)}, ensure_ascii=False)


def telling(lines: Sequence[Told], **faults):
    """A script that lists these lines and fills them in."""
    return lambda ask: listed(lines) if is_list(ask) else filled(lines, **faults)


def invented(one: Told) -> Told:
    """The line with evidence that nobody wrote."""
    return replace(one, quote=f"{CANARY} {one.quote}")


def misread(one: Told) -> Told:
    """The line with a requirement that nobody stated."""
    return replace(one, asked=f"{CANARY} {one.asked}")


def shifted(one: Told) -> Told:
    """The line with its evidence at the wrong step."""
    return replace(one, step=one.step + 1)


def turned(one: Told) -> Told:
    """The line with the opposite standing."""
    return replace(one, standing={"met": "broken", "broken": "met"}.get(one.standing, one.standing))
