"""Sessions: what commits, what rolls back, what waits."""

import threading

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlmodel import Session, select

from storage import tables
from storage.engine import Durability, close, engine, reading, sqlite_path, writing
from storage.errors import StorageError


def run(name):
    return tables.Run(name=name, kind="live", environment="webshop", created_ms=1)


def names(url):
    with reading(url) as session:
        return sorted(session.exec(select(tables.Run.name)))


def test_writing_commits_at_the_end_and_its_rows_stay_readable(url):
    with writing(url) as session:
        row = run("a")
        session.add(row)
    assert (row.id, row.name) == (1, "a")
    assert names(url) == ["a"]


def test_an_error_leaves_nothing_behind(url):
    def fail():
        with writing(url) as session:
            session.add(run("a"))
            session.flush()
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert names(url) == []


def test_reading_never_writes(url):
    with reading(url) as session:
        session.add(run("a"))
        session.flush()
    assert names(url) == []


def test_a_reader_sees_one_state_and_does_not_wait_for_a_writer(url):
    with reading(url) as session:
        assert session.exec(select(tables.Run)).all() == []
        with writing(url) as writer:
            writer.add(run("a"))
            assert session.exec(select(tables.Run)).all() == []
        assert session.exec(select(tables.Run)).all() == []
    assert names(url) == ["a"]


@pytest.mark.at_length
@pytest.mark.parametrize("durability", Durability)
def test_many_writers_take_turns(url, durability):
    def add(place):
        for i in range(20):
            with writing(url, durability) as session:
                before = len(session.exec(select(tables.Run)).all())
                session.add(run(f"{place} {i} after {before}"))

    threads = [threading.Thread(target=add, args=(place,)) for place in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = names(url)
    assert sorted(int(name.rsplit(" ", 1)[1]) for name in found) == list(range(120))


def test_foreign_keys_and_checks_hold(url):
    with pytest.raises(IntegrityError, match="FOREIGN KEY"), writing(url) as session:
        session.add(tables.Budget(run_id=99, trial=0))
    with pytest.raises(IntegrityError, match="ck_kind_known"), writing(url) as session:
        session.add(tables.Run(name="a", kind="nonsense", environment="webshop", created_ms=1))


@pytest.mark.parametrize(("durability", "synchronous"), [(Durability.NORMAL, 1), (Durability.FULL, 2)])
def test_every_connection_is_set_up(url, durability, synchronous):
    with engine(url, durability).connect() as connection:
        asked = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "wal_autocheckpoint")
        }
    assert asked == {
        "journal_mode": "wal",
        "synchronous": synchronous,
        "foreign_keys": 1,
        "busy_timeout": 30_000,
        "wal_autocheckpoint": 4_000,
    }


def test_engines_are_shared_and_the_folder_of_a_new_file_is_made(tmp_path):
    url = f"sqlite:///{tmp_path / 'new' / 'folder' / 'console.db'}"
    assert engine(url) is engine(url)
    assert engine(url) is not engine(url, Durability.FULL)
    with Session(engine(url)) as session:
        assert session.connection().exec_driver_sql("SELECT 1").scalar() == 1


def test_a_database_that_is_closed_keeps_no_connection(url):
    for durability in Durability:
        with writing(url, durability) as session:
            session.connection()
    assert names(url) == []
    opened = engine(url), engine(url, writes=True), engine(url, Durability.FULL)
    assert [one.pool.checkedin() for one in opened] == [1, 1, 1]
    close(url)
    assert [one.pool.checkedin() for one in opened] == [0, 0, 0]


def test_a_server_has_one_pool_for_each_durability():
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is an extra")
    url = "postgresql+psycopg://host/name"
    assert engine(url) is engine(url, writes=True)
    assert engine(url, Durability.FULL) is not engine(url)


def test_a_database_must_be_a_file():
    assert sqlite_path("postgresql+psycopg://host/name") is None
    with pytest.raises(StorageError, match="needs a database file"):
        engine("sqlite://")


def test_a_file_that_cannot_be_opened_says_so(tmp_path):
    (tmp_path / "console.db").mkdir()
    with pytest.raises(OperationalError, match="unable to open"), reading(f"sqlite:///{tmp_path / 'console.db'}") as s:
        s.exec(select(tables.Run)).all()
