"""Any order of puts, claims, answers, lapses, withdrawals and restores, by several people, against a plain model.

It runs on both databases; only SQLite's is restored by the console.
"""

import copy
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import make_url
from sqlmodel import select

from storage import tables
from storage.backup import backup, restore
from storage.check import check
from storage.engine import close, reading
from storage.errors import AlreadyDecided, NotYours, QueueRefusal
from storage.queue import HALTED, Claim, NewItem, NoClaim, NoClaimReason, Queue
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.tables import ItemStatus
from tests import postgres
from tests.storage.queue_model import UNDO, Model, Place

AT = {"run_id": 1, "trial": 0}
ITEMS, HALTED_ITEMS, LEASE = 3, 1, 10
PEOPLE = st.sampled_from(["ann", "bob", "cem"])
ALL_ITEMS = st.integers(1, ITEMS + HALTED_ITEMS)
ANSWERS = st.sampled_from(["approve", "reject", "respond", "escalate"])


class QueueMachine(RuleBasedStateMachine):
    """Each rule asks the model what must happen, then the queue, and compares."""

    make: staticmethod
    answer: staticmethod

    @initialize(reviews=st.integers(1, 2), cap=st.sampled_from([None, 1, 2, 4]))
    def begin(self, reviews, cap):
        self.stack = ExitStack()
        self.url = self.stack.enter_context(self.make(reviews))
        self.queue, self.now, self.keys = Queue(self.url), 0, 0
        self.model = Model(["action"] * ITEMS + [HALTED] * HALTED_ITEMS, reviews, cap)
        self.copy, self.restored, self.steps = None, False, 0
        self.queue.open_budget(**AT, cap=cap)

    def teardown(self):
        if hasattr(self, "stack"):
            self.stack.close()

    @rule(item=st.integers(1, ITEMS + HALTED_ITEMS + 2))
    def put(self, item):
        item = min(item, len(self.model.items) + 1)
        with reading(self.url) as session:
            row = session.get(tables.Item, item)
        # A new item comes after all others, so that the order of the ids stays the order of the queue.
        made = NewItem(1, 0, 1, 1 + item, "action", -1.0 - item, self.model.reviews, None, 0)
        if row is not None:
            made = NewItem(1, 0, row.trajectory_id, row.step, row.kind, row.priority, self.model.reviews, None, 0)
        assert self.queue.put([made]) == self.model.put(item)

    @precondition(lambda self: not self.restored and self.url.startswith("sqlite"))
    @rule()
    def back_up_or_restore(self):
        if self.copy is None:
            path = Path(self.url.removeprefix("sqlite:///")).with_name("copy.db")
            self.copy = backup(self.url, path), copy.deepcopy(self.model)
            return
        path, self.model = self.copy
        restore(self.url, path)
        self.restored = True

    @rule(ms=st.sampled_from([1, 4, LEASE]))
    def time_passes(self, ms):
        self.now += ms

    @rule(who=PEOPLE, settles=st.booleans())
    def claim_next(self, who, settles):
        found = self.queue.claim(**AT, reviewer=who, now_ms=self.now, lease_ms=LEASE, settles=settles)
        self.model.sweep(self.now)
        expected = self.model.next_for(who)
        if expected is None:
            assert isinstance(found, NoClaim)
            self._refused_for_a_reason(found)
        else:
            self._claimed(found, expected, who, settles)

    @rule(who=PEOPLE, item=ALL_ITEMS)
    def claim_by_name(self, who, item):
        found = self.queue.claim(**AT, reviewer=who, now_ms=self.now, lease_ms=LEASE, item_id=item, settles=False)
        self.model.sweep(self.now)
        place, piece = self.model.places.get((item, who)), self.model.items[item]
        held = place is not None and place.status == "claimed"
        if held or (
            piece.open and not piece.gone and self.model.can_spend() and not (place and place.status == "decided")
        ):
            self._claimed(found, item, who, False)
        else:
            assert isinstance(found, NoClaim)

    @precondition(lambda self: self.model.places)
    @rule(data=st.data(), word=ANSWERS, stale=st.integers(0, 4).map(lambda n: n == 4))
    def decide(self, data, word, stale):
        (item, who), place = self._pick(data)
        halted = self.model.items[item].kind == HALTED
        late = place.status == "lapsed" and self.model.items[item].open and self.model.can_spend()
        expected = (
            QueueRefusal
            if self.model.items[item].gone or (halted and word == "approve")
            else AlreadyDecided
            if place.status == "decided"
            else NotYours
            if stale or not (place.status == "claimed" or late)
            else None
        )
        send = {"item_id": item, "reviewer": who, "token": "stale" if stale else place.token}
        if expected:
            with pytest.raises(expected):
                self._decide(send, word)
            return
        row = self._decide(send, word)
        if place.status == "lapsed":
            self.model.items[item].open -= 1
        place.status = "decided"
        self.model.give(row, self.now)
        assert self._decide(send, word, again=True) == row

    @precondition(lambda self: self.model.places)
    @rule(data=st.data(), word=ANSWERS)
    def answer_after_the_lease(self, data, word):
        self.now += LEASE
        self.sweep()
        self.decide(data, word, False)

    @precondition(lambda self: self.model.places)
    @rule(data=st.data(), skip=st.booleans())
    def put_down(self, data, skip):
        (item, who), place = self._pick(data)
        leave = self.queue.skip if skip else self.queue.release
        send = {"item_id": item, "reviewer": who, "token": place.token, "now_ms": self.now}
        if place.status != "claimed":
            with pytest.raises(NotYours):
                leave(**send)
            return
        leave(**send)
        self.model.leave(item, who, "skipped" if skip else "released", self.now)

    @precondition(lambda self: self.model.places)
    @rule(data=st.data())
    def extend(self, data):
        (item, who), place = self._pick(data)
        send = {"item_id": item, "reviewer": who, "token": place.token, "now_ms": self.now, "lease_ms": LEASE}
        if place.status == "claimed" and place.until_ms > self.now:
            place.until_ms = self.queue.extend(**send)
        else:
            with pytest.raises(NotYours):
                self.queue.extend(**send)

    @precondition(lambda self: self.model.given)
    @rule(data=st.data())
    def undo(self, data):
        given = data.draw(st.sampled_from(self.model.given))
        place, current = self.model.places[given.item, given.who], self.model.current(given.item, given.who)
        send = {"item_id": given.item, "reviewer": given.who, "now_ms": self.now, "lease_ms": LEASE}
        if place.status != "decided" or self.model.items[given.item].gone or current.delivered:
            with pytest.raises(QueueRefusal):
                self.queue.undo(**send)
            return
        again = self.queue.undo(**send)
        self.model.take_back(current)
        place.status, place.token, place.until_ms = "claimed", again.token, self.now + LEASE

    @rule(count=st.integers(1, 3))
    def deliver(self, count):
        due = [
            g
            for g in self.model.given
            if g.current and not g.delivered and g.deliverable_ms <= self.now and not self.model.items[g.item].gone
        ]
        assert self.queue.due(run_id=1, now_ms=self.now) == [g.id for g in due]
        every = [g.id for g in self.model.given if g not in due]
        assert self.queue.mark_delivered(decision_ids=every, now_ms=self.now) == 0
        for given in due[:count]:
            assert self.queue.mark_delivered(decision_ids=[given.id], now_ms=self.now) == 1
            given.delivered = True

    @rule(item=ALL_ITEMS, expire=st.booleans())
    def withdraw(self, item, expire):
        leaves = self.model.status(item) in ("pending", "claimed")
        with Transaction(self.url) as db:
            status = ItemStatus.EXPIRED if expire else ItemStatus.CANCELLED
            assert withdraw_items(db, [item], status, self.now) == leaves
        if leaves:
            self.model.items[item].gone = "expired" if expire else "cancelled"
            self.model.items[item].open = 0
            for (at, who), place in self.model.places.items():
                if at == item and place.status == "claimed":
                    self.model.leave(item, who, "released", self.now)

    @rule()
    def sweep(self):
        assert self.queue.sweep(now_ms=self.now) == self.model.sweep(self.now)

    @invariant()
    def sums_agree(self):
        if not hasattr(self, "url"):
            return
        self.steps += 1
        # A check reads every table twice, which a server answers in a third of a second.
        if self.url.startswith("sqlite") or self.steps % 10 == 0:
            assert check(self.url) == []
        assert self.queue.budget(**AT).used == self.model.used()
        with reading(self.url) as session:
            items = session.exec(select(tables.Item).order_by(tables.Item.id)).all()
            assert [(i.status, i.open_slots, i.reviews_required) for i in items] == [
                (self.model.status(i), piece.open, piece.required) for i, piece in self.model.items.items()
            ]

    def _claimed(self, found, item, who, settles):
        assert isinstance(found, Claim)
        assert found.item_id == item
        assert found.lease_until_ms == self.now + LEASE
        place = self.model.places.get((item, who))
        if place is not None and place.status == "claimed":
            assert found.token == place.token
            place.until_ms = found.lease_until_ms
        else:
            self.model.items[item].open -= 1
            self.model.places[item, who] = Place(found.slot_id, found.token, "claimed", self.now, found.lease_until_ms)
        assert found.budget_used == self.model.used()
        for given in self.model.given:
            if settles and given.who == who and given.current:
                given.deliverable_ms = min(given.deliverable_ms, self.now)

    def _refused_for_a_reason(self, found):
        unreviewed = [i for i in self.model.items if self.model.status(i) in ("pending", "claimed")]
        assert found.waiting == len(unreviewed)
        if not unreviewed:
            assert found.reason is NoClaimReason.EMPTY
        elif not self.model.can_spend():
            assert found.reason is NoClaimReason.BUDGET_SPENT
        else:
            assert found.reason in (NoClaimReason.ALL_CLAIMED_BY_OTHERS, NoClaimReason.ALL_REVIEWED_BY_YOU)

    def _pick(self, data):
        return data.draw(st.sampled_from(sorted(self.model.places.items(), key=lambda entry: entry[0])))

    def _decide(self, send, word, again=False):
        self.keys += not again
        return self.queue.decide(**send, now_ms=self.now, undo_ms=UNDO, **self.answer(str(self.keys), word))


