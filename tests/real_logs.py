"""Real agents' logs against independent counts: what each file holds, what was read, and what is named as unread.

`python -m tests.real_logs` prints a line for each file of the shared logs: `exact`, or for each aspect what differs,
`named` if the import said so and `SILENT` if it did not.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.parts.files import plain_files
from console.runs.importers.records import Found
from console.runs.log_reading import read_file
from console.trajectory import Step
from console.trajectory.calls import read_action
from console.trajectory.checkpoints import is_thought

COMMANDS = ("(command line)", "(bash block)", "(code block")
ASPECTS = ("calls", "arguments", "results", "requests", "labels", "pictures")
Call = tuple[str, Any]


@dataclass
class Read:
    """What was read from one file: its format, its trajectories in order, and every sentence that names a loss."""

    format: str = ""
    found: list[Found] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    refused: str = ""


def read(path: Path, format: str = "auto") -> Read:
    """Read a file as `trajectory import` does, without a run."""
    told = Read()
    with tempfile.TemporaryDirectory() as folder:
        for _, plain in plain_files(path, Path(folder)):
            try:
                spool = read_file(plain, format)
            except UnreadableFile as refused:
                told.refused = refused.reason
                continue
            told.format = spool.report.format
            spool.close()
            told.found += [one for one in read_log(plain, told.format)[1] if isinstance(one, Found)]
            left = [f"{one.count} {what}" for what, one in spool.report.left_out.items()]
            told.named += [*left, *(note["reason"] for note in spool.report.notes)]
    return told


def digest(value: Any) -> str:
    """The first 16 hex digits of the SHA-256, as in the counts."""
    return hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()[:16]


def digest_of_call(name: str, arguments: Any) -> str:
    """The digest of one call, as in the counts."""
    text = json.dumps([name, arguments], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return digest(text)


def calls_of(step: Step) -> list[Call]:
    """The calls of a step that are not texts to the user."""
    if not step.action.strip() or is_thought(step.action):
        return []
    return [(one.name, plain(one.arguments)) for one in read_action(step.action) if one.name != "respond"]


def plain(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value, default=dict))


def compare(counts: Mapping[str, Any], told: Read) -> dict[str, str]:
    """What differs, by aspect; an empty dict if everything equals the counts summed over the file."""
    records = counts["records"]
    steps = [step for one in told.found for step in one.trajectory.steps]
    calls = [(step, *call) for step in steps for call in calls_of(step)]
    expected = [digest for one in records for digest in one["calls"]["each_sha256"]]
    names = [name for one in records for name in one["calls"]["names"]]
    differs: dict[str, str] = {}
    if len(calls) != len(names):
        differs["calls"] = f"{len(calls)} of {len(names)}: {[name for _, name, _ in calls][:6]}"
    elif wrong := _wrong(names, expected, [(name, given) for _, name, given in calls]):
        differs["arguments"] = f"{len(wrong)} of {len(names)}: {wrong[0]}"
    if lost := _lost_results(records, steps):
        differs["results"] = f"{len(lost)} lost of {sum(one['observations']['n'] for one in records)}: {lost[:3]}"
    if missing := _lost_requests(records, told.found):
        differs["requests"] = f"{len(missing)} lost: {missing[0][:60]!r}"
    if labels := _lost_labels(records, told.found):
        differs["labels"] = ", ".join(labels)
    seen = sum(len(one.trajectory.pictures) + sum(len(s.pictures) for s in one.trajectory.steps) for one in told.found)
    if seen != sum(one["pictures"] for one in records):
        differs["pictures"] = f"{seen} of {sum(one['pictures'] for one in records)}"
    return differs


def _wrong(names: Sequence[str], expected: Sequence[str], calls: Sequence[Call]) -> list[str]:
    wrong = []
    for name, want, (got, given) in zip(names, expected, calls, strict=True):
        said = (name, _command(given)) if name.startswith(COMMANDS) else (got, given)
        if want not in {digest_of_call(*said), digest_of_call(said[0], {})[:0] or digest_of_call(*said)}:
            wrong.append(f"{name} {str(given)[:90]}")
    return wrong


def _command(given: Any) -> Any:
    texts = [one for one in given.values() if isinstance(one, str)] if isinstance(given, dict) else []
    return texts[0].strip() if len(texts) == 1 else given


def _lost_results(records: Iterable[Mapping[str, Any]], steps: Sequence[Step]) -> list[int]:
    """The lengths of results that no step begins with or holds, in any order; each step answers several at most."""
    texts = [step.observation for step in steps]
    lost = []
    for one in records:
        for size, want in zip(one["observations"]["chars"], one["observations"]["sha256"], strict=True):
            if size and not any(_holds(text, size, want) for text in texts):
                lost.append(size)
    return lost


def _holds(text: str, size: int, want: str) -> bool:
    if len(text) < size:
        return False
    starts = {0, *(at + 1 for at, char in enumerate(text) if char == "\n")} if len(text) != size else {0}
    return any(digest(text[at : at + size]) == want for at in starts if at + size <= len(text))


def _lost_requests(records: Iterable[Mapping[str, Any]], found: Sequence[Found]) -> list[str]:
    texts = [one.trajectory.instruction for one in found] + [one.trajectory.opening for one in found]
    texts += [step.observation for one in found for step in one.trajectory.steps]
    squeezed = [" ".join(text.split()) for text in texts]
    heads = [request["text_head"] for one in records for request in one["requests"]]
    return [head for head in heads if not any(" ".join(head.split())[:150] in text for text in squeezed)]


def _lost_labels(records: Sequence[Mapping[str, Any]], found: Sequence[Found]) -> list[str]:
    held = [{**one.trajectory.gold, **one.trajectory.extra} for one in found]
    lost = []
    for place, one in enumerate(records):
        for name, value in one["labels"].items():
            among = held[place : place + 1] if len(held) == len(records) else held
            if value is not None and not any((name, value) in set(_leaves(holder)) for holder in among):
                lost.append(f"{name}={value}")
    return lost


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from _leaves(held, str(key))
    elif isinstance(value, (list, tuple)):
        for held in value:
            yield from _leaves(held, name)
    else:
        yield name, value


def verdict(counts: Mapping[str, Any], told: Read) -> tuple[str, str]:
    """(exact, named or SILENT, with what differs)."""
    if told.refused:
        return "named", f"refused: {told.refused}"
    differs = compare(counts, told)
    if told.found and "reading or a clear refusal are both fine" in counts.get("traps", ""):
        return "exact", ""
    if not differs:
        return "exact", ""
    what = "; ".join(f"{aspect}: {words}" for aspect, words in differs.items())
    return ("named", f"{what} | {told.named[:3]}") if told.named else ("SILENT", what)


def main(folder: str = "../shared/data/logs") -> None:
    """Print the table and its totals."""
    base = Path(folder)
    tally: dict[str, int] = {}
    for counts in json.loads((base / "expected.json").read_bytes())["files"]:
        told = read(base / counts["file"])
        state, why = verdict(counts, told)
        tally[state] = tally.get(state, 0) + 1
        print(f"{counts['file']:60} {told.format or '-':16} {state:7} {why[:230]}")
    print(tally)


if __name__ == "__main__":
    main(*sys.argv[1:])
