"""Notices: a person's own channels, the messages that did not arrive, and the health of reviews for operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from console.auth.people import Identity, Role
from console.database import Session, now_ms, reading, writing
from console.errors import ConsoleError, Unknown
from console.language import _, digits, language, ngettext
from console.review.access import list_reviewable_runs
from console.review.notices import channels, health
from console.review.notices.channels import ChannelKind, ChannelWish
from console.review.notices.health import WORDS, ReviewHealth, UndeliveredMessage
from console.review.notices.texts import CLOSED_FIRST
from console.runs import workers
from console.runs.outbox import ITEM_EVENTS
from console.runs.workers import WorkerState
from console.web.flash import finish, flash, refusals_shown, show_messages
from console.web.sign_in import current_identity
from console.web.widgets.markup import plain, show_html
from console.web.widgets.messages import next_step_row, refusal_words, show_empty_state
from console.web.widgets.status import age
from console.web.widgets.tables import show_grid
from storage import tables

_MOST = 20
_OVERLAP_MS = 86_400_000


def show_own_channels(identity: Identity) -> None:
    """Draw the person's channels with their buttons, and the form that adds a channel."""
    with reading() as session:
        own = channels.list_channels(session, identity.name)
        runs = {run.id or 0: run.name for run in list_reviewable_runs(session, identity.name)}
    offered = channels.list_offered_kinds()
    if not own and not offered:
        show_empty_state(
            _("Notices are not set up"),
            _("No address is allowed yet. Ask the operator to set INFERACT_NOTICE_HOSTS."),
        )
        words, chapter = _("Open the operator's help"), {"chapter": "operator"}
        next_step_row().page_link("console/web/pages/help.py", label=words, query_params=chapter)
    elif not own:
        show_empty_state(
            _("No channels yet"), _("Add a channel below to get a notice when an agent waits for your decision.")
        )
    for row in own:
        _show_channel(identity, row, runs)
    if offered:
        _show_form(identity, offered, runs)
    st.caption(_("To get notices in this browser, turn on notifications in the Inbox."))


def show_own_messages(identity: Identity) -> None:
    """Draw the person's messages that were not delivered, if there are any."""
    with reading() as session:
        found = health.list_undelivered(session, identity.name, _MOST)
    if found:
        st.header(_("Not delivered to you"), anchor=False)
        _show_messages(found, "own")


def show_health() -> None:
    """Draw the health of all reviews and notices, and the messages of everyone that were not delivered."""
    st.header(_("Health"), anchor=False)
    with reading() as session:
        at_ms = now_ms()
        found, letters = health.measure_health(session, at_ms), health.list_undelivered(session, limit=_MOST)
        listed = workers.list_workers(session, at_ms)[:_MOST]
    _show_figures(found, at_ms)
    if found.dead:
        st.button(_("Retry all messages"), key="retry-all", on_click=_act, args=(_retry, None))
    _show_messages(letters, "all")
    _show_workers(listed, at_ms)


def _show_figures(found: ReviewHealth, at_ms: int) -> None:
    since = age(at_ms - found.since_ms) if found.since_ms is not None else "–"
    figures = (
        (_("Longest wait"), since, ngettext("{count} action is waiting", "{count} actions are waiting", found.waiting)),
        (_("Expired without a decision"), digits(found.expired), _("in the last 24 hours")),
        (_("Not delivered"), digits(found.undelivered), _("{count} no longer retried")),
        (_("Channels"), digits(found.channels), _("of all people")),
    )
    counts = (found.waiting, 0, found.dead, 0)
    with st.container(horizontal=True, key="notice-health"):
        for (label, value, detail), count in zip(figures, counts, strict=True):
            told = detail.format(count=digits(count))
            show_html(f'<div class="ia-health"><p>{plain(label)}</p><b>{plain(value)}</b><p>{plain(told)}</p></div>')


def _show_workers(listed: list[WorkerState], at_ms: int) -> None:
    st.header(_("Workers"), anchor=False)
    if not listed:
        told = _("Start `inferact worker`, so that runs continue automatically.")
        st.caption(f"{_('No worker has run')}. {told}")
        return
    rows = [
        {
            _("Worker"): one.name,
            _("Status"): _(WORDS["workers"][one.status]),
            _("Run"): one.job or "–",
            _("Jobs done"): one.jobs_done,
            _("Last heartbeat"): _("{time} ago").format(time=age(at_ms - one.seen_ms)),
            _("Last failure"): one.failure or "–",
        }
        for one in listed
    ]
    show_grid(rows, _("Workers"), key="workers")


