"""The channels on which a person gets notices: addresses that the operator allows, quiet hours, mute and removal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo, available_timezones

import orjson
from sqlmodel import Session, col, select

from console.auth import audit_log, people
from console.auth.kept_secrets import new_signing_secret
from console.errors import BadInput, Refused, Unknown
from console.language import _
from console.runs import outbox
from console.runs.outbox import ITEM_EVENTS
from console.settings import LANGUAGES, settings
from storage import tables

MOST_CHANNELS = 10
"""The maximum number of channels of one person."""
_LONGEST = 500
_ADDRESS = re.compile(r"[^\s@<>()\[\],;:\"\\\x00-\x1f\x7f]{1,64}@(?P<domain>[A-Za-z0-9.-]{1,190})")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


class ChannelKind(StrEnum):
    """The kinds of channels: mail, a Slack incoming webhook, a signed webhook (Standard Webhooks), or Apprise."""

    MAIL = "mail"
    SLACK = "slack"
    WEBHOOK = "webhook"
    APPRISE = "apprise"


_ITS_HOST = ""
APPRISE_HOSTS: Mapping[str, str] = {
    "tgram": "api.telegram.org",
    "discord": "discord.com",
    "pover": "api.pushover.net",
    **dict.fromkeys(("ntfy", "ntfys", "gotify", "gotifys", "mmost", "mmosts", "json", "jsons", "workflows"), _ITS_HOST),
}
"""The offered services of Apprise by scheme, each with its host; empty if the address contains the host."""
# Without TLS, or at another port, the setting has to name `host:port`.
_TLS_SCHEMES = ("https", "ntfys", "gotifys", "mmosts", "jsons", "workflows")
_URL = re.compile(
    r"(?P<scheme>[a-z]+)://(?:[A-Za-z0-9._~:-]+@)?(?P<host>[A-Za-z0-9.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[^/@]*))?"
    r"(?P<path>/[A-Za-z0-9._~:@/%=+-]*)?"
)
"""The form of an address, without parameters and without characters that parsers interpret differently."""


@dataclass(frozen=True, slots=True)
class ChannelWish:
    """A person's settings of a channel.

    `run_ids` is empty for all runs with waiting agents, `quiet` is `HH:MM-HH:MM` or empty for no quiet hours.
    """

    kind: str
    address: str
    run_ids: tuple[int, ...] = ()
    events: tuple[str, ...] = ITEM_EVENTS
    quiet: str = ""
    time_zone: str = "UTC"
    language: str = "en"


def add_channel(session: Session, person: str, wish: ChannelWish, now_ms: int) -> tables.NoticeChannel:
    """Add a channel of this person, record the event and return the channel; only items from now on cause notices.

    Raise BadInput if the settings are invalid or the operator does not allow the address.
    """
    owner = people.get_person(session, person)
    known = list_channels(session, person)
    if len(known) >= MOST_CHANNELS:
        raise BadInput(_("You have the maximum of {most} channels. Remove a channel first.").format(most=MOST_CHANNELS))
    address = wish.address.strip()
    if any((one.kind, one.address) == (wish.kind, address) for one in known):
        raise BadInput(
            _("You already have a channel with this address. Change that channel, or enter another address.")
        )
    check_address(wish.kind, address)
    is_signed = wish.kind == ChannelKind.WEBHOOK
    row = tables.NoticeChannel(
        person_id=owner.id or 0,
        kind=wish.kind,
        address=address,
        secret=new_signing_secret() if is_signed else "",
        events="",
        since_ms=now_ms,
    )
    _apply(row, wish)
    session.add(row)
    session.flush()
    _record(session, row, "notice channel added", owner.name, now_ms)
    return row


def change_channel(session: Session, person: str, channel_id: int, wish: ChannelWish, now_ms: int) -> None:
    """Change the runs, events and quiet hours of the person's channel and record the event; keep the address."""
    row = get_channel(session, channel_id, person)
    _apply(row, wish)
    row.next_ms = min(row.next_ms, now_ms)
    session.add(row)
    _record(session, row, "notice channel changed", person, now_ms)


def mute_channel(session: Session, person: str, channel_id: int, muted: bool, now_ms: int) -> None:
    """Mute the person's channel, or unmute it; after unmuting, only items from now on cause notices."""
    row = get_channel(session, channel_id, person)
    row.muted, row.since_ms = muted, row.since_ms if muted else now_ms
    session.add(row)
    outbox.drop_waiting(session, channel_key(channel_id), "the channel was muted")
    _record(session, row, "notice channel muted" if muted else "notice channel unmuted", person, now_ms)


