"""`requirements` on the requested calls: lines written from the requests alone, filled in by one fixed procedure.

Usage: python tests/benchmarks/requested_lines.py [--misses]

A script takes the model's place. It lists the lines of `request_lines.yaml` and fills them in for right calls and twins
alike: a line is met if an argument has its value, in any notation or unit; violated if another value of its kind stands
in the call; else it cannot be told. So the figures measure how the verdict follows from lines, not a model's reading.
"""

import argparse
import asyncio
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import orjson
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from console.detection.detectors import REQUIREMENTS  # noqa: E402
from console.detection.detectors.shared.query_cache import Models, QueryCache  # noqa: E402
from console.detection.detectors.verdict import Verdict  # noqa: E402
from console.llm import LLM, ClientOptions  # noqa: E402
from console.trajectory.call_values import leaves  # noqa: E402
from console.trajectory.checkpoints import Checkpoint  # noqa: E402
from console.trajectory.requirements.anchors import Anchor, AnchorKind, read_anchors, same_value  # noqa: E402
from tests.benchmarks.requested_calls import MOST_RIGHT_FLAGGED, TABLE, RequestedCall, requested_calls  # noqa: E402
from tests.fakes.endpoint import serving  # noqa: E402
from tests.fakes.requirement_filler import Told, filled, is_list, listed  # noqa: E402

LINES = TABLE.with_name("request_lines.yaml")
LEAST_TWINS_FLAGGED = 0.85
_MOST_WORDS = 4


def request_lines() -> Iterator[list[tuple[str, str]]]:
    """Yield the (kind, words) of each request, in the order of the calls."""
    for rows in yaml.safe_load(LINES.read_text("utf-8")).values():
        for row in rows:
            yield [(kind, words) for kind, _, words in (line.partition(" ") for line in row.split(" | "))]


def fill(lines: Sequence[tuple[str, str]], call: RequestedCall, *, wrong: bool) -> list[Told]:
    """Fill in the lines for a call by the fixed procedure."""
    passed = [text for _, text in leaves(call.arguments | (call.instead if wrong else {}))]
    step = len(call.steps) + 1
    told = []
    for kind, words in lines:
        same = next((text for text in passed if is_passed(words, text)), None)
        other = same or next((text for text in passed if replaces(words, text, lines, call.request)), None)
        standing = "met" if same else "broken" if other else "cannot tell"
        told.append(Told(kind, words, standing, written(other), step if other else 0))
    return told


def is_passed(words: str, text: str) -> bool:
    """Return whether an argument has the value of a line: its words, or its anchors in any notation or unit."""
    wanted, found = read_anchors(words), read_anchors(text)
    if wanted:
        return all(any(is_same(one, other) for other in found) for one in wanted)
    said, value = folded(words), folded(text)
    inflected = said.isalpha() and said[:-1] == value[:-1] != ""
    return said in value or (len(value) > 1 and value in said) or inflected


def is_same(one: Anchor, other: Anchor) -> bool:
    """Return whether two anchors have one value; of a number, also in another unit, or as the digits of an id."""
    if one.kind is other.kind is AnchorKind.NUMBER and abs(float(one.value) * 100 - float(other.value)) < 0.001:
        return True
    return same_value(one, other) or one.value.strip("#+") == other.value.strip("#+")


def replaces(words: str, text: str, lines: Sequence[tuple[str, str]], request: str) -> bool:
    """Return whether an argument has another value of the line's kind, which no line and no word of the request has."""
    kinds = {one.kind for one in read_anchors(words)}
    stated = [one for _, said in lines for one in read_anchors(said)]
    if kinds:
        new = (one for one in read_anchors(text) if not any(is_same(other, one) for other in stated))
        return any(one.kind in kinds for one in new)
    if any(is_passed(said, text) for _, said in lines) or folded(text) in folded(request):
        return False
    is_word = all(one.kind is AnchorKind.HANDLE for one in read_anchors(text))
    return is_word and len(text.split()) <= _MOST_WORDS


def folded(text: str) -> str:
    """Return a text in lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


def written(text: str | None) -> str:
    """Return a value as the call's JSON writes it."""
    return "" if text is None else orjson.dumps(text).decode()[1:-1]


def judge_all(rows: Sequence[tuple[Checkpoint, list[Told]]]) -> list[Verdict]:
    """Judge each checkpoint by `requirements`, with the lines as the model's replies."""
    now = SimpleNamespace(lines=[])

    async def ask(url: str) -> list[Verdict]:
        async with LLM("scripted", ClientOptions(base_url=url, api_key="none")) as model:
            found = []
            for checkpoint, now.lines in rows:
                found.append(await REQUIREMENTS.ask(QueryCache(checkpoint, Models(model, model), 0)))
            return found

    with serving(lambda one: listed(now.lines) if is_list(one) else filled(now.lines)) as endpoint:
        return asyncio.run(ask(endpoint.url))


def main() -> int:
    """Print the shares of flagged right calls and twins; return 1 if a goal is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print the calls that are judged wrongly")
    wanted = parser.parse_args()
    pairs = list(zip(requested_calls(), request_lines(), strict=True))
    rows = [(c.checkpoint(wrong=wrong), fill(lines, c, wrong=wrong)) for wrong in (False, True) for c, lines in pairs]
    flagged = [verdict.score > REQUIREMENTS.threshold for verdict in judge_all(rows)]
    right, twins = flagged[: len(pairs)], flagged[len(pairs) :]
    for (call, lines), is_flagged, is_caught in zip(pairs, right, twins, strict=True):
        if wanted.misses and (is_flagged or not is_caught):
            print("right, flagged" if is_flagged else "twin, missed", call.request, lines, call.arguments, call.instead)
    figures = {"right_flagged": sum(right) / len(right), "twins_flagged": sum(twins) / len(twins)}
    goals = {"right_flagged": ["<=", MOST_RIGHT_FLAGGED], "twins_flagged": [">=", LEAST_TWINS_FLAGGED]}
    met = figures["right_flagged"] <= MOST_RIGHT_FLAGGED and figures["twins_flagged"] >= LEAST_TWINS_FLAGGED
    print(orjson.dumps({"benchmark": "requested_lines", "figures": figures, "goals": goals, "met": met}).decode())
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
