"""The rules of the queue, written a second time with plain dictionaries."""

from dataclasses import dataclass

UNDO = 3


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

    def __init__(self, kinds: list[str], reviews: int, cap: int | None) -> None:
        self.items = {i: Piece(reviews, reviews, kind) for i, kind in enumerate(kinds, 1)}
        self.places: dict[tuple[int, str], Place] = {}
        self.given: list[Given] = []
        self.reviews, self.cap = reviews, cap

    def put(self, item: int) -> int:
        piece = self.items.get(item)
        if piece is not None and (piece.gone != "cancelled" or self.is_occupied(item)):
            return 0
        self.items[item] = Piece(self.reviews, self.reviews, piece.kind if piece else "action")
        return 1

    def is_occupied(self, item: int) -> bool:
        return any(i == item and place.status in ("claimed", "decided") for (i, _), place in self.places.items())

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
