"""Remedies: what the Actor would do instead of the action that waits, for a reviewer to choose from.

It stands alone because the page and the command line offer them, and neither may read a trajectory's body itself.
"""

from __future__ import annotations

from console.errors import Refused
from console.language import _
from console.trajectory import from_json
from console.trajectory.checkpoints import CheckpointKind
from storage.queue import Claim

PENDING = "pending_extra"
"""Where a trajectory's `extra` holds what the Actor keeps with the move that waits."""


def remedies(claim: Claim) -> tuple[str, ...]:
    """The Actor's own alternatives to the pending action, the next one first; empty where it thought of none."""
    record = from_json(claim.body)
    kept = record.extra.get(PENDING)
    here = claim.kind == CheckpointKind.ACTION and claim.step == len(record.steps)
    if not here or not isinstance(kept, dict):
        return ()
    found = kept.get("remedies")
    given = [one for one in found if isinstance(one, str) and one.strip()] if isinstance(found, list) else []
    return tuple(one for one in dict.fromkeys(given) if one != record.critical_action)


def remedy_of(claim: Claim, number: int) -> str:
    """The remedy of that number, from 1; raises Refused where there is none (any more)."""
    found = remedies(claim)
    if not 0 < number <= len(found):
        none = _("The agent has {count} remedies for what waits, so there is no number {number}.")
        raise Refused(none.format(count=len(found), number=number))
    return found[number - 1]
