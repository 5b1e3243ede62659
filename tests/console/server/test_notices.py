"""People are told of pending items on the channels that they chose; what fails, hangs or refuses is tried again."""

import asyncio
import base64
import email
import hashlib
import hmac
import json
import re
import ssl
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.header import decode_header, make_header
from urllib.parse import parse_qsl

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from sqlmodel import select
from standardwebhooks import Webhook

from console import runs
from console.auth import people
from console.auth.people import Role
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput, Refused, Unknown
from console.gate import Gate
from console.language import speaking
from console.review import access, decisions
from console.review.decisions import ReviewDecision
from console.review.notices import channels, health, sending
from console.review.notices.channels import ChannelWish
from console.review.notices.item_events import CheckedItems
from console.runs import outbox, removal
from console.server import notices
from console.settings import settings
from storage import tables
from tests import postgres
from tests.doors.streamlit_socket import Refused as TabRefused
from tests.doors.streamlit_socket import Tab
from tests.postgres import NEEDED
from tests.receiver import HANG, receiving
from tests.serving import free_port, serving

BASE = "https://console.example"
LATE = "451 later, said too late"


@pytest.fixture
def setting(monkeypatch):
    """A function that gives settings for the rest of the test."""

    def give(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"INFERACT_{name.upper()}", str(value))
        settings.cache_clear()

    give(public_url=BASE)
    return give


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=(NEEDED, pytest.mark.at_length))])
def both(request, setting):
    """Makes the test run on each database in turn."""
    if request.param == "sqlite":
        yield
        return
    with postgres.database() as url:
        setting(database_url=url)
        yield


@pytest.fixture
def ask():
    """A function that asks the gate about payment `number`; the agent waits, for a minute if nothing else is said."""
    gates = {}

    def begin(number=0, run="bot", **options):
        if run not in gates:
            gates[run] = Gate(run, "full-validation", undo_s=0, critical=["pay*"], poll_s=0.01, **options)
        gates[run].ask("pay the bill", [], f"pay[{number}]", task_id=f"t{number}")
        with reading() as session:
            return session.exec(select(tables.Ask.item_id).order_by(tables.Ask.id.desc())).first()

    return begin


def add(address, kind="webhook", person="ann", **wish):
    """Adds a channel of that person, who is made where they are missing, and returns its id."""
    with writing() as session:
        if people.find_person(session, person) is None:
            people.add_person(session, person, [Role.REVIEWER], now_ms())
        return channels.add_channel(session, person, ChannelWish(kind, address, **wish), now_ms()).id


def change(channel_id, **columns):
    with writing() as session:
        row = session.get_one(tables.NoticeChannel, channel_id)
        for name, value in columns.items():
            setattr(row, name, value)
        session.add(row)


def decide(decision="reject", reviewer="rita", run="bot", text="Too dear."):
    queue = review_queue()
    with reading() as session:
        row = runs.get(session, run)
        claim = decisions.claim_next_item(queue, session, row, reviewer, now_ms())
        session.expunge(row)
    return decisions.submit(queue, row, claim, reviewer, ReviewDecision(decision, text), now_ms())


def send():
    return asyncio.run(notices.send_notices())


def let_time_pass():
    """Lets the minute of each channel and the time until each next attempt go by."""
    with writing() as session:
        for row in session.exec(select(tables.NoticeChannel)):
            row.next_ms, row.used_ms = 0, None
            session.add(row)
        for row in session.exec(select(tables.Outbox)):
            row.next_ms = min(row.next_ms, now_ms()) if row.next_ms < outbox._FAR_MS else row.next_ms
            session.add(row)


def rows():
    with reading() as session:
        found = session.exec(select(tables.Outbox).order_by(tables.Outbox.id)).all()
        return [(row.event, row.subject_id, row.delivered_ms is not None, row.failure) for row in found]