def rotate_secret(session: Session, channel_id: int, person: str | None, now_ms: int, old_until_ms: int) -> str:
    """Replace the signing secret of a channel, record the event and return the new secret.

    The old secret signs, too, until `old_until_ms`. Raise Unknown like `get_channel`, and Refused if the channel does
    not sign its messages.
    """
    row = get_channel(session, channel_id, person)
    if not row.secret:
        raise Refused(_("This channel does not sign its messages, so it has no secret. Choose a webhook."))
    row.old_secret, row.old_until_ms, row.secret = row.secret, old_until_ms, new_signing_secret()
    session.add(row)
    audit_log.record(session, None, "secret rotated", now_ms, subject=f"{row.kind} {row.id}")
    return row.secret


def list_secrets(row: tables.NoticeChannel, now_ms: int) -> tuple[str, ...]:
    """Return the secrets that sign the channel's messages now: the present one, and a replaced one if still valid."""
    return (row.secret, row.old_secret) if row.old_secret and (row.old_until_ms or 0) > now_ms else (row.secret,)


def remove_channel(session: Session, person: str, channel_id: int, now_ms: int) -> None:
    """Remove the person's channel with its messages and record the event."""
    row = get_channel(session, channel_id, person)
    outbox.remove_channel_messages(session, channel_key(channel_id))
    _record(session, row, "notice channel removed", person, now_ms)
    session.delete(row)


def list_channels(session: Session, person: str | None = None) -> list[tables.NoticeChannel]:
    """List the channels of this person, or of everyone who is not disabled, the oldest first."""
    row, owner = tables.NoticeChannel, tables.Person
    found = select(row).join(owner, col(owner.id) == row.person_id).order_by(col(row.id))
    chosen = owner.name_key == people.name_key(person) if person is not None else col(owner.disabled_ms).is_(None)
    return list(session.exec(found.where(chosen)))


def get_channel(session: Session, channel_id: int, person: str | None = None) -> tables.NoticeChannel:
    """Return the channel; raise Unknown if it does not exist or belongs to another person."""
    row = session.get(tables.NoticeChannel, channel_id)
    owner = session.get(tables.Person, row.person_id) if row else None
    is_other = owner is not None and person is not None and owner.name_key != people.name_key(person)
    if row is None or owner is None or is_other:
        raise Unknown("notice channel", channel_id)
    return row


def channel_key(channel_id: int) -> str:
    """Return the channel's name in the outbox."""
    return f"channel {channel_id}"


def name_channel(row: tables.NoticeChannel) -> str:
    """Return the channel's number in words, which tells apart channels whose addresses differ only in their secrets."""
    return _("channel {number}").format(number=row.id)


def describe_address(row: tables.NoticeChannel) -> str:
    """Return the address without its secrets: the whole mail address, or the scheme and host of any other address."""
    if row.kind == ChannelKind.MAIL:
        return row.address
    found = _URL.fullmatch(row.address)
    return f"{found['scheme']}://{_target_of(found)[0]}/…" if found else f"{row.kind}://…"


def read_run_ids(row: tables.NoticeChannel) -> tuple[int, ...]:
    """Return the ids of the runs that the person chose, or an empty tuple for all runs with waiting agents."""
    return tuple(orjson.loads(row.run_ids))


def list_offered_kinds() -> list[ChannelKind]:
    """List the kinds of channels that the operator's settings allow."""
    given = settings()
    kinds = [ChannelKind.MAIL] if given.smtp_url is not None and given.notice_hosts else []
    return [*kinds, *(kind for kind in ChannelKind if kind != ChannelKind.MAIL and given.notice_hosts)]


