"""New files and the baseline are today's tables; older, newer and foreign files are refused."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect
from sqlmodel import create_engine

from storage import audit_chain, migrations
from storage.check import chain_end, check
from storage.engine import close, engine, writing
from storage.errors import NewerSchema, NotOurs, OlderSchema
from storage.migrations import head, make_text_index, migrate, revision, upgrade
from storage.run_counts import make_run_counts
from storage.tables import Table
from tests.postgres import BOTH
from tests.sweeps import sweep

ROOT = Path(migrations.__file__).parents[2]
EVENT = {"run_id": None, "at_ms": 1, "kind": "k", "subject": "", "detail": "{}", "door": "", "place": ""} | {
    "before": None,
    "after": None,
}
WITHOUT_KNOWN_ITEMS = """
    ALTER TABLE agent DROP COLUMN token_ms; ALTER TABLE agent DROP COLUMN old_token_hash;
    ALTER TABLE agent DROP COLUMN old_until_ms;
    ALTER TABLE run DROP COLUMN hold; ALTER TABLE person DROP COLUMN hold; ALTER TABLE memory DROP COLUMN rationale;
    DROP TABLE saved_view; DROP TABLE worker; ALTER TABLE carried_check DROP COLUMN marked_steps;
    DROP TRIGGER never_execute_intent; DROP TRIGGER never_move_intent; DROP TRIGGER never_check;
    DROP TRIGGER never_move_check; DROP TABLE seeded_item;"""
WITHOUT_CHAINS_OF_RUNS = """
    ALTER TABLE event_link DROP COLUMN chain;
    ALTER TABLE event_link DROP COLUMN place; ALTER TABLE chain_end DROP COLUMN sealed;
    DELETE FROM chain_end WHERE id > 0; UPDATE chain_end SET id = 1;
    ALTER TABLE decision DROP COLUMN marked_steps; ALTER TABLE decision DROP COLUMN answers;
    ALTER TABLE draft DROP COLUMN marked_steps; ALTER TABLE draft DROP COLUMN answers;"""


def schema(path):
    """The statement of every table and index of a file, a table's columns and constraints in a fixed order."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '%alembic%'").fetchall()
    return {name: parts(re.sub(r"\s+", " ", sql or "")) for name, sql in rows}


def parts(statement):
    """What stands between the commas of the outermost brackets of a CREATE TABLE, sorted; another statement whole."""
    if not statement.startswith("CREATE TABLE"):
        return [statement]
    found, depth = [""], 0
    for sign in statement[statement.index("(") + 1 : statement.rindex(")")]:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return sorted(part.strip() for part in found)


@pytest.fixture(scope="module")
def created(tmp_path_factory):
    """A file made from the tables as they are in the code."""
    path = tmp_path_factory.mktemp("created") / "created.db"
    made = create_engine(f"sqlite:///{path}")
    with made.begin() as connection:
        Table.metadata.create_all(connection)
        make_text_index(connection)
        make_run_counts(connection)
    made.dispose()
    return path


def test_the_baseline_makes_what_a_new_file_is(tmp_path, created):
    path = tmp_path / "baseline.db"
    url = f"sqlite:///{path}"
    upgrade(url)
    assert revision(url) == head()
    assert schema(path) == schema(created)
    assert check(url) == []
    close(url)


def test_alembic_finds_no_difference_from_the_tables(url):
    # It cannot compare an index with a direction in it; the comparison of statements above does.
    # Nor does it know the index of words and the stored counts, which no tables of its metadata are.
    unknown = ("ix_item_ready", "trajectory_words", "run_count")
    options = {"include_object": lambda _object, name, *_: not name.startswith(unknown)}
    with engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), Table.metadata) == []


def test_a_file_that_is_up_to_date_is_left_alone(url):
    path = Path(url.removeprefix("sqlite:///"))
    close(url)
    before = path.read_bytes()
    migrate(url)
    assert path.read_bytes() == before


def test_what_is_new_stands_where_alembic_would_have_brought_it(tmp_path, created):
    path = tmp_path / "new.db"
    url = f"sqlite:///{path}"
    migrate(url)
    assert schema(path) == schema(created)
    upgrade(url)
    assert revision(url) == head()
    close(url)


@sweep("is_there", [True, False], kept=1)
def test_neither_a_new_nor_a_current_file_loads_alembic(url, tmp_path, is_there):
    url = url if is_there else f"sqlite:///{tmp_path / 'new.db'}"
    code = f"import sys; from storage.migrations import migrate; migrate({url!r}); print('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("found", "error", "words"),
    [
        ("9999", NewerSchema, r"newer console \(schema 9999\)\. Upgrade the console"),
        (
            "0012",
            OlderSchema,
            r"older console \(schema 0012\)\. With that version, export .*export trajectories",
        ),
    ],
)
def test_a_file_of_another_version_is_refused_and_unchanged(url, found, error, words):
    path = Path(url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (found,))
        connection.commit()
    with pytest.raises(error, match=words):
        migrate(url)
    assert re.search(words, check(url)[0])
    assert revision(url) == found


