"""The critical action of a row's own checkpoint, which is not always the one that its trajectory is listed with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import null, select
from sqlmodel import Session

from console.exporting.source import Amend, Cell
from console.exports import Page
from console.trajectory import from_json
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at, digest
from storage.tables import Table

_AT_ONCE = 50

_body = Table.metadata.tables["trajectory_body"]


class Place(NamedTuple):
    """Where a checkpoint is."""

    trajectory_id: int
    step: int
    kind: CheckpointKind


def checkpoint_of(table: Any, action_digest: Any = None) -> tuple[Any, ...]:
    """What `with_actions` needs at the end of a row: the checkpoint, the steps there are, the digest where known."""
    steps = Table.metadata.tables["trajectory"].c.n_steps
    known = null() if action_digest is None else action_digest
    return table.c.trajectory_id, table.c.step, table.c.kind, steps, known


def with_actions(cells: Sequence[Cell]) -> Callable[[], Amend]:
    """Puts the action of the row's checkpoint in the place of the trajectory's in column `critical_action`."""
    place = [cell.column.name for cell in cells].index("critical_action")

    spot = itemgetter(place, -4, -3, -2, -1)

    def amend(session: Session, page: Page) -> Page:
        certain = {seen: _is_certain(*seen) for seen in set(map(spot, page))}
        if all(certain.values()):
            return page
        unsure = [not certain[spot(row)] for row in page]
        actions = _look_up(session, {Place(*row[-5:-2]) for row in compress(page, unsure)})
        return [
            (*row[:place], actions.get(Place(*row[-5:-2])), *row[place + 1 :]) if doubt else row
            for row, doubt in zip(page, unsure, strict=True)
        ]

    return lambda: amend


def _is_certain(action: str | None, step: int, kind: str, steps: int, known: str | None) -> bool:
    if kind == CheckpointKind.HALTED:
        return action is None
    return step >= steps or (action is not None and known == digest(action))


def _look_up(session: Session, places: Collection[Place]) -> dict[Place, str]:
    wanted: dict[int, list[Place]] = {}
    for place in places:
        wanted.setdefault(place.trajectory_id, []).append(place)
    found: dict[Place, str] = {}
    ids = sorted(wanted)
    for start in range(0, len(ids), _AT_ONCE):
        chosen = _body.c.trajectory_id.in_(ids[start : start + _AT_ONCE])
        for id, body in session.execute(select(_body.c.trajectory_id, _body.c.body).where(chosen)):
            record = from_json(body)
            found.update({place: checkpoint_at(record, place.step, place.kind).action for place in wanted[id]})
    return {place: action for place, action in found.items() if action}
