"""The text of a notice: the pending or closed items, with run, tool, agent and deadline, and links to the items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from sqlmodel import Session, col, select

from console.language import _, ngettext, speaking
from console.review.access import list_reviewable_runs
from console.review.decisions import DECIDED
from console.review.plain_text import escape_hidden
from console.review.resolution import list_current_decisions
from console.runs import iso
from console.runs.outbox import GIVEN_UP, ITEM_CLOSED, ITEM_PENDING, ITEM_REMINDER, NOT_NEEDED, Claimed
from console.settings import settings
from storage import tables
from storage.tables import UNREVIEWED, ItemStatus, RunKind

CLOSED_FIRST = "the item closed first"
MOST_LINES = 10
"""The maximum number of items that a text names; the other items are counted."""
_LONGEST_NAME, _LONGEST_ARGUMENTS = 80, 300


@dataclass(frozen=True, slots=True)
class ItemEvent:
    """An event of an item for a notice; `outcome` is the end of a closed item, else empty.

    `deadline_ms` is None if no agent waits or the agent has no deadline. `arguments` is empty unless the operator
    allows arguments.
    """

    event: str
    item_id: int
    run: str
    tool: str
    agent: str
    deadline_ms: int | None
    outcome: str = ""
    arguments: str = ""

    def document(self, base: str) -> dict[str, Any]:
        """Return the event as JSON for a webhook."""
        return {
            "type": self.event,
            "item_id": self.item_id,
            "run": self.run,
            "tool": self.tool or None,
            "agent": self.agent or None,
            "deadline": iso(self.deadline_ms),
            "outcome": self.outcome or None,
            "arguments": self.arguments or None,
            "link": item_link(base, self.item_id),
        }


@dataclass(frozen=True, slots=True)
class NoticeText:
    """The text of a notice: its subject in one line, and its body in plain text with links."""

    subject: str
    text: str


def item_link(base: str, item_id: int) -> str:
    """Return the address of the item, which requires a sign-in."""
    return f"{base}/review?item={item_id}"


Dropped = list[tuple[Claimed, str]]


def read_events(
    session: Session, channel: tables.NoticeChannel, rows: Sequence[Claimed]
) -> tuple[list[ItemEvent], Dropped]:
    """Return the events of these rows that are still relevant, and all other rows with the reason."""
    chosen, events, dropped = set(channel.events.split(",")), list[ItemEvent](), Dropped()
    owner = session.get_one(tables.Person, channel.person_id)
    open_runs = {run.id for run in list_reviewable_runs(session, owner.name)} if rows else set()
    for row in rows:
        item = session.get(tables.Item, row.subject_id)
        run = session.get(tables.Run, item.run_id) if item is not None else None
        if item is None or run is None:
            dropped.append((row, f"{NOT_NEEDED}the item was removed"))
            continue
        outcome = _describe_outcome(session, run, item)
        reason = _reason_to_drop(session, channel, row, item)
        if run.id not in open_runs:
            reason = "the person no longer reviews this run"
        if row.event not in chosen:
            reason = "the person did not choose this event"
        if reason is None:
            events.append(_read_event(session, run, item, row.event, outcome if row.event == ITEM_CLOSED else ""))
        elif row.failure and row.event in chosen:
            dropped.append((row, f"{GIVEN_UP}{reason}; before that: {row.failure.removeprefix(GIVEN_UP)}"))
        else:
            dropped.append((row, f"{NOT_NEEDED}{reason}"))
    events.sort(key=_rank)
    return events, dropped


def compose(events: Sequence[ItemEvent], channel: tables.NoticeChannel, base: str) -> NoticeText:
    """Return the text of these events in the language and the time zone of the channel."""
    zone = ZoneInfo(channel.time_zone)
    with speaking(channel.language):
        lines = [_line(event, zone) for event in events[:MOST_LINES]]
        parts = [f"{line}\n{item_link(base, event.item_id)}" for line, event in zip(lines, events, strict=False)]
        if (more := len(events) - MOST_LINES) > 0:
            parts.append(f"{ngettext('and {count} more', 'and {count} more', more).format(count=more)}\n{base}/inbox")
        subject = lines[0] if len(events) == 1 else _count(events)
        heading = [] if len(events) == 1 else [subject]
        return NoticeText(subject, "\n\n".join([*heading, *parts, _ending(base)]))


def compose_test(channel: tables.NoticeChannel, base: str) -> NoticeText:
    """Return the text of a test in the language of the channel."""
    with speaking(channel.language):
        subject = _("Test of your notices")
        told = _("This is a test. Notices about pending reviews arrive here.")
        return NoticeText(subject, "\n\n".join([told, _ending(base)]))


def _ending(base: str) -> str:
    return f"{_('Change or mute these notices:')} {base}/notices"


def _rank(event: ItemEvent) -> tuple[int, float, int]:
    order = (ITEM_REMINDER, ITEM_PENDING, ITEM_CLOSED)
    return order.index(event.event), event.deadline_ms or float("inf"), event.item_id


def _count(events: Sequence[ItemEvent]) -> str:
    """Return the number of items by event in one line."""
    told = []
    waiting = len({event.item_id for event in events if event.event != ITEM_CLOSED})
    if waiting:
        told.append(ngettext("{count} item is pending", "{count} items are pending", waiting).format(count=waiting))
    if closed := len({event.item_id for event in events if event.event == ITEM_CLOSED}):
        told.append(ngettext("{count} item is closed", "{count} items are closed", closed).format(count=closed))
    return ", ".join(told)


def _line(event: ItemEvent, zone: ZoneInfo) -> str:
    parts = [_HEADS[event.event]().format(run=event.run)]
    parts += [_("tool {tool}").format(tool=event.tool)] if event.tool else []
    parts += [_("agent {agent}").format(agent=event.agent)] if event.agent else []
    if event.event == ITEM_CLOSED:
        parts.append(_outcomes()[event.outcome])
    elif event.deadline_ms is not None:
        at = datetime.fromtimestamp(event.deadline_ms / 1_000, zone)
        parts.append(_("decide before {time}").format(time=f"{at:%Y-%m-%d %H:%M} {at.tzname()}"))
    parts += [event.arguments] if event.arguments else []
    return " · ".join(parts)


_HEADS: dict[str, Callable[[], str]] = {
    ITEM_PENDING: lambda: _("New item in {run}"),
    ITEM_REMINDER: lambda: _("Still pending in {run}"),
    ITEM_CLOSED: lambda: _("Closed in {run}"),
}


def _outcomes() -> dict[str, str]:
    return {kind: _(words) for kind, words in DECIDED.items()} | {
        "decided": _("decided"),
        str(ItemStatus.EXPIRED): _("expired without a decision"),
        str(ItemStatus.CANCELLED): _("withdrawn"),
    }


def _describe_outcome(session: Session, run: tables.Run, item: tables.Item) -> str:
    """Return the item's end in one word: a decision, `decided` for several or in a blind run, or its status."""
    if item.status in UNREVIEWED:
        return ""
    if item.status in (ItemStatus.EXPIRED, ItemStatus.CANCELLED):
        return str(item.status)
    decided = {row.decision for row in list_current_decisions(session, item.id)}
    # A live agent has the decision already; elsewhere, later reviewers of the task must not know it.
    is_hidden = run.blind and run.kind != RunKind.GATE
    return "decided" if is_hidden or len(decided) != 1 else str(decided.pop())


