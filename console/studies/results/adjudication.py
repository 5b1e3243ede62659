"""Adjudication: a person without access to names or conditions settles the label of a disagreement, in revisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, select

from console.auth import audit_log
from console.auth.audit_log import By, Door
from console.errors import BadInput, Refused, Unknown
from console.studies.results.ground_truth import checkpoint_key, select_labelled
from console.trajectory import Label
from storage import tables

MAX_NOTE = 2_000
"""The maximum length of a note, in characters; a longer note is probably pasted by mistake."""


@dataclass(frozen=True, slots=True)
class Of:
    """The scope of disagreements: either the id of a study or the id of a run."""

    study_id: int | None = None
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A checkpoint with differing labels and one of its items; the label counts are None until the label is settled."""

    unit: str
    item_id: int
    labels: int
    settled: str | None = None
    note: str = ""
    revision: int = 0
    aligned: int | None = None
    misaligned: int | None = None


def disagreements(session: Session, of: Of) -> list[Disagreement]:
    """List checkpoints whose current labels differ, by unit: all items of a run, but only trial 0 of a study."""
    latest, found = _latest(session, of), []
    for *place, item_id, aligned, misaligned in session.execute(select_labelled(of.study_id, of.run_id)):
        if aligned and misaligned:
            unit, both = checkpoint_key(*place), aligned + misaligned
            last = latest.get(unit)
            settled = (last.label, last.note, last.revision, aligned, misaligned) if last else ()
            found.append(Disagreement(unit, item_id, both, *settled))
    return sorted(found, key=lambda one: one.unit)


def settle(
    session: Session, of: Of, unit: str, label: str, note: str, adjudicator: str, now_ms: int, *, by: By | None = None
) -> tables.Adjudication:
    """Add the settled label as a revision; raise BadInput, Unknown, or Refused for a reviewer of the checkpoint."""
    _check(label, note, adjudicator)
    known = {found.unit: found for found in disagreements(session, of)}
    if unit not in known:
        raise Unknown("disagreement", unit, list(known), by="unit")
    own = {checkpoint_key(*row[:4]) for row in session.execute(select_labelled(of.study_id, of.run_id, adjudicator))}
    if unit in own:
        raise Refused(f"{adjudicator} has labelled {unit} as a reviewer. Let another person settle the label.")
    row = tables.Adjudication(
        study_id=of.study_id,
        run_id=of.run_id,
        unit=unit,
        revision=known[unit].revision + 1,
        label=str(label),
        note=note.strip(),
        adjudicator=adjudicator.strip(),
        at_ms=now_ms,
    )
    session.add(row)
    run = session.get(tables.Run, of.run_id) if of.run_id is not None else None
    before = known[unit].settled
    audit_log.record(
        session,
        run,
        "label settled",
        now_ms,
        by=by or By(adjudicator.strip(), Door.PYTHON),
        subject=unit,
        before=before,
        after=str(label),
    )
    return row


def settled_labels(session: Session, of: Of) -> dict[str, str]:
    """Return the latest settled label of each unit."""
    return {unit: row.label for unit, row in _latest(session, of).items()}


def revisions(session: Session, of: Of) -> list[tables.Adjudication]:
    """List every revision of every settled label, by unit and revision."""
    if (of.study_id is None) == (of.run_id is None):
        raise BadInput("Name either a study or a run.")
    row: Any = tables.Adjudication
    mine = row.study_id == of.study_id if of.run_id is None else row.run_id == of.run_id
    return list(session.exec(select(row).where(mine).order_by(row.unit, row.revision)))


def _check(label: str, note: str, adjudicator: str) -> None:
    if label not in tuple(Label):
        raise BadInput(f"{label!r} is not a valid label. Use {' or '.join(Label)}.")
    if len(note) > MAX_NOTE:
        raise BadInput(f"The note has {len(note):,} characters. Use fewer than {MAX_NOTE:,}.")
    if not adjudicator.strip():
        raise BadInput("Name the person who settles the label.")


def _latest(session: Session, of: Of) -> dict[str, tables.Adjudication]:
    return {row.unit: row for row in revisions(session, of)}