@contextmanager
def sqlite_copy(template):
    """The URL of a copy of the file, for the length of a block."""
    with tempfile.TemporaryDirectory(dir=template.parent) as folder:
        url = f"sqlite:///{shutil.copy(template, Path(folder) / 'console.db')}"
        yield url
        close(url)


@pytest.mark.parametrize("examples", [2, pytest.param(200, marks=pytest.mark.at_length)])
@pytest.mark.parametrize("server", [False, pytest.param(True, marks=postgres.NEEDED)], ids=["sqlite", "postgresql"])
def test_every_order_of_events_keeps_the_books(tmp_path, empty_database, stock, answer, server, examples):
    with ExitStack() as stack:
        makers = {}
        for reviews in (1, 2):
            path = tmp_path / f"{reviews}.db"
            shutil.copy(empty_database, path)
            url = stack.enter_context(postgres.database()) if server else f"sqlite:///{path}"
            stock(url, ITEMS, halted=HALTED_ITEMS, reviews=reviews)
            # The last connection folds the log into the file, so that it can be copied alone.
            close(url)
            name = make_url(url).database
            makers[reviews] = partial(postgres.database, name) if server else partial(sqlite_copy, path)
        QueueMachine.make, QueueMachine.answer = staticmethod(lambda n: makers[n]()), staticmethod(answer)
        run_state_machine_as_test(
            QueueMachine,
            settings=settings(
                max_examples=max(1, examples // 4) if server else examples,
                stateful_step_count=40,
                deadline=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