@contextmanager
def mail_server(answers=None):
    """A mail server at work: a list of the mails that it took, and its address; it gives these answers first."""
    controller = pytest.importorskip("aiosmtpd.controller")
    taken = []

    class Handler:
        async def handle_DATA(self, server, session, envelope):  # noqa: N802
            answer = answers.pop(0) if answers else "250 OK"
            if answer == LATE:
                await asyncio.sleep(6)
            if answer.startswith("250"):
                taken.append((envelope, email.message_from_bytes(envelope.content)))
            return answer

    running = controller.Controller(Handler(), hostname="127.0.0.1", port=free_port())
    running.start()
    try:
        yield taken, f"smtp://127.0.0.1:{running.port}"
    finally:
        running.stop()


@pytest.fixture
def hook(setting):
    """A receiver that people may send to."""
    with receiving() as found:
        setting(notice_hosts=found.url.split("/")[2])
        yield found


def bodies(hook):
    return [json.loads(body) for _, _, body in hook.got]


def test_a_person_is_told_of_a_pending_item_and_of_its_end(both, hook, ask):
    channel = add(hook.url)
    item = ask(7)
    assert send() == 1
    (body,) = bodies(hook)
    assert body["type"] == "notice"
    (told,) = body["data"]["items"]
    assert told == {
        "type": "item.pending", "item_id": item, "run": "bot", "tool": "pay", "agent": None, "outcome": None,
        "deadline": told["deadline"], "arguments": None, "link": f"{BASE}/review?item={item}",
    }  # fmt: skip
    assert send() == 0
    decide()
    let_time_pass()
    assert send() == 1
    assert [(one["type"], one["outcome"]) for one in bodies(hook)[1]["data"]["items"]] == [("item.closed", "reject")]
    let_time_pass()
    assert send() == 0
    assert [(event, done) for event, _, done, _ in rows()] == [("item.pending", True), ("item.closed", True)]
    assert "pay[7]" not in str(hook.got)
    with reading() as session:
        assert channels.get_channel(session, channel).failure == ""


def test_a_webhook_is_signed_by_the_secret_of_its_channel(hook, ask):
    channel = add(hook.url)
    ask()
    send()
    ((_, headers, body),) = hook.got
    headers = {name.lower(): value for name, value in headers.items()}
    with reading() as session:
        secret = channels.get_channel(session, channel).secret
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    assert (
        headers["webhook-signature"]
        == f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
    )
    assert secret not in body.decode()


def test_a_replaced_secret_signs_too_until_its_overlap_ends(hook, ask):
    channel = add(hook.url)
    with writing() as session:
        old = channels.get_channel(session, channel).secret
        new = channels.rotate_secret(session, channel, "ann", now_ms(), now_ms() + 60_000)
    ask()
    send()
    ((_, headers, body),) = hook.got
    headers = {name.lower(): value for name, value in headers.items()}
    assert len(headers["webhook-signature"].split()) == 2
    for secret in (old, new):
        assert Webhook(secret).verify(body, headers)["type"] == "notice"


def test_a_mail_names_run_and_tool_and_has_no_token(setting, ask):
    with mail_server() as (taken, url):
        setting(smtp_url=url, mail_from="console@example.org", notice_hosts="example.org")
        add("ann@example.org", "mail")
        item = ask()
        assert send() == 1
    ((envelope, mail),) = taken
    assert envelope.rcpt_tos == ["ann@example.org"]
    assert str(make_header(decode_header(mail["Subject"]))).startswith("New item in bot · tool pay · decide before 20")
    assert mail["List-Unsubscribe"] == f"<{BASE}/notices>"
    text = mail.get_payload(decode=True).decode()
    assert re.findall(r"https?://\S+", text) == [f"{BASE}/review?item={item}", f"{BASE}/notices"]
    with reading() as session:
        token = session.exec(select(tables.Ask.token)).one()
    assert token not in str(mail)


def test_a_mail_that_is_refused_for_good_is_a_dead_letter_with_its_reason(setting, ask):
    with mail_server(["550 no such mailbox"]) as (taken, url):
        setting(smtp_url=url, mail_from="console@example.org", notice_hosts="example.org")
        channel = add("ann@example.org", "mail")
        ask()
        assert send() == 0
        let_time_pass()
        assert send() == 0
        with writing() as session:
            (dead,) = outbox.list_undelivered(session)
            assert dead.reason == "given up: the mail server answered 550 no such mailbox"
            assert sending.describe_channel(session, dead.channel) == "ann, mail ann@example.org (channel 1)"
            assert channels.get_channel(session, channel).failure == dead.reason
            assert outbox.retry_messages(session, now_ms(), [dead.message_id]) == 1
        let_time_pass()
        assert send() == 1
    assert len(taken) == 1