def _show_channel(identity: Identity, row: tables.NoticeChannel, runs: dict[int, str]) -> None:
    channel_id = row.id or 0
    with st.container(border=True, key=f"channel-{channel_id}"):
        name, address = _(WORDS["kinds"][row.kind]), channels.describe_address(row)
        number = channels.name_channel(row)
        show_html(f'<p class="ia-letter"><b>{plain(name)}</b> {plain(address)} <small>{plain(number)}</small></p>')
        show_html(f'<p class="ia-letter ia-quiet">{plain(_describe(row, runs))}</p>')
        if row.failure:
            reason = health.explain_failure(row.failure)
            show_html(f'<p class="ia-warned">{plain(_("Last failure: {reason}").format(reason=reason))}</p>')
        _show_secret(channel_id)
        with st.container(horizontal=True):
            for label, key, act in (
                (_("Send a test"), "test", _send_test),
                (_("Unmute channel") if row.muted else _("Mute channel"), "mute", partial(_set_muted, not row.muted)),
                *([(_("Rotate secret"), "rotate", _rotate)] if row.secret else []),
                (_("Remove channel"), "remove", _remove),
            ):
                st.button(label, key=f"{key}-{channel_id}", on_click=_act, args=(act, identity.name, channel_id))
            with (
                st.popover(_("Change channel"), key=f"changing-{channel_id}"),
                st.form(f"change-{channel_id}", border=False),
            ):
                wish = _wish_fields(f"change-{channel_id}", row.kind, row.address, row, runs)
                if st.form_submit_button(_("Save changes"), type="primary"):
                    _save_change(identity.name, channel_id, wish)


def _describe(row: tables.NoticeChannel, runs: dict[int, str]) -> str:
    chosen = [runs[id] for id in channels.read_run_ids(row) if id in runs]
    parts = [_("Muted") if row.muted else _("On")]
    parts.append(", ".join(chosen) if channels.read_run_ids(row) else _("all runs with waiting agents"))
    parts.append(", ".join(_(WORDS["events"][event]) for event in row.events.split(",")))
    if row.quiet:
        parts.append(_("quiet {hours} ({zone})").format(hours=row.quiet.replace("-", "–"), zone=row.time_zone))
    if row.used_ms is not None:
        parts.append(_("last message {time} ago").format(time=age(now_ms() - row.used_ms)))
    return " · ".join(parts)


def _show_form(identity: Identity, offered: list[ChannelKind], runs: dict[int, str]) -> None:
    st.header(_("Add a channel"), anchor=False)
    kind = st.segmented_control(
        _("Kind"), offered, default=offered[0], format_func=lambda one: _(WORDS["kinds"][one]), key="channel-kind"
    )
    if kind is None:
        return
    with st.form("add-channel", border=False, clear_on_submit=False):
        address = st.text_input(_("Address"), placeholder=WORDS["examples"][kind], key="channel-address", max_chars=500)
        wish = _wish_fields("add", kind, address, None, runs)
        if st.form_submit_button(_("Add channel"), type="primary"):
            with refusals_shown():
                _add(identity.name, wish)


def _wish_fields(
    key: str, kind: str, address: str, row: tables.NoticeChannel | None, runs: dict[int, str]
) -> ChannelWish:
    """Draw the fields of a channel beside its address, and return the entered values."""
    known = [id for id in channels.read_run_ids(row) if id in runs] if row else []
    chosen = st.multiselect(
        _("Runs"),
        list(runs),
        default=known,
        format_func=runs.__getitem__,
        key=f"{key}-runs",
        placeholder=_("all runs with waiting agents"),
    )
    events = st.multiselect(
        _("Events"),
        list(ITEM_EVENTS),
        default=row.events.split(",") if row else list(ITEM_EVENTS),
        format_func=lambda event: _(WORDS["events"][event]),
        key=f"{key}-events",
        placeholder="–",
    )
    start, end = row.quiet.split("-") if row and row.quiet else ("22:00", "07:00")
    # The style sheet hides the times while the box is clear, because a form sends nothing before its button.
    quiet_hours = st.container(key=f"quiet-{key}")
    label = _("Quiet hours: send nothing between these times")
    is_quiet = quiet_hours.checkbox(label, bool(row and row.quiet), key=f"{key}-q")
    with quiet_hours.container(horizontal=True):
        # The parts of a time input are smaller than the targets that WCAG asks for.
        begins, ends = (
            st.selectbox(label, _list_times(chosen), _list_times(chosen).index(chosen), key=f"{key}-{name}")
            for label, chosen, name in ((_("From"), start, "from"), (_("Until"), end, "until"))
        )
        zones = list(channels.list_time_zones())
        here = row.time_zone if row else (st.context.timezone or "UTC")
        at = zones.index(here) if here in zones else 0
        zone = st.selectbox(_("Time zone"), zones, at, key=f"{key}-zone")
    quiet = f"{begins}-{ends}" if is_quiet else ""
    return ChannelWish(kind, address, tuple(chosen), tuple(events), quiet, zone, language())


