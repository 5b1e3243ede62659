"""The terms of a review: the decisions, people and entry points that a policy's rule accepts, and the times to undo."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlmodel import Session

from console.auth import groups
from console.auth.audit_log import Door
from console.auth.people import Role, name_key
from console.database import now_ms
from console.language import _
from storage import tables
from storage.tables import DecisionKind

OTHERS = "others"
"""The entry of `who` that excludes the person who asked."""
GROUP, ROLE = "group:", "role:"
"""The prefixes of the entries of `who` that name a group or a role."""

_OFFERED = (DecisionKind.APPROVE, DecisionKind.REJECT, DecisionKind.EDIT)
"""Decisions that a rule can exclude; the other decisions never allow an action to run."""


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """The terms of a review: the decisions, people (names, roles) and entry points accepted by its rule (None: any).

    `members` are the people in the groups of `who`. If `others` decide, `asker` is the person who asked, or an empty
    text if that is unknown; then only admins decide.
    """

    offered: tuple[str, ...] | None = None
    who: tuple[str, ...] | None = None
    doors: tuple[str, ...] | None = None
    members: frozenset[str] = frozenset()
    asker: str | None = None
    stays: bool = False
    """True if the check stays open until its deadline without its agent."""
    undo_ms: int | None = None
    least_undo_ms: int = 0

    def undo_time(self, run: tables.Run) -> int:
        """Return the time in ms in which a decision can be undone: the rule's, else the run's, or a longer time."""
        return combine_undo_times(run.undo_ms, self.undo_ms, self.least_undo_ms)

    def refusal(self, decision: str, reviewer: str, roles: Collection[str], door: str = Door.BROWSER) -> str | None:
        """Explain why this reviewer may not make the decision; return None if the reviewer may make it."""
        if self.offered is not None and decision in _OFFERED and decision not in self.offered:
            offers = _("The rule for this review offers {offered}, not {decision}. Choose one of these decisions.")
            return offers.format(offered=f" {_('and')} ".join(map(_, self.offered)), decision=_(decision))
        if decision == DecisionKind.ESCALATE:
            return None
        if self.who is not None and not self._admits(reviewer, roles):
            leaves = _(
                "The rule for this review accepts decisions by {who}, not by {reviewer}. Escalate or release the item."
            )
            return leaves.format(who=", ".join(self.who) or _("no one"), reviewer=reviewer)
        if self.asker == "" and Role.ADMIN not in roles:
            return _(
                "The rule excludes the person for whom the agent asks, but this person is unknown. Only an admin can "
                "decide."
            )
        if self.asker and name_key(self.asker) == name_key(reviewer):
            return _("The agent asks in your name, so another person must decide. Escalate or release the item.")
        if self.doors is not None and door not in self.doors:
            takes = _(
                "The rule for this review accepts decisions through {doors}, not through {door}. Decide there, or "
                "escalate the item."
            )
            return takes.format(doors=", ".join(self.doors) or "–", door=str(door))
        return None

    def _admits(self, reviewer: str, roles: Collection[str]) -> bool:
        named = {reviewer, *map(str, roles), *(f"{ROLE}{role}" for role in roles)}
        return self.who == (OTHERS,) or reviewer in self.members or bool(named & {*(self.who or ())} - {OTHERS})


def combine_undo_times(run_ms: int, rule_ms: int | None, least_ms: int) -> int:
    """Return the time in ms in which a decision can be undone: the rule's, else the run's, or the least time."""
    return max(run_ms if rule_ms is None else rule_ms, least_ms)


def read_undo_time(terms: str, run_ms: int) -> int:
    """Return the time in ms in which a decision under an item's stored terms can be undone."""
    stated = orjson.loads(terms)
    return combine_undo_times(run_ms, stated.get("undo_ms"), stated.get("least_undo_ms", 0))


def get_review_terms(session: Session, item_id: int) -> ReviewTerms:
    """Return the terms of the item's review as they are now; the terms are empty if no rule sets any."""
    item = session.get(tables.Item, item_id)
    return read_terms(session, orjson.loads(item.terms) if item else {}, now_ms())


def read_terms(session: Session, stated: Mapping[str, Any], at_ms: int) -> ReviewTerms:
    """Return stored terms with the present members of their groups and the people whom `widen` has added by `at_ms`."""
    lists = {name: tuple(stated[name]) for name in ("decisions", "who", "doors") if name in stated}
    who, widen = lists.get("who"), stated.get("widen")
    if who is not None and {*who} != {OTHERS} and widen and at_ms >= widen["from_ms"]:
        who = tuple(dict.fromkeys((*who, *widen["to"])))
    return ReviewTerms(
        lists.get("decisions"),
        who,
        lists.get("doors"),
        _members(session, who or ()),
        stated.get("asker", "") if OTHERS in (who or ()) else None,
        bool(stated.get("stays")),
        stated.get("undo_ms"),
        stated.get("least_undo_ms", 0),
    )


def _members(session: Session, who: Iterable[str]) -> frozenset[str]:
    named = [entry.removeprefix(GROUP) for entry in who if entry.startswith(GROUP)]
    return frozenset(name for group in named for name in groups.list_members(session, group))