def test_slack_gets_plain_text_in_which_nothing_is_markup(setting, hook, ask):
    setting(notice_arguments="true")
    add(hook.url, "slack")
    ask("<!channel> & www.evil.example http://evil.example")
    assert send() == 1
    (body,) = bodies(hook)
    assert body["mrkdwn"] is False
    assert "pay[&lt;!channel&gt; &amp; www .evil.example http: //evil.example]" in body["text"]


@pytest.mark.at_length
@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_apprise_sends_and_gives_a_reason_without_the_token(hook, ask):
    pytest.importorskip("apprise")
    place = hook.url.removeprefix("http://").replace("/hook", "/a-very-secret-token")
    hook.answers = [200, 500]
    add(f"json://{place}", "apprise")
    ask()
    assert send() == 1
    assert "New item in bot" in bodies(hook)[0]["message"]
    ask(1)
    let_time_pass()
    assert send() == 0
    (_, failed) = rows()
    assert "500" in failed[3]
    assert "secret-token" not in failed[3]


def test_many_events_are_one_message_a_minute_with_a_count(hook, ask):
    channel = add(hook.url)
    items = [ask(number) for number in range(12)]
    assert (send(), send()) == (1, 0)
    ask(12)
    assert send() == 0
    (body,) = bodies(hook)
    assert body["data"]["count"] == 12
    assert {one["item_id"] for one in body["data"]["items"]} == set(items)
    text = body["data"]["text"]
    assert text.startswith("12 items are pending\n")
    assert "and 2 more" in text
    assert text.count("/review?item=") == 10
    change(channel, next_ms=now_ms())
    assert send() == 1
    assert bodies(hook)[1]["data"]["count"] == 1


@pytest.mark.at_length
def test_a_reminder_comes_when_a_quarter_of_the_time_is_left_and_no_one_has_claimed(hook, ask):
    add(hook.url)
    items = [ask(number) for number in range(2)]
    send()
    with writing() as session:
        at_ms = now_ms()
        for row in session.exec(select(tables.Ask)):
            row.asked_ms, row.deadline_ms = at_ms - 80_000, at_ms + (20_000 if row.item_id == items[0] else 40_000)
            session.add(row)
    let_time_pass()
    assert send() == 1
    assert [(one["type"], one["item_id"]) for one in bodies(hook)[1]["data"]["items"]] == [("item.reminder", items[0])]
    let_time_pass()
    assert send() == 0


@pytest.mark.at_length
def test_an_item_that_expires_undecided_is_told_though_nothing_was_before(hook, ask):
    channel = add(hook.url)
    change(channel, next_ms=now_ms() + 60_000)
    ask()
    assert send() == 0
    with writing() as session:
        ask_row = session.exec(select(tables.Ask)).one()
        ask_row.deadline_ms = now_ms() - 1
        session.add(ask_row)
    with reading() as session:
        run_id = runs.get(session, "bot").id
    review_queue().expire_overdue(run_id=run_id, now_ms=now_ms())
    send()
    let_time_pass()
    assert send() == 1
    assert [(one["type"], one["outcome"]) for one in bodies(hook)[0]["data"]["items"]] == [("item.closed", "expired")]
    assert rows()[0][3] == "not needed: the item closed first"


def test_whoever_decided_is_not_told_of_it(hook, ask):
    add(hook.url)
    ask()
    send()
    decide(reviewer="ann")
    let_time_pass()
    assert send() == 0
    assert rows()[1][3] == "not needed: the person decided the item"


