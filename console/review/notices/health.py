"""The health of reviews and notices: waiting agents, expired items and undelivered messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from sqlmodel import Session, col, func, select

from console.auth import audit_log
from console.language import _
from console.review.notices.channels import channel_key, list_channels
from console.review.notices.sending import MINUTE_MS, describe_channel
from console.runs import outbox
from console.runs.outbox import ITEM_EVENTS, DeadLetter
from console.trajectory.strict_yaml import read_data
from storage import tables
from storage.queue.values import DEAD_MS
from storage.tables import UNREVIEWED, ItemStatus

EXPIRED_MS = 24 * 3_600_000
"""The time in ms in which an agent must have asked for its expired item to be counted."""
WORDS = read_data(files(__package__) / "words.yaml", dict[str, dict[str, str]])
"""The words for the stored values of notices and workers, and examples of addresses."""


@dataclass(frozen=True, slots=True)
class ReviewHealth:
    """The figures that an operator has to see.

    `waiting` checks wait, the first since `since_ms` (None: no check waits). `expired` counts the items of the last 24
    hours without a decision in time. `undelivered` messages failed; `dead` of them are not sent again. `channels` is
    the number of channels of all people.
    """

    waiting: int
    since_ms: int | None
    expired: int
    undelivered: int
    dead: int
    channels: int


@dataclass(frozen=True, slots=True)
class UndeliveredMessage:
    """A message that was not delivered, with its channel and subject in words."""

    letter: DeadLetter
    channel: str
    about: str


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """Counts for a monitor: (run, pending items) of each run with pending items, and (decision, number) by kind."""

    pending: list[tuple[str, int]]
    decisions: list[tuple[str, int]]


def count_reviews(session: Session) -> ReviewCounts:
    """Count the pending items of runs that are not archived, and all decisions by kind."""
    item, run, decision = tables.Item, tables.Run, tables.Decision
    pending = (
        select(run.name, func.count())
        .join(item, col(item.run_id) == run.id)
        .where(col(item.status).in_(UNREVIEWED), col(run.archived_ms).is_(None))
        .group_by(run.name)
        .order_by(run.name)
    )
    kinds = select(decision.decision, func.count()).group_by(decision.decision).order_by(decision.decision)
    return ReviewCounts(list(session.exec(pending).all()), list(session.exec(kinds).all()))


def measure_health(session: Session, now_ms: int) -> ReviewHealth:
    """Return the health over all runs that are not archived."""
    ask, item, run = tables.Ask, tables.Item, tables.Run
    waiting = (
        select(func.count(), func.min(ask.asked_ms))
        .join(item, col(item.id) == ask.item_id)
        .join(run, col(run.id) == ask.run_id)
        .where(col(ask.answer).is_(None), col(item.status).in_(UNREVIEWED), col(run.archived_ms).is_(None))
        .where(col(ask.deadline_ms).is_(None) | (col(ask.deadline_ms) > now_ms))
        .where(~col(ask.beats) | (col(ask.heartbeat_ms) >= now_ms - DEAD_MS))
    )
    expired = (
        select(func.count(func.distinct(item.id)))
        .join(ask, col(ask.item_id) == item.id)
        .where(
            func.coalesce(ask.answered_ms, ask.deadline_ms) > now_ms - EXPIRED_MS,
            col(item.status).in_((*UNREVIEWED, ItemStatus.EXPIRED)),
        )
        # The item of an agent that no longer polls gets its new status at the next claim in its run.
        .where(
            (col(item.status) == ItemStatus.EXPIRED) | (col(ask.answer).is_(None) & (col(ask.deadline_ms) <= now_ms))
        )
    )
    count, since_ms = session.exec(waiting).one()
    dead = sum(outbox.count_undelivered(session).values())
    failed = outbox.count_failed(session)
    return ReviewHealth(count, since_ms, session.exec(expired).one(), failed, dead, len(list_channels(session)))


def list_undelivered(session: Session, person: str | None = None, limit: int = 200) -> list[UndeliveredMessage]:
    """List the messages of this person, or of everyone, whose last attempt failed; dead letters come first."""
    if person is None:
        letters = outbox.list_undelivered(session, limit)
    else:
        keys = [channel_key(row.id or 0) for row in list_channels(session, person)]
        letters = [one for key in keys for one in outbox.list_undelivered(session, limit, key)]
    words = {key: describe_channel(session, key) for key in {one.channel for one in letters}}
    return [UndeliveredMessage(one, words[one.channel], _subject(session, one)) for one in letters]


def explain_failure(reason: str) -> str:
    """Return a stored reason as sentences in the reader's language: what failed, and what to do."""
    stated, known = reason.removeprefix(outbox.GIVEN_UP), WORDS["failures"].items()
    match, words = next((match, words) for pattern, words in known if (match := re.fullmatch(pattern, stated)))
    return _(words).format(**match.groupdict())


def retry_undelivered(session: Session, now_ms: int, message_ids: Sequence[int] | None = None) -> int:
    """Send dead letters again, all letters or only these ids, and record the event; return their number."""
    count = outbox.retry_messages(session, now_ms, message_ids)
    if count:
        for row in list_channels(session):
            row.next_ms = min(row.next_ms, max(now_ms, row.used_ms + MINUTE_MS if row.used_ms else now_ms))
            session.add(row)
        audit_log.record(session, None, "notices retried", now_ms, after=count)
    return count


def describe_problems(session: Session) -> list[str]:
    """Return a sentence for each channel with messages that are not sent again."""
    return [
        f"{describe_channel(session, key)}: {count} not delivered; {reason}. Correct the channel, then run: "
        "inferact notice retry"
        for key, count in sorted(outbox.count_undelivered(session).items())
        for reason in [outbox.list_undelivered(session, 1, key)[0].reason.removeprefix(outbox.GIVEN_UP)]
    ]


def _subject(session: Session, letter: DeadLetter) -> str:
    if letter.event in ITEM_EVENTS:
        item = session.get(tables.Item, letter.subject_id)
    else:
        decision = session.get(tables.Decision, letter.subject_id)
        item = session.get(tables.Item, decision.item_id) if decision else None
    if item is None:
        return letter.event
    return f"{letter.event}, item {item.id} of {session.get_one(tables.Run, item.run_id).name}"
