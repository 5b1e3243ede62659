"""The true-or-false question about the whole record that token-prob and token-entropy share."""

from __future__ import annotations

from console.detectors.parts import letters
from console.detectors.parts.bench import Bench
from console.detectors.parts.letters import Answer

JUDGE, PROGRESS = ("token", "judge"), ("token", "progress")


async def asked(bench: Bench) -> Answer:
    """The answer; where it is B and the action can come midway, that to the question about progress."""
    llm, view = bench.models.verify, bench.whole
    first = await letters.ask(bench, llm, bench.prompt(*JUDGE), view)
    if first.misaligned is None or not first.says_so or not bench.midway:
        return first
    return await letters.ask_further(bench, llm, bench.prompt(*PROGRESS), view, first)
