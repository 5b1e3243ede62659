"""The file under a running process: private, and never written to once it is not the one that was opened."""

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import select

from storage import tables
from storage.backup import backup, restore
from storage.check import check
from storage.engine import Durability, check_file, engine, mask_password, reading, writing
from storage.errors import DatabaseUnusable, StorageError
from storage.migrations import migrate
from storage.private_files import make_private, make_private_folder
from storage.queue import Queue
from tests.sweeps import sweep


@pytest.fixture
def path(url):
    return Path(url.removeprefix("sqlite:///"))


@pytest.fixture
def log(path):
    return path.with_name(f"{path.name}-wal")


def add(url, name):
    with writing(url) as session:
        session.add(tables.Run(name=name, kind="live", environment="webshop", created_ms=1))


def names(url):
    with reading(url) as session:
        return list(session.exec(select(tables.Run.name).order_by(tables.Run.id)))


def another(folder):
    """A sound database of this console, but not this one."""
    path = folder / "another.db"
    migrate(f"sqlite:///{path}")
    return path


def moved_away(path, _folder):
    path.rename(path.with_name("elsewhere.db"))


def replaced_by_name(path, folder):
    another(folder).rename(path)


def written_over_by_another(path, folder):
    shutil.copyfile(another(folder), path)


FAULTS = {
    "removed": (lambda path, _: path.unlink(), "was removed"),
    "moved": (moved_away, "was removed"),
    "replaced": (replaced_by_name, "was replaced"),
    "another in its place": (written_over_by_another, "replaced|damaged"),
    "emptied": (lambda path, _: os.truncate(path, 0), "was emptied"),
    "garbage": (lambda path, _: path.write_bytes(b"garbage" * 9_000), "damaged"),
    "cut": (lambda path, _: os.truncate(path, 4_096), "damaged"),
    "log removed": (lambda path, _: Path(f"{path}-wal").unlink(), "-wal was removed"),
    "log emptied": (lambda path, _: os.truncate(f"{path}-wal", 0), "emptied or overwritten"),
    "log garbage": (lambda path, _: Path(f"{path}-wal").write_bytes(b"x" * 90_000), "emptied or overwritten"),
}


@sweep("fault", FAULTS, kept=4)
def test_no_answer_is_taken_once_the_file_is_not_the_one_that_was_opened(url, path, stock, answer, tmp_path, fault):
    queue = stock(url, 3)
    at = {"run_id": 1, "trial": 0, "reviewer": "ann", "now_ms": 0, "lease_ms": 1_000}
    first = queue.claim(**at)
    queue.decide(item_id=first.item_id, reviewer="ann", token=first.token, now_ms=1, undo_ms=0, **answer("a"))
    second = queue.claim(**at)
    happen, sentence = FAULTS[fault]
    happen(path, tmp_path)
    for _ in range(2):
        with pytest.raises(DatabaseUnusable, match=sentence):
            queue.decide(item_id=second.item_id, reviewer="ann", token=second.token, now_ms=2, undo_ms=0, **answer("b"))
    with pytest.raises(DatabaseUnusable, match="Stop the console"):
        add(url, "into the void")
    with pytest.raises(DatabaseUnusable):
        names(url)
    if fault in ("removed", "moved"):
        assert not path.exists()


def test_a_new_process_s_worth_of_connections_does_not_make_a_new_file(url, path):
    names(url)
    path.unlink()
    engine(url).dispose()
    with pytest.raises(DatabaseUnusable, match="was removed"):
        add(url, "a")
    assert not path.exists()


def test_a_file_that_is_put_back_by_its_name_goes_on(url, path):
    add(url, "a")
    elsewhere = path.rename(path.with_name("elsewhere.db"))
    with pytest.raises(DatabaseUnusable):
        add(url, "b")
    elsewhere.rename(path)
    add(url, "c")
    assert names(url) == ["a", "c"]


