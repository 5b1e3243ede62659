"""Limits of an agent with a token: its pending checks and its new runs."""

from __future__ import annotations

from sqlmodel import Session, col, func, or_, select

from console.errors import TooMany
from console.gate.request import Asker
from console.settings import settings
from storage import tables
from storage.tables import UNREVIEWED, RunKind

_DAY_MS = 86_400_000


def refuse_waiting(session: Session, asker: Asker, now_ms: int) -> None:
    """Raise TooMany if this agent may not add a pending check; a process with access to the database has no limit."""
    if asker.agent_id is None:
        return
    ask, item, most = tables.Ask, tables.Item, settings().agent_waiting
    waits = (
        ask.agent_id == asker.agent_id,
        col(ask.answer).is_(None),
        or_(col(ask.deadline_ms).is_(None), col(ask.deadline_ms) > now_ms),
        col(item.status).in_(UNREVIEWED),
    )
    waiting = select(func.count()).select_from(ask).join(item, col(item.id) == ask.item_id).where(*waits)
    if session.exec(waiting).one() >= most:
        raise TooMany(
            f"{most} checks of this agent are pending, the maximum for one agent. Wait for a decision, or "
            "withdraw a check."
        )


def refuse_run(session: Session, agent: str, now_ms: int) -> None:
    """Raise TooMany if this agent has created the most runs allowed within 24 hours."""
    run, most = tables.Run, settings().agent_runs
    own = (run.kind == RunKind.GATE, run.actor == agent, col(run.created_ms) > now_ms - _DAY_MS)
    if session.exec(select(func.count()).select_from(run).where(*own)).one() >= most:
        raise TooMany(
            f"This agent has created {most} runs within a day, the maximum for one agent. Use an earlier run, or "
            "wait until tomorrow."
        )