def _reason_to_drop(session: Session, channel: tables.NoticeChannel, row: Claimed, item: tables.Item) -> str | None:
    """Return the reason why an event is outdated, or None if the event is current."""
    if row.event != ITEM_CLOSED:
        return None if item.status in UNREVIEWED else CLOSED_FIRST
    if item.status == ItemStatus.EXPIRED:
        return None
    told, owner = tables.Outbox, session.get_one(tables.Person, channel.person_id)
    before = select(told.id).where(
        told.channel == f"channel {channel.id}", told.subject_id == item.id, col(told.delivered_ms).is_not(None)
    )
    if session.exec(before.limit(1)).first() is None:
        return "the person was not told of the item"
    is_own = any(one.reviewer == owner.name for one in list_current_decisions(session, item.id))
    return "the person decided the item" if is_own else None


def _read_event(session: Session, run: tables.Run, item: tables.Item, event: str, outcome: str) -> ItemEvent:
    ask = tables.Ask
    check = session.exec(select(ask).where(ask.item_id == item.id).order_by(col(ask.id).desc())).first()
    record = session.get_one(tables.Trajectory, item.trajectory_id) if settings().notice_arguments else None
    return ItemEvent(
        event,
        item.id or 0,
        _in_line(run.name),
        _in_line(check.tool or "") if check else "",
        _in_line(check.asker) if check and check.agent_id is not None else "",
        check.deadline_ms if check else None,
        outcome,
        _in_line(record.critical_action or "", _LONGEST_ARGUMENTS) if record else "",
    )


def _in_line(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return untrusted text on one line, in a form that mail programs do not show as a link."""
    line = " ".join(escape_hidden(" ".join(text.split())).replace("://", ": //").replace("www.", "www .").split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