@pytest.mark.parametrize(
    ("quiet", "zone", "at", "ends"),
    [
        ("22:00-07:00", "UTC", "2026-03-01T23:30:00+00:00", "2026-03-02T07:00:00+00:00"),
        ("22:00-07:00", "UTC", "2026-03-01T06:59:59+00:00", "2026-03-01T07:00:00+00:00"),
        ("22:00-07:00", "UTC", "2026-03-01T07:00:00+00:00", None),
        ("12:00-13:00", "Asia/Tokyo", "2026-03-01T03:10:00+00:00", "2026-03-01T04:00:00+00:00"),
        ("12:00-13:00", "Asia/Tokyo", "2026-03-01T12:10:00+00:00", None),
        ("22:00-07:00", "Europe/Berlin", "2026-03-28T22:30:00+00:00", "2026-03-29T05:00:00+00:00"),  # clocks go forward
    ],
)
def test_quiet_hours_end_by_the_clock_of_the_time_zone(quiet, zone, at, ends):
    row = tables.NoticeChannel(quiet=quiet, time_zone=zone)
    found = channels.find_quiet_end(row, in_ms(at))
    assert found == (in_ms(ends) if ends else None)


def in_ms(text):
    return int(time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone) * 1_000


def test_in_quiet_hours_nothing_is_sent_and_then_what_still_matters(hook, ask):
    channel = add(hook.url)
    ask(0)
    now = time.gmtime()
    change(channel, quiet=f"{now.tm_hour:02}:{now.tm_min:02}-{(now.tm_hour + 2) % 24:02}:{now.tm_min:02}")
    assert send() == 0
    decide()
    ask(1)
    change(channel, quiet="")
    let_time_pass()
    send()
    let_time_pass()
    send()
    assert [one["type"] for body in bodies(hook) for one in body["data"]["items"]] == ["item.pending"]


def test_mute_run_and_event_are_the_persons_own(hook, ask):
    one = add(hook.url, events=("item.closed",))
    ask(0), ask(1, run="other")
    with reading() as session:
        other = runs.get(session, "other").id
    add(f"{hook.url}/2", person="bob", run_ids=(other,))
    muted = add(f"{hook.url}/3", person="cid")
    with writing() as session:
        channels.mute_channel(session, "cid", muted, True, now_ms())
    ask(2), ask(3, run="other")
    send()
    assert [path for path, _, _ in hook.got] == ["/hook/2"]
    assert [one["run"] for one in bodies(hook)[0]["data"]["items"]] == ["other"]
    with writing() as session, pytest.raises(Unknown):
        channels.mute_channel(session, "cid", one, True, now_ms())
    with writing() as session:
        channels.remove_channel(session, "ann", one, now_ms())
    assert all(event != "item.closed" for event, *_ in rows())


@pytest.mark.at_length
def test_a_rule_that_names_others_leaves_a_person_out(hook, ask):
    add(hook.url)
    item = ask()
    with writing() as session:
        row = session.get_one(tables.Item, item)
        row.terms = json.dumps({"who": ["bob"]})
        session.add(row)
    assert send() == 0
    add(f"{hook.url}/2", person="bob")
    with writing() as session:
        session.exec(select(tables.NoticeChannel)).all()[-1].since_ms = 0
    assert send() == 1
    assert [path for path, _, _ in hook.got] == ["/hook/2"]


def test_a_disabled_person_is_told_nothing(hook, ask):
    add(hook.url)
    ask()
    with writing() as session:
        people.disable(session, people.get_person(session, "ann"), now_ms())
    assert send() == 0
    assert rows() == []


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("webhook", "https://169.254.169.254/latest"),
        ("webhook", "http://good.example/hook"),
        ("webhook", "https://good.example:8443/hook"),
        ("webhook", "https://good.example@evil.example/"),
        ("webhook", "https://evil.example\\@good.example/"),
        ("webhook", "https://good.example.evil.example/"),
        ("webhook", "file://good.example/etc/passwd"),
        ("slack", "https://127.0.0.1/services"),
        ("mail", "ann@evil.example"),
        ("mail", "ann@good.example,bob@evil.example"),
        ("mail", "ann@good.example\nBcc: bob@evil.example"),
        ("apprise", "file://good.example/x"),
        ("apprise", "json://good.example/x"),
        ("apprise", "jsons://good.example/,jsons://evil.example/"),
        ("apprise", "jsons://good.example/?redirect=yes"),
        ("apprise", "ntfy://good.example"),
        ("apprise", "tgram://123456:abc/789"),
        ("apprise", "jsons://user@evil.example@good.example/"),
    ],
)
def test_an_address_that_the_operator_does_not_allow_is_refused(setting, kind, address):
    setting(notice_hosts="good.example, good.example:9000")
    with pytest.raises(BadInput):
        channels.check_address(kind, address)


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("webhook", "https://good.example/hook"),
        ("webhook", "http://good.example:9000/hook"),
        ("slack", "https://hooks.slack.com/services/T0/B0/x"),
        ("mail", "ann.b+c@Good.example"),
        ("apprise", "jsons://user:pass@good.example/x"),
        ("apprise", "ntfys://topic"),
        ("apprise", "tgram://123456:abc/789"),
    ],
)
def test_an_address_that_the_operator_allows_is_taken(setting, kind, address):
    setting(notice_hosts="good.example, good.example:9000, hooks.slack.com, ntfy.sh, api.telegram.org")
    channels.check_address(kind, address)


