"""Any order of claims, answers, lapses and withdrawals, by several people, against a model of plain dictionaries."""

import shutil
import tempfile
from dataclasses import dataclass
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
from sqlmodel import select

from storage import tables
from storage.check import check
from storage.engine import close, reading
from storage.errors import AlreadyDecided, NotYours, QueueRefusal
from storage.queue import HALTED, Claim, NoClaim, NoClaimReason, Queue
from storage.queue.claims import withdraw_items
from storage.queue.transaction import Transaction
from storage.tables import ItemStatus

AT = {"run_id": 1, "trial": 0}
ITEMS, HALTED_ITEMS, LEASE, UNDO = 3, 1, 10, 3
PEOPLE = st.sampled_from(["ann", "bob", "cem"])
ALL_ITEMS = st.integers(1, ITEMS + HALTED_ITEMS)
ANSWERS = st.sampled_from(["approve", "reject", "respond", "escalate"])


@dataclass
class Place:
    """What the model knows of one person's place at one item."""

    slot_id: int
    token: str
    status: str
    claimed_ms: int
    until_ms: int


@dataclass
class Piece:
    """What the model knows of one item."""

    open: int
    required: int
    kind: str
    gone: str | None = None


@dataclass
class Given:
    """What the model knows of one decision."""

    id: int
    item: int
    who: str
    word: str
    deliverable_ms: int
    current: bool = True
    delivered: bool = False


class Model:
    """The rules of the queue, written a second time."""

    def __init__(self, reviews: int, cap: int | None) -> None:
        kinds = ["action"] * ITEMS + [HALTED] * HALTED_ITEMS
        self.items = {i: Piece(reviews, reviews, kind) for i, kind in enumerate(kinds, 1)}
        self.places: dict[tuple[int, str], Place] = {}
        self.given: list[Given] = []
        self.cap = cap

    def used(self) -> int:
        return sum(place.status in ("claimed", "decided") for place in self.places.values())

    def can_spend(self) -> bool:
        return self.cap is None or self.used() < self.cap

    def sweep(self, now: int) -> int:
        lapsed = [k for k, p in self.places.items() if p.status == "claimed" and p.until_ms <= now]
        for item, who in lapsed:
            self.leave(item, who, "lapsed", now)
        return len(lapsed)

    def leave(self, item: int, who: str, status: str, now: int) -> None:
        place = self.places[item, who]
        place.status, place.until_ms = status, now
        if not self.items[item].gone:
            self.items[item].open += 1

    def next_for(self, who: str) -> int | None:
        held = [(p.claimed_ms, p.slot_id, i) for (i, w), p in self.places.items() if w == who and p.status == "claimed"]
        if held:
            return max(held)[2]
        if not self.can_spend():
            return None
        mine = {i: self.places[i, who] for i in self.items if (i, who) in self.places}
        free = [i for i, piece in self.items.items() if piece.open and not piece.gone]
        fresh = [i for i in free if i not in mine or mine[i].status in ("lapsed", "released")]
        aside = [(mine[i].until_ms, i) for i in free if i in mine and mine[i].status == "skipped"]
        return min(fresh) if fresh else min(aside)[1] if aside else None

    def current(self, item: int, who: str) -> Given | None:
        found = [g for g in self.given if (g.item, g.who) == (item, who) and g.current]
        return found[0] if found else None

    def status(self, item: int) -> str:
        piece = self.items[item]
        if piece.gone:
            return piece.gone
        if piece.open:
            return "pending"
        if any(i == item and place.status == "claimed" for (i, _), place in self.places.items()):
            return "claimed"
        return "delivered" if all(g.delivered for g in self.given if g.item == item and g.current) else "decided"

    def take_back(self, given: Given) -> None:
        given.current = False
        piece = self.items[given.item]
        if given.word == "escalate" and piece.open and piece.required > 1:
            piece.open, piece.required = piece.open - 1, piece.required - 1

    def give(self, row, now: int) -> None:
        self.given.append(Given(row.id, row.item_id, row.reviewer, row.decision, now + UNDO))
        if row.decision == "escalate":
            self.items[row.item_id].open += 1
            self.items[row.item_id].required += 1


class QueueMachine(RuleBasedStateMachine):
    """Each rule asks the model what must happen, then the queue, and compares."""

    template: Path
    answer: staticmethod

    @initialize(reviews=st.integers(1, 2), cap=st.sampled_from([None, 1, 2, 4]))
    def begin(self, reviews, cap):
        self.folder = Path(tempfile.mkdtemp(dir=self.template))
        shutil.copy(self.template / f"{reviews}.db", self.folder / "console.db")
        self.url = f"sqlite:///{self.folder / 'console.db'}"
        self.queue, self.model, self.now, self.keys = Queue(self.url), Model(reviews, cap), 0, 0
        self.queue.open_budget(**AT, cap=cap)

    def teardown(self):
        if hasattr(self, "url"):
            close(self.url)
            shutil.rmtree(self.folder)

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


@pytest.mark.parametrize("examples", [8, pytest.param(200, marks=pytest.mark.at_length)])
def test_every_order_of_events_keeps_the_books(tmp_path, stock, answer, examples):
    from storage.migrations import migrate

    for reviews in (1, 2):
        url = f"sqlite:///{tmp_path / f'{reviews}.db'}"
        migrate(url)
        stock(url, ITEMS, halted=HALTED_ITEMS, reviews=reviews)
        # The last connection folds the log into the file, so that it can be copied alone.
        close(url)
    QueueMachine.template, QueueMachine.answer = tmp_path, staticmethod(answer)
    run_state_machine_as_test(
        QueueMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
