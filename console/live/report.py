"""What one round of a run did."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Advance:
    """`revealed` tasks got their next trial; `unknown` executions were cut off; `problems` say what did not go on."""

    delivered: int = 0
    approved: int = 0
    rejected: int = 0
    revealed: int = 0
    nothing_recorded: int = 0
    carried_over: int = 0
    released: int = 0
    queued: int = 0
    unknown: int = 0
    interrupted: int = 0
    problems: list[str] = field(default_factory=list)

    def interrupt(self, sentence: str) -> None:
        """Counts a trial that could not go on now; the sentence is kept once."""
        self.interrupted += 1
        if sentence not in self.problems:
            self.problems.append(sentence)