def test_without_the_setting_no_address_is_allowed_and_later_none_is_used(setting, hook, ask):
    add(hook.url)
    setting(notice_hosts="")
    ask()
    assert send() == 0
    assert hook.got == []
    assert "does not allow notices to 127.0.0.1" in rows()[0][3]


def test_arguments_are_told_only_where_the_operator_allows(setting, hook, ask):
    setting(notice_arguments="true")
    add(hook.url)
    ask(7)
    send()
    assert bodies(hook)[0]["data"]["items"][0]["arguments"] == "pay[7]"


def test_a_test_is_sent_at_once_and_once_a_minute(hook):
    channel = add(hook.url)
    assert notices.send_test(channel, "ann") is None
    assert bodies(hook)[0]["type"] == "notice.test"
    with pytest.raises(Refused, match="less than a minute ago"):
        notices.send_test(channel, "ann")
    with pytest.raises(Unknown):
        notices.send_test(channel, "bob")
    hook.answers = [500]
    let_time_pass()
    assert [notices.send_test(channel, "ann") for _ in range(2)] == ["the receiver answered 500"] * 2


def self_signed():
    """A key and a certificate for 127.0.0.1 that no authority has signed, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")]), datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    certificate = made.sign(key, hashes.SHA256())
    kept = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return kept + certificate.public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    ("address", "reason", "told"),
    [
        ("http://nowhere.invalid:9/hook", "host not found", "Der Host wurde nicht gefunden. Prüfen Sie die Adresse."),
        ("http://127.0.0.1:9/hook", "connection refused", "Der Host hat die Verbindung abgelehnt."),
        ("https://127.0.0.1:PORT/hook", "no TLS connection", "Der Host bietet keine verschlüsselte Verbindung an."),
    ],
)
def test_a_failed_connection_is_told_in_words_and_the_log_has_its_error(hook, setting, caplog, address, reason, told):
    address = address.replace("PORT", hook.url.split(":")[2].split("/")[0])
    setting(notice_hosts=address.split("/")[2])
    channel = add(address)
    assert notices.send_test(channel, "ann") == reason
    assert "Error" in caplog.text
    with speaking("de"):
        assert health.explain_failure(reason).startswith(told)


@pytest.mark.at_length
def test_a_certificate_that_no_one_vouches_for_is_named(setting, tmp_path):
    pair = tmp_path / "pair.pem"
    pair.write_bytes(self_signed())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    with receiving() as secure:
        plain = secure.server.socket
        secure.server.socket = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        host = secure.url.split("/")[2]
        setting(notice_hosts=host)
        assert notices.send_test(add(f"https://{host}/hook"), "ann") == "certificate not valid"


@pytest.mark.parametrize("reason", ["ConnectError: [Errno -2] Name or service not known", "given up: ReadTimeout: "])
def test_an_error_that_an_older_release_stored_is_not_shown(reason):
    told = health.explain_failure(reason)
    assert told.startswith("The connection to the host failed.")
    assert "Err" not in told


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("the receiver answered 500", "Der Empfänger hat mit 500 geantwortet, einem eigenen Fehler."),
        ("given up: the receiver is gone (410)", "Der Empfänger hat mit 410 geantwortet"),
        ("no answer within 10 seconds", "Der Host hat nicht rechtzeitig geantwortet."),
        ("the mail server: host not found", "Der Host des Mailservers wurde nicht gefunden."),
        ("given up: the mail server answered 550 no {box}", "Der Mailserver hat geantwortet: 550 no {box}."),
        ("odd\nwords", "Die Nachricht wurde nicht angenommen: „odd\nwords“."),
    ],
)
def test_each_reason_says_what_happened_and_what_to_do(reason, told):
    with speaking("de"):
        said = health.explain_failure(reason)
    assert said.startswith(told)
    assert "Prüfen Sie" in said or "Entfernen Sie" in said or "Bitten Sie" in said


def test_a_message_whose_item_closed_first_needs_nothing_to_be_done():
    told = health.explain_failure("given up: the item closed first; before that: connection refused")
    assert told == "The item closed before the message was delivered."


def accepted(receiver, statuses):
    """The ids of the items in the messages that the receiver accepted, given the statuses of its answers in order."""
    found = []
    for number, (_, _, body) in enumerate(receiver.got):
        if 200 <= statuses[min(number, len(statuses) - 1)] < 300:
            found += [one["item_id"] for one in json.loads(body)["data"]["items"]]
    return found


@pytest.mark.parametrize(
    ("waves", "size", "hangs"), [(3, 2, False), pytest.param(10, 5, True, marks=pytest.mark.at_length)]
)
def test_each_event_is_delivered_once_or_reported(both, setting, ask, waves, size, hangs):
    statuses = [500, *[HANG] * hangs, 302, 503, 200, 429, *[HANG] * hangs, 200]
    mail_answers, refusing = ["451 later", "250 OK", *[LATE] * hangs, "452 full"], free_port()
    with receiving() as shaky, receiving() as dead, mail_server(mail_answers) as (mails, smtp):
        hosts = [one.url.split("/")[2] for one in (shaky, dead)]
        setting(notice_hosts=",".join([*hosts, f"127.0.0.1:{refusing}", "example.org"]))
        setting(smtp_url=smtp, mail_from="console@example.org")
        shaky.answers, dead.answers = [*statuses], [410]
        on_shaky, on_mail = add(shaky.url), add("ann@example.org", "mail")
        on_dead, on_refusing = add(dead.url, person="bob"), add(f"http://127.0.0.1:{refusing}/hook", person="cid")
        items = []
        for wave in range(waves):
            items += [ask(f"{wave}.{number}") for number in range(size)]
            for _ in range(2):
                send()
                let_time_pass()
        for _ in range(len(outbox.RETRIES_S) + 2):
            send()
            let_time_pass()
        with reading() as session:
            reported = outbox.list_undelivered(session, 1_000)
    reasons = {id: {one.subject_id: one.reason for one in reported if one.channel == channels.channel_key(id)}
               for id in (on_shaky, on_mail, on_dead, on_refusing)}  # fmt: skip
    assert len(rows()) == 4 * len(items) == 4 * waves * size
    assert all(one.next_ms is None for one in reported)
    mailed = [int(id) for _, mail in mails for id in re.findall(r"item=(\d+)", mail.get_payload())]
    for told, not_told in ((accepted(shaky, statuses), reasons[on_shaky]), (mailed, reasons[on_mail])):
        assert sorted([*told, *not_told]) == sorted(items)
        assert not_told == {}
    assert reasons[on_dead] == dict.fromkeys(items, "given up: the receiver is gone (410)")
    assert {*reasons[on_refusing]} == {*items}
    assert {*reasons[on_refusing].values()} == {"given up: connection refused"}


@pytest.mark.at_length
def test_two_senders_send_each_event_once(both, hook, ask):
    for number in range(6):
        add(f"{hook.url}/{number}", person=f"person {number}")
    items = [ask(number) for number in range(3)]
    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    send()
    let_time_pass()
    send()
    told = [(path, one["item_id"]) for path, _, body in hook.got for one in json.loads(body)["data"]["items"]]
    assert sorted(told) == sorted((f"/hook/{number}", item) for number in range(6) for item in items)


def test_a_run_that_is_closed_to_a_person_is_not_told_any_more(hook, ask):
    channel = add(hook.url)
    change(channel, next_ms=now_ms() + 60_000)
    ask()
    send()
    with writing() as session:
        people.add_person(session, "rita", [Role.REVIEWER], now_ms())
        access.set_access(session, runs.get(session, "bot"), ["rita"], now_ms())
    let_time_pass()
    assert send() == 0
    assert rows()[0][3] == "not needed: the person no longer reviews this run"


def test_what_is_removed_leaves_no_message(hook, ask):
    add(hook.url)
    ask()
    send()
    with writing() as session:
        removal.remove_items(session, [row.id for row in session.exec(select(tables.Item))])
    assert rows() == []
    let_time_pass()
    assert send() == 0


def test_the_same_items_are_checked_again_only_after_some_seconds():
    checked, items = CheckedItems(), frozenset({1})
    assert [checked.is_due(1, items, at) for at in (0, 9_999, 10_000, 10_001)] == [True, False, True, False]
    assert checked.is_due(2, items, 10_001)
    assert checked.is_due(1, frozenset({1, 2}), 10_002)


@pytest.mark.at_length
def test_no_address_in_any_notice_decides_claims_or_shows_an_item_to_nobody(setting, hook, ask):
    """Every address of every kind of notice, by every method and by Streamlit's own websocket, without a session."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    with mail_server() as (taken, smtp):
        setting(smtp_url=smtp, mail_from="console@example.org", public_url=base, notice_arguments="true")
        setting(notice_hosts=f"example.org,{hook.url.split('/')[2]}")
        for address, kind in ((hook.url, "webhook"), (hook.url, "slack"), ("ann@example.org", "mail")):
            notices.send_test(add(address, kind), "ann")
        items = [ask(number) for number in range(12)]
        let_time_pass()
        assert send() == 3
        decide()
        with writing() as session:
            for row in session.exec(select(tables.Ask).where(tables.Ask.answer.is_(None))):
                row.asked_ms, row.deadline_ms = now_ms() - 300_000, now_ms() + 90_000
                session.add(row)
        let_time_pass()
        assert send() == 3
    told = "\n".join([*(body.decode() for _, _, body in hook.got), *(_mail_text(mail) for _, mail in taken)])
    assert {"item.pending", "item.reminder", "item.closed"} <= set(re.findall(r"item\.\w+", told))
    found = sorted(set(re.findall(r"https?://[^\s\"\\<>|]+", told)))
    assert {f"{base}/review?item={item}" for item in items} | {f"{base}/notices", f"{base}/inbox"} == set(found)
    before = _standing()
    assert len(before[0]) == 1
    with serving(settings().data_dir, port=port) as server:
        for address in found:
            _walk_as_nobody(server, address)
    assert _standing() == before


