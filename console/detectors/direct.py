"""Direct: the model is shown task and record and says Correct or Incorrect (InferAct, section 4.1)."""

from __future__ import annotations

from console.detectors.parts import reading
from console.detectors.parts.bench import Bench, user
from console.detectors.parts.verdicts import from_replies, unparsed
from console.detectors.verdict import Detector, Verdict

PROMPT = ("direct", "judge")
MAX_TOKENS = 300


async def ask(bench: Bench) -> Verdict:
    """Score 1 for Incorrect, 0 for Correct."""
    prompt = bench.prompt(*PROMPT)
    chat = [user(bench.filled(prompt, bench.whole))]
    call = await bench.ask(bench.models.verify, prompt, chat, max_tokens=MAX_TOKENS)
    says = reading.misaligned(call.reply.text)
    if says is None:
        return unparsed([call], "verdict")
    return from_replies([call], float(says), reading.labelled(call.reply.text, "Reason"))


DIRECT = Detector("direct", "Direct prompt", ask=ask, prompts=(PROMPT,))
