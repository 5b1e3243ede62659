"""Old files become today's files; new files are today's files; newer and foreign ones are refused."""

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlmodel import create_engine

from storage import migrations
from storage.check import check
from storage.engine import close, engine
from storage.errors import NewerSchema, NotOurs
from storage.migrations import head, migrate, revision
from storage.migrations.upgrading import configuration, upgrade
from storage.tables import Table

ROOT = Path(migrations.__file__).parents[2]

FIRST_ROWS = """
INSERT INTO run (id, name, kind, environment, critical, seed, halted_free, feedback_mode, reviews_per_item, blind,
                 lease_ms, undo_ms, trials, created_ms)
VALUES (1, 'old', 'live', 'w', '[]', 0, 0, 'nl', 1, 1, 1, 1, 1, 5);
INSERT INTO task (id, run_id, task_key, environment, instruction, instruction_digest) VALUES (1, 1, 't', 'w', 'i', 'd');
INSERT INTO trajectory (id, run_id, task_id, trial, environment, outcome, recorded_outcome, carried_over, n_steps,
                        n_critical, digest, source, created_ms)
VALUES (1, 1, 1, 0, 'w', 'paused', 'failed', 0, 1, 1, 'd', '{}', 5);
INSERT INTO trajectory_body (trajectory_id, body) VALUES (1, '{}');
INSERT INTO verdict (id, run_id, trajectory_id, step, kind, detector, score, threshold, flagged, rationale, parameters,
                     seed, latency_ms, created_ms)
VALUES (1, 1, 1, 1, 'action', 'rules', 1, 0.5, 1, 'why', '{}', 0, 0, 5);
INSERT INTO item (id, run_id, trial, trajectory_id, step, kind, status, priority, open_slots, reviews_required,
                  verdict_id, created_ms)
VALUES (1, 1, 0, 1, 1, 'action', 'decided', 1, 0, 1, 1, 5);
INSERT INTO budget (id, run_id, trial, scope, cap, used, halted) VALUES (1, 1, 0, '', 3, 1, 0);
INSERT INTO slot (id, item_id, budget_id, reviewer, status, token, units, claimed_ms, lease_until_ms)
VALUES (1, 1, 1, 'ann', 'decided', 't', 1, 6, 9);
INSERT INTO ledger (id, budget_id, item_id, slot_id, reviewer, entry, reason, units, at_ms)
VALUES (1, 1, 1, 1, 'ann', 'spend', 'claim', 1, 6);
INSERT INTO decision (id, item_id, slot_id, reviewer, annotator_kind, decision, feedback_type, feedback_text,
                      action_digest, submit_key, revision, superseded, budget_used, claimed_ms,
                      decided_ms, deliverable_ms)
VALUES (1, 1, 1, 'ann', 'human', 'reject', 'nl', 'words', 'd', 'k', 1, 0, 1, 6, 9, 9);
INSERT INTO draft (item_id, reviewer, feedback_text, updated_ms) VALUES (1, 'bob', 'half a', 7);
INSERT INTO event (id, run_id, at_ms, actor, kind, subject, detail) VALUES (1, 1, 5, 'ann', 'run created', '', '{}');
"""
"""Rows of the first schema, one in every table; they must survive every later step."""

REVISIONS = [script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()][::-1]


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


def rows(path):
    """The rows of every first table, by the columns that it had at first."""
    with closing(sqlite3.connect(path)) as connection:
        named = re.findall(r"INSERT INTO (\w+) \(([^)]*)\)", FIRST_ROWS)
        return {table: connection.execute(f"SELECT {columns} FROM {table}").fetchall() for table, columns in named}


@pytest.fixture(scope="module")
def created(tmp_path_factory):
    """A file made from the tables as they are in the code."""
    path = tmp_path_factory.mktemp("created") / "created.db"
    made = create_engine(f"sqlite:///{path}")
    Table.metadata.create_all(made)
    made.dispose()
    return path


@pytest.mark.parametrize("old", REVISIONS)
def test_an_old_file_becomes_what_a_new_one_is_and_keeps_its_rows(tmp_path, created, old):
    path = tmp_path / "old.db"
    url = f"sqlite:///{path}"
    upgrade(url, "0001")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST_ROWS)
        connection.commit()
    upgrade(url, old)
    before = rows(path)
    assert all(before.values())
    assert revision(url) == old
    migrate(url)
    assert revision(url) == head()
    assert schema(path) == schema(created)
    assert rows(path) == before
    assert check(url) == []
    close(url)


def test_alembic_finds_no_difference_from_the_tables(url):
    # It cannot compare an index with a direction in it; the comparison of statements above does.
    # Nor does it know the index of words, which no table of its metadata is.
    options = {
        "include_object": lambda _object, name, *_: name != "ix_item_ready" and not name.startswith("trajectory_words")
    }
    with engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), Table.metadata) == []


def test_the_last_file_is_the_head():
    assert REVISIONS[-1] == head()
    assert sorted(REVISIONS) == REVISIONS


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


@pytest.mark.parametrize("is_there", [True, False])
def test_neither_a_new_nor_a_current_file_loads_alembic(url, tmp_path, is_there):
    url = url if is_there else f"sqlite:///{tmp_path / 'new.db'}"
    code = f"import sys; from storage.migrations import migrate; migrate({url!r}); print('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_newer_file_is_refused_and_unchanged(url):
    path = Path(url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with pytest.raises(NewerSchema, match=r"newer console \(schema 9999\); upgrade the console"):
        migrate(url)
    assert revision(url) == "9999"


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


def test_several_processes_may_start_on_a_new_file_at_once(tmp_path):
    url = f"sqlite:///{tmp_path / 'folder' / 'console.db'}"
    code = f"from storage.migrations import migrate; migrate({url!r})"
    starts = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [start.communicate(timeout=60)[1] for start in starts] == [""] * 4
    assert check(url) == []
    close(url)


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "old.db"
    url = f"sqlite:///{path}"
    upgrade(url, "0001")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE memory (id INTEGER PRIMARY KEY)")
        connection.commit()
    before = schema(path)
    with pytest.raises(Exception, match="memory already exists"):
        migrate(url)
    assert revision(url) == "0001"
    assert schema(path) == before
