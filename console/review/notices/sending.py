"""Notices that are due, claimed for a sender: at most one message per minute and channel, none in quiet hours."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session, select

from console.auth import audit_log, people
from console.errors import Refused
from console.language import _
from console.review.notices.channels import (
    channel_key,
    check_address,
    describe_address,
    find_quiet_end,
    get_channel,
    list_channels,
    list_secrets,
    name_channel,
)
from console.review.notices.texts import ItemEvent, NoticeText, compose, compose_test, read_events
from console.runs import outbox
from console.runs.outbox import RETRIES_S, Claimed
from storage import tables

MINUTE_MS = 60_000
_AT_ONCE, _MOST_ROWS = 8, 1_000


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to one channel: its rows of the outbox, its text, and the events for a webhook.

    `message_id` is equal for all attempts with the same rows; `unsubscribe` is the page that mutes the channel.
    """

    channel_id: int
    kind: str
    address: str
    secrets: tuple[str, ...]
    message_id: str
    words: NoticeText
    events: tuple[ItemEvent, ...]
    rows: tuple[Claimed, ...]
    base: str

    @property
    def unsubscribe(self) -> str:
        """The address of the page on which the person mutes or removes the channel, after the sign-in."""
        return f"{self.base}/notices"


def list_due_channels(session: Session, now_ms: int) -> list[int]:
    """List the ids of the channels whose messages may be sent now, at most eight."""
    due = outbox.list_due_channels(session, now_ms)
    ready = [
        row.id or 0
        for row in list_channels(session)
        if not row.muted and row.next_ms <= now_ms and channel_key(row.id or 0) in due
    ]
    return ready[:_AT_ONCE]


def claim_notices(session: Session, base: str, now_ms: int) -> list[Notice]:
    """Claim the messages of up to eight channels, merged into one notice each.

    Messages that are no longer relevant are settled; channels in quiet hours wait until the hours end.
    """
    row, notices = tables.NoticeChannel, []
    for channel_id in list_due_channels(session, now_ms):
        locked = select(row).where(row.id == channel_id).with_for_update(skip_locked=True)
        channel = session.exec(locked.execution_options(populate_existing=True)).first()
        # Another process may have claimed the minute in the meantime.
        if channel is not None and channel.next_ms <= now_ms:
            notices.append(_claim_channel(session, channel, base, now_ms))
    return [notice for notice in notices if notice is not None]


def store_results(session: Session, results: Sequence[tuple[Notice, str | None]], now_ms: int) -> None:
    """Store the outcome of each notice for all its messages: None if the notice was delivered, else the reason."""
    for notice, failure in results:
        outbox.store_outcomes(session, [(row, failure) for row in notice.rows], now_ms)
        channel = session.get(tables.NoticeChannel, notice.channel_id)
        if channel is not None:
            _store_result(channel, notice.rows, failure, now_ms)
            session.add(channel)


def begin_test(session: Session, channel_id: int, person: str | None, base: str, now_ms: int) -> Notice:
    """Claim the minute of the channel for a test and return the test.

    Raise Unknown if the channel belongs to another person, and Refused if a message was sent within the last minute.
    """
    channel = get_channel(session, channel_id, person)
    owner = session.get_one(tables.Person, channel.person_id)
    people.refuse_disabled(owner)
    check_address(channel.kind, channel.address)
    if channel.used_ms is not None and now_ms - channel.used_ms < MINUTE_MS:
        left_s = (channel.used_ms + MINUTE_MS - now_ms + 999) // 1_000
        raise Refused(_("A message was sent less than a minute ago. Try again in {left} s.").format(left=left_s))
    channel.used_ms, channel.next_ms = now_ms, now_ms + MINUTE_MS
    session.add(channel)
    audit_log.record(session, None, "notice tested", now_ms, subject=f"{channel.kind} {channel.id}")
    return _build(channel, f"test {now_ms}", compose_test(channel, base), (), (), base, now_ms)


def describe_channel(session: Session, key: str) -> str:
    """Return a channel of the outbox in words: the person and the address without secrets."""
    name, _sep, rest = key.partition(" ")
    channel = session.get(tables.NoticeChannel, int(rest)) if name == "channel" else None
    if channel is None:
        return key
    owner = session.get_one(tables.Person, channel.person_id)
    return f"{owner.name}, {channel.kind} {describe_address(channel)} ({name_channel(channel)})"


def _claim_channel(session: Session, channel: tables.NoticeChannel, base: str, now_ms: int) -> Notice | None:
    session.add(channel)
    if (quiet_end_ms := find_quiet_end(channel, now_ms)) is not None:
        channel.next_ms = quiet_end_ms
        return None
    rows = outbox.claim_messages(session, channel_key(channel.id or 0), now_ms, _MOST_ROWS)
    events, dropped = read_events(session, channel, rows)
    outbox.store_outcomes(session, dropped, now_ms)
    if not events:
        return None
    unsent = {row.message_id for row, _reason in dropped}
    kept = tuple(row for row in rows if row.message_id not in unsent)
    channel.next_ms = now_ms + MINUTE_MS
    subject = " ".join(str(row.message_id) for row in kept)
    return _build(channel, subject, compose(events, channel, base), tuple(events), kept, base, now_ms)


def _build(
    channel: tables.NoticeChannel,
    subject: str,
    words: NoticeText,
    events: tuple[ItemEvent, ...],
    rows: tuple[Claimed, ...],
    base: str,
    now_ms: int,
) -> Notice:
    digest = hashlib.sha256(f"{channel.id} {channel.since_ms} {subject}".encode()).hexdigest()
    message_id = f"msg_{digest[:32]}"
    secrets = list_secrets(channel, now_ms)
    return Notice(channel.id or 0, channel.kind, channel.address, secrets, message_id, words, events, rows, base)


def _store_result(channel: tables.NoticeChannel, rows: Sequence[Claimed], failure: str | None, now_ms: int) -> None:
    """Store the time of use or the failure on the channel; a failed channel waits as long as its messages."""
    channel.failure = failure or ""
    if failure is None:
        channel.used_ms, channel.next_ms = now_ms, now_ms + MINUTE_MS
        return
    if not rows:
        channel.used_ms, channel.next_ms = None, now_ms
        return
    attempts = max(row.attempts for row in rows)
    channel.next_ms = now_ms + RETRIES_S[min(attempts, len(RETRIES_S)) - 1] * 1_000