def _mail_text(mail):
    return f"{mail['List-Unsubscribe']}\n{mail.get_payload(decode=True).decode()}"


def _standing():
    """All decisions, and every claim, skip or review of an item."""
    with reading() as session:
        slot = tables.Slot
        claims = session.exec(select(slot.item_id, slot.reviewer, slot.status).order_by(slot.id)).all()
        return session.exec(select(tables.Decision.id)).all(), claims


def _walk_as_nobody(server, address):
    seen = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    with httpx.Client(follow_redirects=True, trust_env=False, timeout=30, headers=seen) as browser:
        assert browser.get(address).url.path == "/sign-in"
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            reply = browser.request(method, address)
            assert "pay the bill" not in reply.text
            assert not reply.cookies.keys() & {f"inferact_{server.port}"}
    path, _, query = address.removeprefix(server.url).partition("?")
    try:
        with Tab(server.port, {"Host": f"127.0.0.1:{server.port}", "Origin": server.url}) as tab:
            shown = tab.open(path.strip("/"), **dict(parse_qsl(query)))
        assert "pay the bill" not in shown.words
        assert not [key for key in shown.buttons if key.startswith(("approve", "reject", "skip"))]
    except TabRefused as refused:
        assert refused.args[0] in (401, 403)  # noqa: PT017