def check_address(kind: str, address: str) -> None:
    """Raise BadInput if the address does not fit the kind, or if INFERACT_NOTICE_HOSTS does not allow its host."""
    if len(address) > _LONGEST or not address.isprintable():
        raise BadInput(_("The address is too long or contains unprintable characters. Correct the address."))
    if kind not in tuple(ChannelKind):
        raise Unknown("kind of channel", kind, [*ChannelKind])
    if kind == ChannelKind.MAIL:
        named = _ADDRESS.fullmatch(address)
        if named is None:
            raise BadInput(_("This is not a mail address. Write the address as name@example.org."))
        _refuse_host(named["domain"].lower(), None, is_usual=True)
        return
    found = _URL.fullmatch(address)
    schemes = tuple(APPRISE_HOSTS) if kind == ChannelKind.APPRISE else ("https", "http")
    if found is None or found["scheme"] not in schemes or (kind != ChannelKind.APPRISE and "@" in address):
        told = _(
            "This is not a valid address of the kind {kind}. Enter an address that starts with {schemes}, "
            "without parameters after a “?”."
        )
        raise BadInput(told.format(kind=kind, schemes=", ".join(f"{scheme}://" for scheme in schemes)))
    host, port = _target_of(found)
    is_usual = port in ("", "443") and (found["scheme"] in _TLS_SCHEMES or host != found["host"].lower())
    _refuse_host(host, port or None, is_usual=is_usual)


def find_quiet_end(row: tables.NoticeChannel, now_ms: int) -> int | None:
    """Return the end of the present quiet hours in ms since 1970, or None if there are none now."""
    if not row.quiet:
        return None
    zone = ZoneInfo(row.time_zone)
    now = datetime.fromtimestamp(now_ms / 1_000, zone)
    start, end = map(time.fromisoformat, row.quiet.split("-"))
    clock = now.time()
    is_quiet = start <= clock < end if start < end else clock >= start or clock < end
    if not is_quiet:
        return None
    ends_tomorrow = start > end and clock >= start
    day = now.date() + timedelta(days=ends_tomorrow)
    return int(datetime.combine(day, end, zone).astimezone(UTC).timestamp() * 1_000)


def _apply(row: tables.NoticeChannel, wish: ChannelWish) -> None:
    if unknown := [event for event in wish.events if event not in ITEM_EVENTS]:
        raise Unknown("event", unknown[0], ITEM_EVENTS)
    if not wish.events:
        raise BadInput(_("Choose at least one event, or mute the channel."))
    start, _sep, end = wish.quiet.partition("-")
    if wish.quiet and (not _TIME.fullmatch(start) or not _TIME.fullmatch(end) or start == end):
        raise BadInput(_("The quiet hours are invalid. Give two different times, for example 22:00 and 07:00."))
    if wish.time_zone not in available_timezones():
        raise BadInput(
            _("{zone} is not a known time zone. Give a time zone such as Europe/Berlin.").format(zone=wish.time_zone)
        )
    row.run_ids = orjson.dumps(sorted(set(wish.run_ids))).decode()
    row.events = ",".join(event for event in ITEM_EVENTS if event in wish.events)
    row.quiet, row.time_zone = wish.quiet, wish.time_zone
    row.language = wish.language if wish.language in LANGUAGES else "en"


def _target_of(found: re.Match[str]) -> tuple[str, str]:
    """Return the host and the port (or "") to which an address sends."""
    # ntfy sends an address of a topic alone to its own server.
    is_topic = found["scheme"] in ("ntfy", "ntfys") and found["path"] in (None, "", "/")
    fixed = "ntfy.sh" if is_topic else APPRISE_HOSTS.get(found["scheme"])
    return (fixed, "") if fixed else (found["host"].lower(), found["port"] or "")


def _refuse_host(host: str, port: str | None, *, is_usual: bool) -> None:
    """Raise BadInput unless the setting names `host` (for TLS at its usual port, or mail) or `host:port`."""
    allowed = {entry.strip().lower() for entry in settings().notice_hosts.split(",") if entry.strip()}
    if (is_usual and host in allowed) or (port is not None and f"{host}:{port}" in allowed):
        return
    told = _(
        "The operator does not allow notices to {host} (allowed: {hosts}). Use an allowed host, or ask the operator "
        "to add this host to INFERACT_NOTICE_HOSTS."
    )
    where = host if is_usual or port is None else f"{host}:{port}"
    raise BadInput(told.format(host=where, hosts=", ".join(sorted(allowed)) or _("no host")))


def _record(session: Session, row: tables.NoticeChannel, kind: str, person: str, now_ms: int) -> None:
    audit_log.record(session, None, kind, now_ms, subject=f"{row.kind} {row.id}", detail={"person": person})


def list_time_zones() -> Sequence[str]:
    """List the known time zones, UTC first."""
    return ["UTC", *sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))]
