"""What a checkpoint shows, read once for all checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from console.detection.detectors.rules.acts import Act, acts
from console.detection.detectors.rules.pages import Choice, ProductPage, choices, last_page, wanted
from console.trajectory.checkpoints import Call, Checkpoint, calls, is_thought
from console.trajectory.terms import Term, lowered, terms, words

SEEN_LIMIT = 200_000
"""Characters of observations that are compared; of a longer record the latest count."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found: how strongly in [0, 1], and one sentence for people."""

    strength: float
    sentence: str


@dataclass(frozen=True)
class Evidence:
    """A checkpoint and what can be read off it; texts that are compared are in lower case."""

    checkpoint: Checkpoint

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What the instruction states."""
        return terms(self.checkpoint.instruction[:20_000])

    @cached_property
    def acts(self) -> tuple[Act, ...]:
        """The actions before the critical one, thoughts left out."""
        return acts(self.checkpoint)

    @cached_property
    def page(self) -> ProductPage | None:
        """The page with one price that was opened last, with the choices made on it."""
        return last_page(self.acts, self.checkpoint.instruction)

    @cached_property
    def wanted(self) -> list[Term]:
        """What the instruction states and a page can be expected to show."""
        return wanted(self.terms)

    @cached_property
    def choices(self) -> list[Choice]:
        """For each group of options on the page what fits the instruction best, and what was chosen."""
        return choices(self.page, self.wanted) if self.page else []

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the critical action."""
        return tuple(calls(self.checkpoint.action))

    @cached_property
    def instruction(self) -> str:
        """The instruction."""
        return lowered(self.checkpoint.instruction)

    @cached_property
    def seen(self) -> str:
        """What the environment showed."""
        return lowered("\n".join(act.observation for act in self.acts)[-SEEN_LIMIT:])

    @cached_property
    def read(self) -> str:
        """What the environment showed where an action worked; lists of similar names after a miss are left out."""
        return lowered("\n".join(act.observation for act in self.acts if not act.failed)[-SEEN_LIMIT:])

    @cached_property
    def known(self) -> str:
        """What the agent was told or shown: the instruction, the opening and the observations."""
        return "\n".join((self.instruction, lowered(self.checkpoint.opening), self.seen))

    @cached_property
    def asked_words(self) -> frozenset[str]:
        """The words of the instruction, singular, without function words."""
        return frozenset(words(self.checkpoint.instruction[:20_000]))

    @cached_property
    def thought(self) -> str:
        """The agent's last thought before the critical action, wherever it was written."""
        if self.checkpoint.thought:
            return self.checkpoint.thought
        last = self.checkpoint.steps[-1] if self.checkpoint.steps else None
        return last.action if last and is_thought(last.action) else ""


def quoted(texts: list[str], limit: int = 4) -> str:
    """The first few texts in quotation marks, for a sentence."""
    shown = ", ".join(f'"{text[:60]}"' for text in texts[:limit])
    return shown + (f" and {len(texts) - limit} more" if len(texts) > limit else "")
