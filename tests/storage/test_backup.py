"""Backups taken and put back while others work."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import select

import storage.backup
from storage import tables
from storage.backup import backup, name_in_folder, remove_old, restore
from storage.check import check
from storage.engine import reading, writing
from storage.errors import NewerSchema, NotOurs, OlderSchema, StorageError


def add(url, name):
    with writing(url) as session:
        session.add(tables.Run(name=name, kind="live", environment="webshop", created_ms=1))


def names(url):
    with reading(url) as session:
        return list(session.exec(select(tables.Run.name).order_by(tables.Run.id)))


def test_a_backup_holds_everything_in_one_file(url, tmp_path):
    add(url, "a")
    copy = backup(url, tmp_path / "deep" / "copy.db")
    assert [path.name for path in copy.parent.iterdir()] == ["copy.db"]
    # The file format says that no log belongs to it, so that it opens on a disk that nobody can write.
    assert copy.read_bytes()[18:20] == b"\x01\x01"
    assert names(f"sqlite:///{copy}") == ["a"]
    assert check(f"sqlite:///{copy}") == []


def test_a_backup_never_writes_over_a_file(url, tmp_path):
    there = tmp_path / "there.db"
    there.write_text("mine")
    with pytest.raises(StorageError, match="already exists"):
        backup(url, there)
    assert there.read_text() == "mine"


def test_only_dated_backups_are_removed_the_oldest_first_and_never_the_new_one(tmp_path):
    start = datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC)
    dated = [name_in_folder(str(tmp_path), start + timedelta(seconds=n)) for n in range(4)]
    assert dated[1].name == "console-20260302T000000Z.db"
    others = [tmp_path / name for name in ("console.db", "friday.db", "console-20260301T235959Z.db.bak")]
    for path in (*dated, *others):
        path.touch()
    assert remove_old(dated[3], 4) == []
    assert remove_old(dated[3], 2) == [dated[1], dated[0]]
    assert remove_old(dated[2], 1) == [dated[3]]  # the clock went back
    assert sorted(tmp_path.iterdir()) == sorted([dated[2], *others])
    with pytest.raises(StorageError, match="is not a folder"):
        name_in_folder(others[0], start)


def test_what_cannot_be_backed_up(tmp_path):
    with pytest.raises(StorageError, match="is missing, so it cannot be backed up"):
        backup(f"sqlite:///{tmp_path / 'none.db'}", tmp_path / "copy.db")
    with pytest.raises(StorageError, match="Nothing was copied"):
        backup("postgresql+psycopg://no-host.invalid/name", tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_backups_while_writers_are_busy_are_each_one_state(url, tmp_path):
    stop = threading.Event()

    def pairs():
        place = 0
        while not stop.is_set():
            with writing(url) as session:
                for half in "ab":
                    session.add(tables.Run(name=f"{place}{half}", kind="live", environment="w", created_ms=1))
            place += 1

    writer = threading.Thread(target=pairs)
    writer.start()
    try:
        copies = [backup(url, tmp_path / f"copy{i}.db") for i in range(5)]
    finally:
        stop.set()
        writer.join()
    assert all(len(names(f"sqlite:///{copy}")) % 2 == 0 for copy in copies)


def test_restoring_puts_the_rows_back_under_open_connections_and_keeps_the_replaced(url, tmp_path):
    add(url, "a")
    copy = backup(url, tmp_path / "copy.db")
    add(url, "b")
    assert names(url) == ["a", "b"]
    kept = restore(url, copy).kept
    assert names(url) == ["a"]
    add(url, "c")
    assert names(url) == ["a", "c"]
    assert names(f"sqlite:///{kept}") == ["a", "b"]
    assert kept.name.startswith("console.db.replaced-2")
    assert check(url) == []


@pytest.mark.parametrize("was_emptied", [False, True])
def test_restoring_where_nothing_was(url, tmp_path, was_emptied):
    add(url, "a")
    copy, fresh = backup(url, tmp_path / "copy.db"), tmp_path / "new" / "console.db"
    if was_emptied:
        fresh.parent.mkdir(mode=0o700)
        fresh.touch(mode=0o600)
    assert restore(f"sqlite:///{fresh}", copy).kept is None
    assert names(f"sqlite:///{fresh}") == ["a"]
    assert [path.name for path in fresh.parent.iterdir() if "replaced" in path.name] == []


def test_what_a_backup_and_a_restore_write_only_their_user_can_read(url, tmp_path):
    copy, fresh = backup(url, tmp_path / "copies" / "copy.db"), tmp_path / "new" / "console.db"
    restore(f"sqlite:///{fresh}", copy)
    kept = restore(f"sqlite:///{fresh}", copy).kept
    assert {path.stat().st_mode & 0o777 for path in (copy, fresh, kept)} == {0o600}
    assert {path.parent.stat().st_mode & 0o077 for path in (fresh, kept)} == {0}


def test_a_backup_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_is_said(url, tmp_path, monkeypatch):
    opened, synced, write = [], [], os.fsync

    def sync(file):
        opened.append(file)
        synced.append((os.fstat(file).st_ino, (tmp_path / "copies" / "copy.db").exists()))
        write(file)

    monkeypatch.setattr(os, "fsync", sync)
    copy = backup(url, tmp_path / "copies" / "copy.db")
    assert synced == [(copy.stat().st_ino, False), (copy.parent.stat().st_ino, True)]
    for file in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)


def test_a_file_that_appears_while_its_backup_is_written_stays_as_it_is(url, tmp_path, monkeypatch):
    target, write = tmp_path / "copies" / "copy.db", os.fsync

    def sync(file):
        target.write_text("mine")
        write(file)

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(StorageError, match="already exists"):
        backup(url, target)
    assert [path.name for path in target.parent.iterdir()] == ["copy.db"]
    assert target.read_text() == "mine"


def test_a_restored_file_alone_holds_its_new_epoch(url, tmp_path):
    restore(url, backup(url, tmp_path / "copy.db"))
    alone = tmp_path / "alone.db"
    alone.write_bytes(Path(url.removeprefix("sqlite:///")).read_bytes())
    with closing(sqlite3.connect(f"file:{alone}?immutable=1", uri=True)) as connection:
        assert connection.execute("SELECT epoch FROM database_key").fetchone() == (2,)


def insert(url, table):
    """Add a row with a number in each column that needs a value."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        needed = [name for _, name, _, is_needed, _, is_key in columns if is_needed and not is_key]
        number = f"(SELECT 1 + count(*) FROM {table})"
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(f"INSERT INTO {table} ({', '.join(needed)}) SELECT {', '.join([number] * len(needed))}")


