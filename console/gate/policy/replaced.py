"""Policies of databases that a restore replaced; they also apply to a run until a person chooses the run's policy."""

from __future__ import annotations

from itertools import groupby

from sqlmodel import Session, col, select, update

from storage import tables

EVERYWHERE = "*"
"""The key of the common policy in place of a run's name."""


def list_replaced(session: Session, run: str) -> list[list[tables.ReplacedPolicy]]:
    """Return the replaced versions that also apply to a run, one list for each restore.

    A list has the run's own versions, newest first, then the common versions.
    """
    row = tables.ReplacedPolicy
    common = col(row.run) == EVERYWHERE
    statement = select(row).where(col(row.run).in_((run, EVERYWHERE)))
    found = session.exec(statement.order_by(col(row.epoch), common, col(row.version).desc()))
    lists = [list(rows) for _, rows in groupby(found, lambda one: one.epoch)]
    unchosen = [rows for rows in lists if not any(one.run == run and one.chosen_ms is not None for one in rows)]
    return [kept for rows in unchosen if (kept := [one for one in rows if one.chosen_ms is None])]


def has_undecided(session: Session) -> bool:
    """Return whether a person must still choose between the policies of a restored and a replaced database."""
    row = tables.ReplacedPolicy
    return session.exec(select(row.id).where(col(row.chosen_ms).is_(None)).limit(1)).first() is not None


def choose(session: Session, run: str, now_ms: int) -> None:
    """Record that a person chose the policy of this run, so that no replaced policy applies to the run now."""
    row = tables.ReplacedPolicy
    session.execute(update(row).where(col(row.run) == run, col(row.chosen_ms).is_(None)).values(chosen_ms=now_ms))
    known = select(row.epoch).where(row.run == run)
    if run != EVERYWHERE:
        # The run used the common policy of these databases, which still applies to other runs.
        for epoch in session.exec(select(row.epoch).where(col(row.epoch).not_in(known)).distinct()):
            mark = row(
                epoch=epoch, run=run, version=0, text="", digest="", author="", created_ms=now_ms, chosen_ms=now_ms
            )
            session.add(mark)
