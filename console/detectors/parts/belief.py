"""InferAct's one run: infer the agent's task without the user's, then compare the two (InferAct, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from console.detectors.parts import letters, reading
from console.detectors.parts.bench import Bench, Call, user
from console.detectors.parts.letters import Answer
from console.detectors.parts.verdicts import unparsed
from console.detectors.verdict import Verdict

INFER, COMPLETION, PROGRESS = (
    ("inferact", "infer_task"),
    ("inferact", "check_completion"),
    ("inferact", "check_progress"),
)
PROMPTS = (INFER, COMPLETION, PROGRESS)
MAX_TOKENS = 300


@dataclass(frozen=True, slots=True)
class Belief:
    """The task that the agent seems to have (empty if the reply told none), why, and whether it is the user's."""

    task: str
    reason: str
    calls: tuple[Call, ...]
    answer: Answer | None = None

    @property
    def misaligned(self) -> float | None:
        """P(misaligned), None where a reply could not be read."""
        return self.answer.misaligned if self.answer else None

    @property
    def rationale(self) -> str:
        """Why, for a reviewer."""
        return f"The actions look like this task: {self.task}\n{self.reason}".strip()

    def unparsed(self) -> Verdict:
        """The verdict where a reply could not be read."""
        return unparsed(self.calls, "letter" if self.task else "task", inferred_task=self.task or None)


async def believed(bench: Bench) -> Belief:
    """Infers the task from the chain of actions, checks completion, and progress where an action can come midway."""
    prompt, view = bench.prompt(*INFER), bench.chain
    text = bench.filled(prompt, view)
    call = await bench.ask(bench.models.infer, prompt, [user(text)], max_tokens=MAX_TOKENS)
    task = reading.labelled(call.reply.text, "Task")
    reason = reading.labelled(call.reply.text, "Reason")
    if not task:
        return Belief("", reason, (call,))
    answer = await _checked(bench, task)
    return Belief(task, reason, (call, *answer.calls), answer)


async def _checked(bench: Bench, task: str) -> Answer:
    llm, view = bench.models.verify, bench.chain
    first = await letters.ask(bench, llm, bench.prompt(*COMPLETION), view, inferred_task=task)
    if first.misaligned is None or not first.says_so or not bench.midway:
        return first
    return await letters.ask_further(bench, llm, bench.prompt(*PROGRESS), view, first)
