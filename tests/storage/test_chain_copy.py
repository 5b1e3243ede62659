"""A copy of one audit chain: it is checked without its database, and found again in it by its last hash."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from storage import audit_chain, tables
from storage.chain_copy import ChainCopy, check_copy, copy_chain, find_place
from storage.engine import reading, writing

CONTENT = {"at_ms": 1, "actor": "Ada", "subject": "shop", "detail": "{}", "door": "cli", "place": "here"}


def add(url, kind, run_id=1, erases=()):
    content = CONTENT | {"before": None, "after": "9", "kind": kind, "run_id": run_id}
    with writing(url) as session:
        return audit_chain.append(session.connection(), content, erases)


def copied(url, chain=1):
    with reading(url) as session:
        return copy_chain(session.connection(), chain)


def is_found(url, copy):
    with reading(url) as session:
        return find_place(session.connection(), copy)


@pytest.fixture
def chained(url):
    """A database with the chains of two runs: their rows, three events each, of which one was erased."""
    with writing(url) as session:
        session.add_all(
            tables.Run(id=n, name=f"r{n}", kind="gate", environment="generic", created_ms=1) for n in (1, 2)
        )
    for kind in ("first", "second", "third"):
        for run_id in (1, 2):
            last = add(url, kind, run_id)
    add(url, "content erased", None, [last - 3])
    return url


def test_a_copy_holds_its_chain_alone_and_is_sound(chained):
    copy = copied(chained)
    assert [link[2] for link in copy.links] == ["rows of run", "first", "second", "third"]
    assert [link[8:] for link in copy.links] == [(1, place) for place in (1, 2, 3, 4)]
    assert copy.end == (copy.links[-1][0], 4, copy.links[-1][7])
    assert [content[3] for content in copy.contents.values()] == ["first", "third"]
    assert copy.erased == (copy.links[2][0],)
    assert (copy.count_events(), check_copy(copy)) == (3, [])
    assert copied(chained, 2).erased == ()
    assert (copied(chained, 7), check_copy(copied(chained, 7))) == (ChainCopy((0, 0, ""), (), {}, ()), [])


def test_a_copy_is_the_same_after_it_was_written_and_read(chained):
    copy = copied(chained)
    again = ChainCopy.from_json(copy.to_json())
    assert again == copy
    assert check_copy(again) == []
    for name in ("end", "links", "contents", "erased"):
        document = json.loads(copy.to_json())
        del document[name]
        with pytest.raises(ValueError, match="copy of the audit chain is incomplete"):
            ChainCopy.from_json(json.dumps(document))
    document = json.loads(copy.to_json())
    document["links"][1].pop()
    with pytest.raises(ValueError, match="is incomplete"):
        ChainCopy.from_json(json.dumps(document))


def test_each_change_of_a_copy_is_named(chained):
    copy = copied(chained)
    first, third = copy.links[1][0], copy.links[3][0]
    forged = tuple("Eve" if value == "Ada" else value for value in copy.contents[first])
    changes = {
        f"Audit: event {first} (first) was changed.": replace(copy, contents={**copy.contents, first: forged}),
        f"Audit: event {third} (third) was removed.": replace(copy, contents={first: copy.contents[first]}),
        f"Audit: event {copy.links[2][0]} (second) was removed.": replace(copy, erased=()),
        f"Audit: the chain of run 1 ends early; the last event, {third}, was removed.": replace(
            copy, links=copy.links[:-1], contents={first: copy.contents[first]}
        ),
    }
    for sentence, changed in changes.items():
        assert check_copy(changed) == [sentence]


def test_a_copy_is_found_as_long_as_its_last_link_is_in_its_place(chained):
    copy = copied(chained)
    assert is_found(chained, copy)
    add(chained, "fourth")
    assert is_found(chained, copy)
    with closing(sqlite3.connect(chained.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE event_link SET hash = 'x' WHERE chain = 1 AND place = 4")
    assert not is_found(chained, copy)
    assert is_found(chained, copied(chained, 7))