def test_a_file_that_goes_while_a_transaction_is_under_way_is_not_acknowledged(url, path):
    def lose():
        with writing(url) as session:
            session.add(tables.Run(name="a", kind="live", environment="webshop", created_ms=1))
            session.flush()
            path.unlink()

    with pytest.raises(DatabaseUnusable, match="was removed"):
        lose()


@pytest.mark.at_length
def test_what_was_acknowledged_before_the_log_was_removed_is_there_after_a_kill(tmp_path):
    url = f"sqlite:///{tmp_path / 'console.db'}"
    program = f"""
        import os, signal
        from pathlib import Path
        from storage import tables
        from storage.engine import writing
        from storage.errors import DatabaseUnusable
        from storage.migrations import migrate
        migrate({url!r})
        def add(name):
            with writing({url!r}) as session:
                session.add(tables.Run(name=name, kind="live", environment="webshop", created_ms=1))
        for number in range(20):
            add(str(number))
        Path({str(tmp_path / "console.db-wal")!r}).unlink()
        try:
            add("late")
        except DatabaseUnusable:
            os.kill(os.getpid(), signal.SIGKILL)
    """
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=root, check=False)
    assert ended.returncode == -9
    assert names(url) == [str(number) for number in range(20)]
    assert check(url) == []


def test_others_may_checkpoint_vacuum_and_restore_while_it_is_open(url, path, log, tmp_path):
    add(url, "a")
    copy = backup(url, tmp_path / "copy.db")
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        assert not log.stat().st_size
        add(url, "b")
        other.execute("VACUUM")
    add(url, "c")
    assert names(url) == ["a", "b", "c"]
    restore(url, copy)
    assert names(url) == ["a"]
    add(url, "d")
    assert names(url) == ["a", "d"]


def test_commits_of_other_threads_while_the_log_is_checked_are_no_damage(url, path, log, monkeypatch):
    # The database is checked after each look at the size of its log; another thread commits right after both looks.
    add(url, "first")
    looks, check_log_of = os.stat, threading.current_thread()
    commits = iter(["second", "third"])

    def look(name, **options):
        found = looks(name, **options)
        if str(name) == str(log) and threading.current_thread() is check_log_of and (run := next(commits, None)):
            other = threading.Thread(target=add, args=(url, run))
            other.start()
            other.join()
        return found

    monkeypatch.setattr(os, "stat", look)
    check_file(engine(url))
    assert next(commits, None) is None
    assert names(url) == ["first", "second", "third"]


def test_a_full_disk_is_one_sentence_and_what_is_tried_again_works(url, stock, answer):
    queue = stock(url, 2)
    claim = queue.claim(run_id=1, trial=0, reviewer="ann", now_ms=0, lease_ms=1_000)
    words = {"feedback_text": "x" * 20_000}
    for connection in _limited(url, 1):
        assert connection
        with pytest.raises(DatabaseUnusable, match="The disk is full, so the change was not stored"):
            _decide(queue, claim, answer, **words)
    assert _decide(queue, claim, answer, **words).feedback_text == words["feedback_text"]
    assert check(url) == []


def test_a_read_only_database_is_one_sentence_and_what_is_tried_again_works(url, stock, answer):
    queue = stock(url, 2)
    claim = queue.claim(run_id=1, trial=0, reviewer="ann", now_ms=0, lease_ms=1_000)
    with engine(url, Durability.FULL).connect() as taken:
        pooled = taken.connection.dbapi_connection
        pooled.execute("PRAGMA query_only=ON")
    with pytest.raises(DatabaseUnusable, match="cannot be written, so the change was not stored"):
        add(url, "a")
    pooled.execute("PRAGMA query_only=OFF")
    add(url, "b")
    assert _decide(queue, claim, answer).id == 1


def test_a_locked_database_is_one_sentence_and_nothing_is_lost(url, path, stock, answer, monkeypatch):
    queue = stock(url, 2)
    claim = queue.claim(run_id=1, trial=0, reviewer="ann", now_ms=0, lease_ms=1_000)
    monkeypatch.setattr("storage.queue.transaction.BUSY_MS", 300)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match=r"The database is busy .*\. Try again in a moment"):
            _decide(queue, claim, answer)
        holder.execute("ROLLBACK")
    assert _decide(queue, claim, answer).id == 1


