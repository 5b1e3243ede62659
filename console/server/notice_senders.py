"""Senders of notices, one per kind of channel: mail (SMTP), a Slack incoming webhook, a signed webhook, and Apprise."""

from __future__ import annotations

import asyncio
import logging
import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from importlib.util import find_spec
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import orjson

from console.database import now_ms
from console.errors import BadInput, ConsoleError
from console.review.notices.channels import ChannelKind, check_address
from console.review.notices.sending import Notice
from console.runs import iso
from console.runs.outbox import GIVEN_UP
from console.server.site import is_loopback
from console.server.webhooks import WHOLE_S, name_failure, post, post_signed, read_secret
from console.settings import settings

_SOCKET_S = 5.0
_PORTS = {"smtp": 587, "smtps": 465}
_AT_ONCE = 8
_MOST_EVENTS = 100
_PERMANENT = range(500, 600)
_THREADS = ThreadPoolExecutor(_AT_ONCE, "notices")
_APPRISE = threading.Lock()
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class MailServer:
    """The mail server of the settings, and the sender of mails."""

    host: str
    port: int
    is_tls: bool
    sender: str
    user: str = ""
    password: str = field(default="", repr=False)


def mail_server() -> MailServer | None:
    """Return the mail server of the settings, or None if none is set; raise BadInput if the settings are invalid."""
    given = settings().smtp_url
    if given is None:
        return None
    try:
        parts = urlsplit(given.get_secret_value())
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        parts, port = urlsplit(""), 0
    if parts.scheme not in _PORTS or not parts.hostname:
        raise BadInput("INFERACT_SMTP_URL is invalid. Use an address such as smtp://NAME:PASSWORD@HOST:587.")
    sender = settings().mail_from
    if sender.count("@") != 1 or not sender.isprintable() or " " in sender:
        raise BadInput("INFERACT_SMTP_URL needs INFERACT_MAIL_FROM, the sender's address. Set both variables.")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(parts.hostname, port, parts.scheme == "smtps", sender, user, password)


def check_settings() -> None:
    """Raise BadInput if the settings of notices are invalid."""
    mail_server()


async def send(notice: Notice) -> str | None:
    """Send one notice; return None if it was accepted, otherwise the reason for the failure, without secrets."""
    try:
        check_address(notice.kind, notice.address)
    except ConsoleError as refusal:
        return f"{GIVEN_UP}{refusal}"
    try:
        return await _SENDERS[ChannelKind(notice.kind)](notice)
    except ConsoleError as refusal:
        return str(refusal)


async def _send_webhook(notice: Notice) -> str | None:
    body = {
        "type": "notice" if notice.events else "notice.test",
        "timestamp": iso(now_ms()),
        "data": {
            "count": len(notice.events),
            "text": notice.words.text,
            "items": [event.document(notice.base) for event in notice.events[:_MOST_EVENTS]],
        },
    }
    return await post_signed(
        notice.address, tuple(map(read_secret, notice.secrets)), notice.message_id, orjson.dumps(body)
    )


async def _send_slack(notice: Notice) -> str | None:
    text = notice.words.text
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, name)
    body = {"text": text, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False}
    return await post(notice.address, orjson.dumps(body), {"Content-Type": "application/json"})


async def _send_mail(notice: Notice) -> str | None:
    server = mail_server()
    if server is None:
        raise BadInput("INFERACT_SMTP_URL is not set, so no mail can be sent. Set this variable and restart.")
    mail, connection = _mail(notice, server.sender), _Connection()
    return await _in_thread(lambda: _deliver(server, mail, connection), connection.cut)


async def _send_apprise(notice: Notice) -> str | None:
    if find_spec("apprise") is None:
        raise BadInput("Apprise is missing. Install Apprise: pip install 'inferact-console[notices]'")
    return await _in_thread(lambda: _notify(notice), lambda: None)


_SENDERS = {
    ChannelKind.MAIL: _send_mail,
    ChannelKind.SLACK: _send_slack,
    ChannelKind.WEBHOOK: _send_webhook,
    ChannelKind.APPRISE: _send_apprise,
}


