"""What a browser tells of an item's page is kept only where it can be true, of one's own item, and asked for."""

import pytest

from console.studies.sessions import joining
from console.studies.sessions.page_events import keep_events
from storage import tables

AWAY = {"kind": "away", "ms": 10, "lasted_ms": 900}
KEY = {"kind": "key", "detail": "x", "ms": 30}
STRANGE = [
    "text",
    {"kind": "typed", "ms": 1},
    {"kind": "key", "detail": "my whole password", "ms": 1},
    {"kind": "key", "detail": "x", "ms": -1},
    {"kind": "away", "ms": 1, "lasted_ms": 10**12},
    {"kind": "away", "ms": True},
    {"kind": "away", "ms": "1"},
]


@pytest.mark.parametrize(("traced", "kinds"), [(False, ["away"]), (True, ["away", "key"])])
def test_a_trace_is_kept_only_where_the_design_asks_for_it(study, walk, rows, traced, kinds):
    made = study(interaction_trace=traced, tasks=1, trials=1, factors={"detector": ("full-validation",)})
    person, other = joining.join(made.join_code), joining.join(made.join_code)
    item = walk(person.id, stop=lambda place: place.kind == "review").claim.item_id
    assert keep_events(person.secret, {"item": item, "events": [AWAY, KEY, *STRANGE]})
    assert [row.kind for row in rows(tables.PageEvent)] == kinds
    assert not keep_events(other.secret, {"item": item, "events": [AWAY]})
    assert not keep_events("made-up", {"item": item, "events": [AWAY]})
    assert not keep_events(person.secret, {"item": 10**30, "events": [AWAY]})
    assert not keep_events(person.secret, {"item": item, "events": "all"})
    assert [row.kind for row in rows(tables.PageEvent)] == kinds
