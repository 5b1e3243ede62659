"""Stacked: several detectors combined with learnt weights; `stacked@NAME` is the stack fitted as NAME."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from console.detection.detectors.shared import stacking_model as stacks
from console.detection.detectors.shared.query_cache import QueryCache
from console.detection.detectors.shared.stacking_model import Stack
from console.detection.detectors.verdict import NO_REPLY, REFUSED, UNPARSED, Detector, Verdict, sum_costs
from console.errors import BadInput, Refused, Unknown
from console.settings import settings
from console.trajectory.checkpoints import Checkpoint

_SHOWN = 3
_UNFITTED = "The stacked detector has to be fitted to labels first; then name it as stacked@NAME."


def folder() -> Path:
    """Return the folder of fitted stacks, one JSON file each."""
    return settings().data_dir / "stacks"


def path_of(name: str) -> Path:
    """Return the file of the stack with this name; raise BadInput if the name is malformed."""
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        raise BadInput(f"{name!r} is not a valid name for a stack. Use letters, digits, - and _.")
    return folder() / f"{name}.json"


def load_stack_detector(name: str, find: Callable[[str], Detector]) -> Detector:
    """Return the detector of the stack with this name; raise Unknown if there is none, Refused without a name."""
    if not name:
        raise Refused(_UNFITTED)
    path = path_of(name)
    if not path.is_file():
        raise Unknown("stack", name, sorted(file.stem for file in folder().glob("*.json")))
    text = path.read_bytes()
    stack = stacks.read_stack(text)
    judges = [find(one) for one in stack.inputs]
    return Detector(
        f"{STACKED.name}@{name}",
        f"Stacked ({name})",
        judge=_offline(stack, judges) if all(judge.judge for judge in judges) else None,
        ask=_asking(stack, judges) if any(judge.ask for judge in judges) else None,
        prompts=tuple(dict.fromkeys(prompt for judge in judges for prompt in judge.prompts)),
        version=int(hashlib.sha256(text).hexdigest()[:8], 16),
        seeded=any(judge.seeded for judge in judges),
    )


def _refuse_unfitted(checkpoint: Checkpoint, seed: int) -> Verdict:
    raise Refused(_UNFITTED)


STACKED = Detector("stacked", "Stacked", _refuse_unfitted)


def _offline(stack: Stack, judges: list[Detector]) -> Callable[[Checkpoint, int], Verdict]:
    def judge(checkpoint: Checkpoint, seed: int) -> Verdict:
        verdicts = {one.name: one.judge(checkpoint, seed) for one in judges if one.judge}
        return _combine(stack, checkpoint, verdicts)

    return judge


def _asking(stack: Stack, judges: list[Detector]) -> Callable[[QueryCache], Any]:
    async def ask(cache: QueryCache) -> Verdict:
        verdicts = await asyncio.gather(*(_one(judge, cache) for judge in judges))
        by_name = dict(zip((judge.name for judge in judges), verdicts, strict=True))
        return _combine(stack, cache.checkpoint, by_name)

    return ask


async def _one(judge: Detector, cache: QueryCache) -> Verdict:
    if judge.ask is not None:
        return await judge.ask(cache)
    if judge.judge is not None:
        return judge.judge(cache.checkpoint, cache.seed)
    raise LookupError(f"the detector {judge.name} has no `ask` function. Define `ask`, or choose another detector")


def _combine(stack: Stack, checkpoint: Checkpoint, verdicts: Mapping[str, Verdict]) -> Verdict:
    """Combine the verdicts; the result is flagged if any reply was unreadable."""
    scores = {name: verdict.score for name, verdict in verdicts.items()}
    raws = [call for verdict in verdicts.values() if verdict.raw for call in orjson.loads(verdict.raw)]
    unread = [name for name, verdict in verdicts.items() if verdict.unparsed]
    causes = [verdict.parameters[NO_REPLY] for verdict in verdicts.values() if NO_REPLY in verdict.parameters]
    share = 1.0 if unread else stack.probability(scores, checkpoint)
    return Verdict(
        score=share,
        probability=None if unread else share,
        rationale=_why(stack, checkpoint, scores, unread),
        inferred_task=next((verdict.inferred_task for verdict in verdicts.values() if verdict.inferred_task), None),
        parameters={"inputs": scores}
        | ({UNPARSED: True} if unread else {})
        | ({NO_REPLY: causes[0]} if causes else {})
        | ({REFUSED: True} if any(one.parameters.get(REFUSED) for one in verdicts.values()) else {}),
        raw=orjson.dumps(raws).decode() if raws else None,
        # Replies that two of the inputs share count twice.
        spent=sum_costs([verdict.spent for verdict in verdicts.values() if verdict.raw]),
    )


def _why(stack: Stack, checkpoint: Checkpoint, scores: Mapping[str, float], unread: list[str]) -> str:
    if unread:
        return f"The reply to {', '.join(unread)} could not be read, so a person has to decide."
    shares = stack.shares(scores, checkpoint)
    against = sorted((name for name in shares if shares[name] > 0), key=lambda name: -shares[name])[:_SHOWN]
    named = [f"{name} ({scores[name]:.2f})" if name in scores else name.replace("_", " ") for name in against]
    return f"Main inputs against the action: {', '.join(named)}." if named else "No input counts against the action."