async def _in_thread(work: Callable[[], Answer], cut: Callable[[], None]) -> Answer | str:
    """Run blocking work in a thread of its own pool; after a time limit, close its connection and return the reason."""
    running = asyncio.get_running_loop().run_in_executor(_THREADS, work)
    try:
        return await asyncio.wait_for(asyncio.shield(running), WHOLE_S)
    except TimeoutError:
        return f"no answer within {WHOLE_S:g} seconds"
    finally:
        if not running.done():
            # The thread ends by the error, which no one reads.
            running.add_done_callback(lambda done: done.cancelled() or done.exception())
            cut()


class _Connection:
    """The connection of one attempt, which another thread can cut."""

    def __init__(self) -> None:
        self.client: smtplib.SMTP | None = None

    def cut(self) -> None:
        sock = getattr(self.client, "sock", None)
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def _mail(notice: Notice, sender: str) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = notice.words.subject, sender, notice.address
    mail["Date"] = datetime.now(UTC)
    mail["Message-ID"] = f"<{notice.message_id}@{sender.rpartition('@')[2]}>"
    mail["List-Unsubscribe"] = f"<{notice.unsubscribe}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(notice.words.text)
    return mail


def _deliver(server: MailServer, mail: EmailMessage, connection: _Connection) -> str | None:
    try:
        connection.client = client = _open(server)
        try:
            if not server.is_tls and not is_loopback(server.host):
                client.starttls(context=ssl.create_default_context())
            if server.user:
                client.login(server.user, server.password)
            client.send_message(mail)
            # Its answer could only make an accepted mail look like a failure.
            with suppress(OSError, smtplib.SMTPException):
                client.putcmd("quit")
        finally:
            client.close()
    except smtplib.SMTPRecipientsRefused as refusal:
        return _refused(*next(iter(refusal.recipients.values())))
    except smtplib.SMTPResponseException as refusal:
        return _refused(refusal.smtp_code, refusal.smtp_error)
    except smtplib.SMTPNotSupportedError:
        return f"{GIVEN_UP}the mail server does not offer STARTTLS, or no way to sign in"
    except (OSError, smtplib.SMTPException) as failure:
        return f"the mail server: {name_failure(failure)}"
    return None


def _open(server: MailServer) -> smtplib.SMTP:
    if server.is_tls:
        return smtplib.SMTP_SSL(server.host, server.port, timeout=_SOCKET_S, context=ssl.create_default_context())
    return smtplib.SMTP(server.host, server.port, timeout=_SOCKET_S)


def _refused(code: int, said: bytes | str) -> str:
    words = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    told = f"the mail server answered {code} {' '.join(words.split())[:120]}"
    return f"{GIVEN_UP}{told}" if code in _PERMANENT else told


def _notify(notice: Notice) -> str | None:
    # Apprise takes most of a second to load, which only its channels should pay.
    from apprise import Apprise, AppriseAsset, NotifyFormat

    asset = AppriseAsset(
        app_id="InferAct Console", secure_logging=True, http_redirects=False, service_timeout=WHOLE_S - 1
    )
    client = Apprise(asset=asset)
    if not client.add(notice.address):
        return f"{GIVEN_UP}Apprise does not accept this address"
    # Apprise sends in threads of its own and gives its reasons only to its log, so one notice at a time has the log.
    if not _APPRISE.acquire(timeout=WHOLE_S):
        return "another notice by Apprise took too long"
    try:
        with _warnings("apprise") as said:
            sent = client.notify(body=notice.words.text, title=notice.words.subject, body_format=NotifyFormat.TEXT)
    finally:
        _APPRISE.release()
    told = " ".join(" ".join(said).split())
    return None if sent else _without_secrets(told or "the service did not accept the notice", notice.address)


@contextmanager
def _warnings(name: str) -> Iterator[list[str]]:
    """Collect the warnings of a logger."""
    handler = _Collector(logging.WARNING)
    logging.getLogger(name).addHandler(handler)
    try:
        yield handler.said
    finally:
        logging.getLogger(name).removeHandler(handler)


class _Collector(logging.Handler):
    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _without_secrets(told: str, address: str) -> str:
    for part in re.split(r"[/:@]+", address):
        if len(part) > 3:
            told = told.replace(part, "…")
    return told[-200:]
