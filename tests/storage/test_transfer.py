"""A copy of a database between SQLite and PostgreSQL: every row, equal ends of the audit log, or nothing at all."""

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import create_engine, make_url
from sqlmodel import Session

from console.auth import audit_log
from storage import tables
from storage.backup import backup
from storage.check import chain_end, check
from storage.engine import close, engine, writing
from storage.errors import StorageError
from storage.queue import Queue
from storage.transfer import copy_database
from tests import postgres
from tests.postgres import NEEDED

pytestmark = NEEDED


@pytest.fixture
def server():
    with postgres.database() as made:
        yield made


@pytest.fixture
def busy(url, stock, answer):
    """A database in which people decided, a row with a key of two columns was written and a blob was kept."""
    queue = stock(url, 4, cap=3, halted=1)
    for number, reviewer in enumerate(("ada", "Łukasz 🐢")):
        claim = queue.claim(run_id=1, trial=0, reviewer=reviewer, now_ms=2_000 + number, lease_ms=60_000)
        queue.decide(
            item_id=claim.item_id,
            reviewer=reviewer,
            token=claim.token,
            now_ms=3_000,
            undo_ms=0,
            **answer(f"key {number}"),
        )
    with writing(url) as session:
        session.add(tables.Person(name="Łukasz 🐢", name_key="łukasz 🐢", roles="reviewer", created_ms=2**40))
        session.add(tables.StoredPicture(digest="d", media_type="image/png", data=b"\x00\xff\x01"))
        audit_log.record(session, None, "run started", 5, detail={"note": "ü"})
    return url


def rows_of(url):
    """Every row of every table of a SQLite file but those that are derived from others, as sqlite3 reads them."""
    path = make_url(url).database
    with closing(sqlite3.connect(path)) as connection:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith(("trajectory_words", "run_count", "sqlite_"))
        ]
        return {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}


def count_rows(url):
    found = 0
    opened = create_engine(url)
    with opened.connect() as connection:
        for table in tables.Table.metadata.sorted_tables:
            found += connection.exec_driver_sql(f"SELECT count(*) FROM {table.name}").scalar_one()
    opened.dispose()
    return found


def test_a_copy_to_a_server_and_back_is_the_same_database(busy, server, tmp_path):
    first = copy_database(busy, server)
    assert check(server) == []
    with engine(server).connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM run_count_changed").scalar_one() == 0
    assert chain_end(server) == chain_end(busy)
    back = f"sqlite:///{tmp_path / 'back.db'}"
    assert copy_database(server, back) == first
    assert rows_of(back) == rows_of(busy)
    assert {one.name: one.rows for one in first} | {"alembic_version": 1} == {
        name: len(rows) for name, rows in rows_of(busy).items()
    }
    assert check(back) == []
    close(back)


@pytest.mark.at_length
def test_work_goes_on_in_the_copy(busy, server, answer):
    copy_database(busy, server)
    queue = Queue(server)
    claim = queue.claim(run_id=1, trial=0, reviewer="bo", now_ms=9_000, lease_ms=60_000)
    queue.decide(item_id=claim.item_id, reviewer="bo", token=claim.token, now_ms=9_001, undo_ms=0, **answer("later"))
    with writing(server) as session:
        session.add(tables.Person(name="cy", name_key="cy", roles="reviewer", created_ms=1))
        audit_log.record(session, None, "run started", 6)
    assert check(server) == []
    with Session(engine(server)) as session:
        assert session.get(tables.Person, 2).name == "cy"


def test_a_target_with_rows_stays_as_it_was(busy, server):
    with writing(server) as session:
        session.add(tables.Person(name="cy", name_key="cy", roles="reviewer", created_ms=1))
    before = count_rows(server)
    with pytest.raises(StorageError, match="already has data in"):
        copy_database(busy, server)
    assert count_rows(server) == before


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("UPDATE person SET name = 'a' || char(0) || 'b'", "Cannot copy to .*.*Nothing was copied"),
        ("UPDATE item SET step = 3000000000", "Cannot copy to .*.*out of range"),
    ],
)
def test_what_a_server_cannot_hold_is_named_and_nothing_is_copied(busy, server, made, said):
    with closing(sqlite3.connect(make_url(busy).database)) as other:
        other.execute(made)
        other.commit()
    before = count_rows(server)
    with pytest.raises(StorageError, match=said):
        copy_database(busy, server)
    assert count_rows(server) == before


@pytest.mark.at_length
def test_a_copy_that_differs_is_refused(busy, server):
    opened = create_engine(server)
    with opened.begin() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN NEW.name = upper(NEW.name); RETURN NEW; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER shouting BEFORE INSERT ON person FOR EACH ROW EXECUTE FUNCTION shout()"
        )
    opened.dispose()
    before = count_rows(server)
    with pytest.raises(StorageError, match="copy of table person differs"):
        copy_database(busy, server)
    assert count_rows(server) == before


def test_the_source_is_neither_made_nor_upgraded(server, tmp_path):
    with pytest.raises(StorageError, match="does not exist"):
        copy_database(f"sqlite:///{tmp_path / 'none.db'}", server)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.at_length
def test_a_backup_is_a_source(busy, server, tmp_path):
    backup(busy, tmp_path / "friday.db")
    copied = copy_database(f"sqlite:///{tmp_path / 'friday.db'}", server)
    assert sum(one.rows for one in copied) == count_rows(server)