def _list_times(chosen: str) -> list[str]:
    """List each half hour of a day, with the chosen time."""
    return sorted({chosen, *(f"{hour:02}:{minute}" for hour in range(24) for minute in ("00", "30"))})


def _show_secret(channel_id: int) -> None:
    """Draw the new secret of this webhook; the page shows the secret once."""
    if st.session_state.get("channel_secret", ("",))[0] == channel_id:
        with st.container(border=True, key=f"secret-{channel_id}"):
            st.text(_("Copy the new signing secret of this webhook now. This page shows the secret only once."))
            st.code(st.session_state.pop("channel_secret")[1], language=None, wrap_lines=True)


def _show_messages(found: list[UndeliveredMessage], key: str) -> None:
    """Draw one row for all messages with the same channel and reason, with a button that retries them."""
    groups: dict[tuple[str, str, bool], list[UndeliveredMessage]] = {}
    for one in found:
        groups.setdefault((one.channel, one.letter.reason, one.letter.next_ms is None), []).append(one)
    for (channel, reason, is_dead), members in groups.items():
        many = ngettext("{count} message", "{count} messages", len(members)).format(count=digits(len(members)))
        about = members[0].about if len(members) == 1 else many
        told = f"{channel} · {about} · {health.explain_failure(reason)}"
        told = told if is_dead else f"{told} {_('The message will be sent again.')}"
        ids = [one.letter.message_id for one in members]
        with st.container(horizontal=True, vertical_alignment="center", key=f"letter-{key}-{ids[0]}"):
            show_html(f'<p class="ia-letter">{plain(told)}</p>')
            if is_dead and not reason.endswith(("(410)", CLOSED_FIRST)):
                st.button(_("Retry messages"), key=f"retry-{key}-{ids[0]}", on_click=_act, args=(_retry, ids))


def _act(work: Callable[..., str], *values: object) -> None:
    """Run the button's action as the signed-in person, and store the result for the next run of the page."""
    with refusals_shown():
        try:
            if done := work(*values):
                flash((True, done))
        except ConsoleError as refusal:
            flash((False, refusal_words(refusal)))


def _send_test(person: str, channel_id: int) -> str:
    # It brings an HTTP client, which the page needs for this alone.
    from console.server import notices

    failure = notices.send_test(channel_id, person)
    if failure is None:
        return _("The test was sent. Check whether the message arrived.")
    flash((False, _("The test was not delivered. {reason}").format(reason=health.explain_failure(failure))))
    return ""


def _set_muted(muted: bool, person: str, channel_id: int) -> str:
    with writing() as session:
        channels.mute_channel(session, person, channel_id, muted, now_ms())
    return _("The channel is muted.") if muted else _("The channel is unmuted. New items are announced again.")


def _rotate(person: str, channel_id: int) -> str:
    at_ms = now_ms()
    with writing() as session:
        fresh = channels.rotate_secret(session, channel_id, person, at_ms, at_ms + _OVERLAP_MS)
    st.session_state["channel_secret"] = channel_id, fresh
    return _("The secret was replaced. For 24 hours the old secret signs each message, too.")


def _remove(person: str, channel_id: int) -> str:
    with writing() as session:
        channels.remove_channel(session, person, channel_id, now_ms())
    return _("The channel was removed.")


def _retry(message_ids: list[int] | None) -> str:
    with writing() as session:
        _refuse_others(session, message_ids)
        count = health.retry_undelivered(session, now_ms(), message_ids)
    told = ngettext("{count} message will be sent again.", "{count} messages will be sent again.", count)
    return told.format(count=digits(count))


def _refuse_others(session: Session, message_ids: list[int] | None) -> None:
    """Raise Unknown if a reviewer retries a message of another person."""
    identity = current_identity()
    if identity is not None and not _operates(identity):
        own = {one.letter.message_id for one in health.list_undelivered(session, identity.name)}
        if message_ids is None or not own.issuperset(message_ids):
            raise Unknown("message", message_ids[0] if message_ids else "*")


def _add(person: str, wish: ChannelWish) -> None:
    with writing() as session:
        row = channels.add_channel(session, person, wish, now_ms())
        if row.secret:
            st.session_state["channel_secret"] = row.id, row.secret
    finish(_("The channel was added. Send a test to see whether notices arrive."))


def _save_change(person: str, channel_id: int, wish: ChannelWish) -> None:
    with refusals_shown():
        with writing() as session:
            channels.change_channel(session, person, channel_id, wish, now_ms())
        finish(_("The changes are saved."))


def _operates(identity: Identity) -> bool:
    return identity.has(Role.RESEARCHER) or identity.has(Role.ADMIN)


identity = current_identity()
if identity is None:
    st.stop()
st.title(_("Notices"), anchor=False)
show_messages()
show_own_channels(identity)
if _operates(identity):
    show_health()
else:
    show_own_messages(identity)