@pytest.fixture
def meanwhile(url, monkeypatch):
    """A function that adds a row to one of these tables in each try of a restore, after it has copied the database."""

    def add_rows(tables):
        begun, begin_epoch = [], storage.backup.begin_epoch

        def begin(*files, **options):
            begun.append(files)
            if len(begun) <= len(tables):
                insert(url, tables[len(begun) - 1])
            return begin_epoch(*files, **options)

        monkeypatch.setattr(storage.backup, "begin_epoch", begin)
        return begun

    return add_rows


@pytest.mark.at_length
def test_what_happens_during_a_restore_is_in_the_kept_file(url, tmp_path, meanwhile):
    copy, changed = backup(url, tmp_path / "copy.db"), ("intent", "decision", "event")
    begun = meanwhile(changed)
    kept = restore(url, copy).kept
    assert len(begun) == 4
    assert [path for path in tmp_path.iterdir() if "replaced" in path.name] == [kept]
    with closing(sqlite3.connect(kept)) as connection:
        assert [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in changed] == [(1,)] * 3


@pytest.mark.at_length
def test_a_database_that_changes_all_the_time_is_not_replaced(url, tmp_path, meanwhile):
    copy = backup(url, tmp_path / "copy.db")
    begun = meanwhile(["intent"] * 9)
    with pytest.raises(StorageError, match="changes too fast to be replaced"):
        restore(url, copy)
    assert len(begun) == 5
    assert not [path for path in tmp_path.iterdir() if "replaced" in path.name]
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("SELECT count(*) FROM intent").fetchone() == (5,)


def test_a_damaged_database_can_be_replaced(url, tmp_path):
    add(url, "a")
    copy, lost = backup(url, tmp_path / "copy.db"), tmp_path / "lost" / "console.db"
    lost.parent.mkdir()
    lost.write_text("not a database any more, " * 400)
    kept = restore(f"sqlite:///{lost}", copy).kept
    assert kept.read_text().startswith("not a database any more")
    assert names(f"sqlite:///{lost}") == ["a"]