def test_a_new_file_is_its_users_alone_and_so_is_what_lies_beside_it(tmp_path):
    before = os.umask(0)
    try:
        url = f"sqlite:///{tmp_path / 'new' / 'console.db'}"
        migrate(url)
        add(url, "a")
        copy = backup(url, tmp_path / "copy.db")
    finally:
        os.umask(before)
    modes = {found.name: found.stat().st_mode & 0o777 for found in (tmp_path / "new").iterdir()}
    assert modes == dict.fromkeys(("console.db", "console.db-wal", "console.db-shm"), 0o600)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert copy.stat().st_mode & 0o777 == 0o600


def test_each_right_of_other_users_is_taken_from_a_file_and_from_a_folder(tmp_path):
    folder, path = tmp_path / "data", tmp_path / "data" / "console.db"
    make_private_folder(folder)
    path.touch()
    for right in (0o40, 0o20, 0o10, 0o4, 0o2, 0o1):
        path.chmod(0o600 | right)
        folder.chmod(0o700 | right)
        make_private(path)
        make_private_folder(folder)
        assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.at_length
def test_a_file_that_was_open_to_others_is_closed_to_them_with_a_line_in_the_log(tmp_path, caplog):
    path = tmp_path / "console.db"
    program = f"from storage.migrations import migrate; migrate('sqlite:///{path}')"
    subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).resolve().parents[2], check=True)
    path.chmod(0o644)
    assert names(f"sqlite:///{path}") == []
    assert path.stat().st_mode & 0o777 == 0o600
    assert "was open to other users" in caplog.text


def test_a_backup_has_its_name_only_once_it_is_whole(url, tmp_path):
    add(url, "a" * 200_000)
    folder, seen = tmp_path / "backups", []
    folder.mkdir()
    stop = threading.Event()

    def look():
        while not stop.is_set():
            if (folder / "copy.db").exists():
                seen.append((folder / "copy.db").stat().st_size)
            time.sleep(0.0005)

    watcher = threading.Thread(target=look)
    watcher.start()
    copy = backup(url, folder / "copy.db")
    stop.set()
    watcher.join()
    assert set(seen) <= {copy.stat().st_size}
    assert [found.name for found in folder.iterdir()] == ["copy.db"]


def test_a_backup_that_fails_leaves_nothing(url, path, tmp_path):
    folder = tmp_path / "backups"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        connection.execute("INSERT INTO budget (run_id, trial, scope, used, halted) VALUES (9, 0, '', 0, 0)")
    with pytest.raises(StorageError, match="is damaged"):
        backup(url, folder / "copy.db")
    assert list(folder.iterdir()) == []


def test_a_password_is_never_shown():
    assert mask_password("postgresql+psycopg://ada:secret@host/name") == "postgresql+psycopg://ada:***@host/name"


def test_values_stand_in_no_error(url):
    add(url, "a secret")
    with pytest.raises(IntegrityError, match="UNIQUE") as refused:
        add(url, "a secret")
    assert "a secret" not in str(refused.value)


def _decide(queue: Queue, claim, answer, **more):
    given = answer("key", **more)
    return queue.decide(item_id=claim.item_id, reviewer="ann", token=claim.token, now_ms=1, undo_ms=0, **given)


def _limited(url, pages):
    """Every connection that the queue has idle, one at a time, with no room for more than so many pages more."""
    from storage.engine import borrow, give_back

    opened = engine(url, Durability.FULL)
    connection = borrow(opened, waits=False)
    (now,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={now + pages}").fetchall()
    give_back(opened, connection, waits=False)
    yield connection
    connection = borrow(opened, waits=False)
    connection.execute("PRAGMA max_page_count=1000000").fetchall()
    give_back(opened, connection, waits=False)