def test_a_file_of_somebody_else_is_refused_and_unchanged(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipe (id INTEGER PRIMARY KEY)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(NotOurs, match="not one of this console"):
        migrate(f"sqlite:///{path}")
    path.with_name("text.db").write_text("no database at all, " * 50)
    with pytest.raises(NotOurs, match="cannot be read as a database"):
        migrate(f"sqlite:///{path.with_name('text.db')}")
    assert path.read_bytes() == before


@BOTH
def test_the_counts_of_revision_0038_are_counted_again(url):
    migrate(url)
    with engine(url, writes=True).begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_run_count_last")
        connection.exec_driver_sql("INSERT INTO run_count VALUES (1, 'earlier', 0, 0, 'earlier', '', 7, NULL)")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0038'")
    upgrade(url)
    with engine(url).connect() as connection:
        assert "ix_run_count_last" in [index["name"] for index in inspect(connection).get_indexes("run_count")]
        assert connection.exec_driver_sql("SELECT count(*) FROM run_count").scalar_one() == 0
    assert check(url) == []


@pytest.mark.at_length
def test_several_processes_may_start_on_a_new_file_at_once(tmp_path):
    url = f"sqlite:///{tmp_path / 'folder' / 'console.db'}"
    code = f"from storage.migrations import migrate; migrate({url!r})"
    starts = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [start.communicate(timeout=60)[1] for start in starts] == [""] * 4
    assert check(url) == []
    close(url)


def test_the_deliveries_of_webhooks_move_to_the_outbox(url, stock):
    stock(url, 1)
    path = Path(url.removeprefix("sqlite:///"))
    close(url)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"""
            DROP VIEW webhook_delivery; DROP TABLE outbox; DROP TABLE notice_channel; DROP TABLE audit_draw;
            {WITHOUT_KNOWN_ITEMS}
            ALTER TABLE intent DROP COLUMN result_digest; {WITHOUT_CHAINS_OF_RUNS}
            CREATE TABLE webhook_delivery (
                id INTEGER NOT NULL PRIMARY KEY, decision_id INTEGER NOT NULL, url VARCHAR NOT NULL,
                attempts INTEGER NOT NULL, next_ms BIGINT NOT NULL, delivered_ms BIGINT, failure VARCHAR NOT NULL);
            INSERT INTO decision (id, item_id, reviewer, annotator_kind, decision, feedback_type, feedback_text,
                action_digest, submit_key, revision, superseded, budget_used, claimed_ms, decided_ms, deliverable_ms)
            SELECT 7, id, 'rita', 'human', 'reject', 'nl', '', '', 'k', 1, 0, 0, 1, 2, 3 FROM item LIMIT 1;
            INSERT INTO webhook_delivery VALUES
                (1, 7, 'http://a/', 2, 9, NULL, 'refused'), (2, 7, 'http://b/', 1, 9, 8, '');
            UPDATE alembic_version SET version_num = '0021';
        """)
        before = connection.execute("SELECT * FROM webhook_delivery ORDER BY id").fetchall()
    upgrade(url)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM webhook_delivery ORDER BY id").fetchall() == before
        assert connection.execute("SELECT DISTINCT event, subject_id, created_ms, is_open FROM outbox").fetchall() == [
            ("decision.made", 7, 3, 0)
        ]


def test_the_one_chain_of_before_goes_on_as_the_chain_of_access(url):
    for name in ("Ada", "Bob"):
        with writing(url) as session:
            audit_chain.append(session.connection(), {**EVENT, "actor": name})
    head_before = chain_end(url)
    close(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.executescript(f"""{WITHOUT_KNOWN_ITEMS} {WITHOUT_CHAINS_OF_RUNS}
            ALTER TABLE notice_channel DROP COLUMN old_secret; ALTER TABLE notice_channel DROP COLUMN old_until_ms;
            DELETE FROM row_salt WHERE name = 'run';
            INSERT INTO run (id, name, kind, environment, critical, seed, halted_free, feedback_mode, reviews_per_item,
                             blind, lease_ms, undo_ms, trials, created_ms)
            VALUES (5, 'shop', 'gate', 'generic', '[]', 0, 0, 'nl', 1, 1, 1, 1, 1, 1);
            UPDATE alembic_version SET version_num = '0025'""")
    upgrade(url)
    assert check(url, [head_before]) == []
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        ends = connection.execute("SELECT id, events FROM chain_end ORDER BY id").fetchall()
        connection.execute("UPDATE run SET threshold = 0.9")
    assert ends == [(0, 2), (5, 1)]
    assert check(url)[0].startswith("Audit: run 5 was changed outside the console: what (name,")
