"""The loop that finds the events of items and sends notices; requests are made outside of transactions."""

from __future__ import annotations

import asyncio
import logging

from sqlalchemy.exc import IntegrityError

from console.database import now_ms, reading, writing
from console.review.notices import item_events, sending
from console.review.notices.item_events import CheckedItems
from console.review.notices.sending import Notice
from console.server import notice_senders, webhooks
from console.server.site import Site, running_address
from console.settings import settings

_EVERY_S = 1.0

_log = logging.getLogger(__name__)


def check_settings() -> None:
    """Raise BadInput if the settings of webhooks or notices are invalid."""
    webhooks.receiver()
    notice_senders.check_settings()


async def keep_sending() -> None:
    """Send webhooks and notices in a loop until cancelled."""
    await asyncio.gather(webhooks.keep_sending(), _keep_sending_notices())


async def send_due() -> int:
    """Send the webhooks and notices that are due and return the number accepted."""
    return await webhooks.send_due() + await send_notices()


async def send_notices(checked: CheckedItems | None = None) -> int:
    """Find new events, send the notices that are due and return the number of messages accepted."""
    notices = await asyncio.to_thread(_take, checked)
    results = await asyncio.gather(*(notice_senders.send(notice) for notice in notices))
    if notices:
        await asyncio.to_thread(_settle, list(zip(notices, results, strict=True)))
    return sum(failure is None for failure in results)


def send_test(channel_id: int, person: str | None = None) -> str | None:
    """Send a test to the channel now; return None if it was accepted, otherwise the reason for the failure.

    Raise Unknown for another person's channel, BadInput if the address is not allowed, and Refused within a minute of
    the last message.
    """
    with writing() as session:
        notice = sending.begin_test(session, channel_id, person, link_base(), now_ms())
    failure = asyncio.run(notice_senders.send(notice))
    _settle([(notice, failure)])
    return failure


def link_base() -> str:
    """Return the start of all links: the public address, or that of the server of this data directory."""
    given = settings()
    return (given.public_url or "").rstrip("/") or running_address() or Site(given.host, given.port).base


async def _keep_sending_notices() -> None:
    checked = CheckedItems()
    while True:
        try:
            await send_notices(checked)
        except Exception:
            # A database that is unreachable for a moment must not end the loop.
            _log.exception("Notices could not be sent; they are retried.")
        await asyncio.sleep(_EVERY_S)


def _take(checked: CheckedItems | None) -> list[Notice]:
    at_ms = now_ms()
    with reading() as session:
        found = item_events.find_events(session, at_ms, checked)
        due = sending.list_due_channels(session, at_ms)
    if found:
        _add(found, at_ms)
    if not found and not due:
        return []
    with writing() as session:
        return sending.claim_notices(session, link_base(), at_ms)


def _add(found: dict[int, item_events.Found], at_ms: int) -> None:
    try:
        with writing() as session:
            item_events.add_events(session, found, at_ms)
    except IntegrityError:
        # Another process has found the same events; what it left out is found in the next round.
        _log.debug("Another process added the same events.")


def _settle(results: list[tuple[Notice, str | None]]) -> None:
    for notice, failure in results:
        if failure is not None:
            _log.warning("Notice %s to channel %d: %s", notice.message_id, notice.channel_id, failure)
    with writing() as session:
        sending.store_results(session, results, now_ms())