def test_a_damaged_database_is_put_back_with_its_log_if_the_backup_cannot_be_used(url, tmp_path):
    copy = backup(url, tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DELETE FROM chain_end")
        connection.commit()
    lost = tmp_path / "lost" / "console.db"
    lost.parent.mkdir()
    with closing(sqlite3.connect(lost, isolation_level=None)) as held:
        for statement in ("PRAGMA journal_mode=WAL", "CREATE TABLE t (x)", "PRAGMA wal_checkpoint(TRUNCATE)"):
            held.execute(statement).fetchall()
        held.execute("INSERT INTO t VALUES (1)")
        with lost.open("r+b") as file:
            file.write(b"no header" * 20)
        files = {path.name: path.read_bytes() for path in lost.parent.iterdir() if path.suffix != ".db-shm"}
        with pytest.raises(StorageError, match="The end of the audit chain is missing"):
            restore(f"sqlite:///{lost}", copy, accept_changed=True)
        assert {path.name: path.read_bytes() for path in lost.parent.iterdir() if path.suffix != ".db-shm"} == files
    assert sorted(files) == ["console.db", "console.db-wal"]


def damaged(path: Path, url: str) -> None:
    backup(url, path)
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\x5a" * (4096 * 3)
    path.write_bytes(content)


def of_schema(found: str) -> Callable[[Path, str], None]:
    def make(path: Path, url: str) -> None:
        backup(url, path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", (found,))
            connection.commit()

    return make


def foreign(path: Path, url: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipe (id INTEGER PRIMARY KEY)")
        connection.commit()


@pytest.mark.parametrize(
    ("make", "refusal", "words"),
    [
        (damaged, StorageError, "is damaged"),
        (of_schema("9999"), NewerSchema, "schema 9999"),
        (of_schema("0012"), OlderSchema, "schema 0012"),
        (foreign, NotOurs, "not one of this console"),
        (lambda path, _: path.write_text("words, " * 200), NotOurs, "cannot be read as a database"),
        (lambda path, _: path.touch(), NotOurs, "is empty"),
        (lambda path, _: None, StorageError, "does not exist. Name a backup file"),
    ],
)
def test_what_is_no_sound_backup_is_refused_and_changes_nothing(url, tmp_path, make, refusal, words):
    add(url, "a")
    source = tmp_path / "source.db"
    make(source, url)
    with pytest.raises(refusal, match=words):
        restore(url, source)
    assert names(url) == ["a"]
    assert not [path for path in tmp_path.iterdir() if "replaced" in path.name]


def test_a_backup_of_an_earlier_schema_is_upgraded_and_its_copy_is_closed(url, tmp_path):
    add(url, "a")
    copy = backup(url, tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as connection, connection:
        # What revisions 0029 to 0039 added or replaced.
        made = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'run_count%'")
        for (trigger,) in made.fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        for table in ("run_count", "run_count_changed"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DROP INDEX ix_ledger_budget_time")
        connection.execute("CREATE INDEX ix_ledger_budget ON ledger (budget_id)")
        for column in ("old_secret", "old_until_ms"):
            connection.execute(f"ALTER TABLE notice_channel DROP COLUMN {column}")
        connection.execute("DROP INDEX ix_decision_reviewer")
        for index in ("ix_trajectory_run", "ix_trajectory_run_outcome", "ix_item_trajectory", "ix_item_taken"):
            connection.execute(f"DROP INDEX {index}")
        for column in ("token_ms", "old_token_hash", "old_until_ms"):
            connection.execute(f"ALTER TABLE agent DROP COLUMN {column}")
        for table in ("run", "person"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN hold")
        connection.execute("ALTER TABLE memory DROP COLUMN rationale")
        connection.execute("DROP TABLE worker")
        connection.execute("DROP TABLE saved_view")
        connection.execute("ALTER TABLE carried_check DROP COLUMN marked_steps")
        connection.execute("UPDATE alembic_version SET version_num = '0028'")
    restore(url, copy)
    assert (names(url), check(url)) == (["a"], [])
    opened = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert [path for path in opened if "ready.db" in path] == []


def test_the_database_is_no_backup_of_itself(url):
    with pytest.raises(StorageError, match="is the database itself"):
        restore(url, url.removeprefix("sqlite:///"))
