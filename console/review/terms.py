"""The terms of a review: the decisions, people and entry points that the rule of a policy accepts, and its times."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import orjson
from sqlmodel import Session

from console.auth.audit_log import Door
from console.language import _
from storage import tables
from storage.tables import DecisionKind

_OFFERED = (DecisionKind.APPROVE, DecisionKind.REJECT, DecisionKind.EDIT)
"""Decisions that a rule can exclude; the other decisions never allow an action to run."""


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """The terms of a review: the decisions, people (names, roles) and entry points accepted by its rule (None: any)."""

    offered: tuple[str, ...] | None = None
    who: tuple[str, ...] | None = None
    doors: tuple[str, ...] | None = None
    stays: bool = False
    """Whether the check waits for its deadline without its agent."""
    undo_ms: int | None = None
    least_undo_ms: int = 0

    def undo_time(self, run: tables.Run) -> int:
        """Return the time in ms in which a decision can be undone: the rule's, else the run's, or a longer one."""
        return max(run.undo_ms if self.undo_ms is None else self.undo_ms, self.least_undo_ms)

    def refusal(self, decision: str, reviewer: str, roles: Collection[str], door: str = Door.BROWSER) -> str | None:
        """Explain why this reviewer may not make the decision; return None if the reviewer may make it."""
        if self.offered is not None and decision in _OFFERED and decision not in self.offered:
            offers = _("The rule for this review offers {offered}, not {decision}. Choose one of these decisions.")
            return offers.format(offered=f" {_('and')} ".join(map(_, self.offered)), decision=_(decision))
        if self.who is not None and decision != DecisionKind.ESCALATE and not {reviewer, *roles} & {*self.who}:
            leaves = _(
                "The rule for this review accepts decisions by {who}, not by {reviewer}. Escalate or release the item."
            )
            return leaves.format(who=", ".join(self.who) or _("no one"), reviewer=reviewer)
        if self.doors is not None and decision != DecisionKind.ESCALATE and door not in self.doors:
            takes = _(
                "The rule for this review accepts decisions through {doors}, not through {door}. Decide there, or "
                "escalate the item."
            )
            return takes.format(doors=", ".join(self.doors) or "–", door=str(door))
        return None


def get_review_terms(session: Session, item_id: int) -> ReviewTerms:
    """Return the terms of the item's review; the terms are empty if no rule sets any."""
    item = session.get(tables.Item, item_id)
    stated = orjson.loads(item.terms) if item else {}
    lists = {name: tuple(stated[name]) for name in ("decisions", "who", "doors") if name in stated}
    return ReviewTerms(
        lists.get("decisions"),
        lists.get("who"),
        lists.get("doors"),
        bool(stated.get("stays")),
        stated.get("undo_ms"),
        stated.get("least_undo_ms", 0),
    )
