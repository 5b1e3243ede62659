"""`inferact notice`: people's channels for notices, and the messages that were not delivered."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from console import runs
from console.auth import people
from console.cli.output import Json, emit, emit_table, noun, run_by_default
from console.database import Session, now_ms, reading, writing
from console.errors import Refused
from console.language import counted
from console.review.notices import channels, health
from console.runs.outbox import GIVEN_UP

app = noun("Show people's notice channels, test them, and retry undelivered messages.", "notice list")


@app.command("list", epilog="Example: inferact notice list --undelivered")
@run_by_default(app)
def list_notices(
    undelivered: Annotated[bool, typer.Option("--undelivered", help="List the undelivered messages instead.")] = False,
    as_json: Json = False,
) -> None:
    """List the notice channels of all people, or the messages that were not delivered."""
    with reading() as session:
        rows = _undelivered_rows(session) if undelivered else _channel_rows(session)
    columns = ("id", "channel", "about", "attempts", "next", "reason")
    if undelivered:
        emit_table(rows, columns, as_json, empty="Every message was delivered.")
        return
    empty = "No notice channels yet. People add their own on the page Notices."
    emit_table(rows, ("id", "person", "kind", "address", "muted", "last", "failure"), as_json, empty=empty)


@app.command("test", epilog="Example: inferact notice test 3")
def send_test(
    number: Annotated[int, typer.Argument(metavar="ID", help="The channel's id.")], as_json: Json = False
) -> None:
    """Send a test to a channel now, at most once a minute."""
    from console.server import notices  # brings an HTTP client, which only this command should pay for

    notices.check_settings()
    if (failure := notices.send_test(number)) is not None:
        raise Refused(
            f"The test to channel {number} was not delivered: {failure.removeprefix(GIVEN_UP)}. Correct the "
            "channel, then test it again."
        )
    emit({"channel": number, "delivered": True}, as_json, f"The test to channel {number} was delivered.")


@app.command("retry", epilog="Example: inferact notice retry 12 13")
def retry_messages(
    number: Annotated[
        list[int] | None,
        typer.Argument(metavar="ID", help="Ids of messages (default: all messages that are no longer retried)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Retry messages that are no longer retried automatically; the server or the worker sends the messages."""
    with writing() as session:
        count = health.retry_undelivered(session, now_ms(), number or None)
    emit({"retried": count}, as_json, f"{counted(count, 'message')} will be sent again.")


def _channel_rows(session: Session) -> list[dict[str, Any]]:
    owners = {row.id: row.name for row in people.list_people(session)}
    return [
        {
            "id": row.id,
            "person": owners[row.person_id],
            "kind": row.kind,
            "address": channels.describe_address(row),
            "muted": row.muted,
            "last": runs.iso(row.used_ms),
            "failure": row.failure,
        }
        for row in channels.list_channels(session)
    ]


def _undelivered_rows(session: Session) -> list[dict[str, Any]]:
    return [
        {
            "id": one.letter.message_id,
            "channel": one.channel,
            "about": one.about,
            "attempts": one.letter.attempts,
            "next": runs.iso(one.letter.next_ms),
            "reason": one.letter.reason,
        }
        for one in health.list_undelivered(session)
    ]
