"""The attacker's table: every column that says who, what or when is altered in the file, and the row is named."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from sqlalchemy import Boolean, Integer, insert, text
from sqlmodel import select

from console import runs
from console.auth import agents, invitations, people, sessions
from console.database import now_ms, reading, review_queue, writing
from console.gate.policy import policy_store
from console.review import decisions
from storage import tables
from storage.check import check
from storage.engine import close
from storage.linked_rows import LINKED
from storage.tables import Table

POLICY = "{default: allow, rules: [{pattern: pay*, then: ask, who: [Ada]}]}"
TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]
METADATA = Table.metadata.tables
COLUMNS = [(table, part, name) for table, one in LINKED.items() for part, names in one.parts.items() for name in names]
NOT_LINKED = yaml.safe_load((Path(__file__).parents[2] / "storage" / "not_linked.yaml").read_text())
LEFT_OUT = [(table, name) for table, one in LINKED.items() for name in one.left_out]


@pytest.fixture
def played(url, make_gate, person, meanwhile):
    """A database in which people, agents and sessions began and ended, and checks were approved, undone and run."""
    with writing(url) as session:
        link = invitations.invite(session, None, [people.Role.ADMIN], "console", now_ms())
        ada = invitations.accept(session, link, "Ada", now_ms())
        sessions.open_session(session, ada, now_ms(), browser="Firefox", address="10.0.0.1")
        people.disable(session, people.add_person(session, "Bob", [], now_ms()), now_ms())
        agents.add(session, "shop", now_ms())
    gate = make_gate(POLICY)
    for action, decision in (("pay[1]", "approve"), ("pay[2]", "reject")):
        meanwhile(person("Ada").answer, decision, "as agreed")
        found = gate.check(TASK, STEPS, action, timeout_s=20)
        if found.approved:
            gate.done(found, "done")
    with writing(url) as session:
        run = runs.get(session, "shop-bot")
        policy_store.save(session, run, POLICY, "Ada", now_ms())
        item = session.exec(select(tables.Item)).first()
        session.add(tables.Note(item_id=item.id, author="Ada", addressee="Bob", text="look", created_ms=1))
        told = {"run": "shop-bot", "digest": "d"}
        carried = {
            "token": "t",
            "task_key": "k",
            "instruction_digest": "i",
            "trial": 0,
            "step": 0,
            "action_digest": "a",
        }
        session.add(tables.CarriedCheck(**told, **carried, begun=False, answer="rejected", at_ms=1))
        session.add(tables.ReplacedPolicy(**told, epoch=2, version=1, text=POLICY, author="Ada", created_ms=1))
        for table in LINKED:
            # The tables that only a restore, a study or a page fills.
            if table != "item" and not session.execute(text(f"SELECT count(*) FROM {table}")).scalar():
                session.execute(insert(METADATA[table]).values(any_row(table)))
    assert check(url) == []
    yield url
    close(url)


def any_row(table):
    """A row of the table with some value in every column."""
    columns = [column for column in METADATA[table].c if column.name not in ("id", "study_id")]
    return {column.name: 1 if isinstance(column.type, Integer | Boolean) else "x" for column in columns}


def attack(url, *statements):
    """Runs the statements as another program would, without the console's triggers and the tables' own checks."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        for statement, *values in statements:
            connection.execute(statement, values)


def one_row(url, table, column="id"):
    """The id of a row and the value of one of its columns."""
    condition = LINKED[table].only.format(row=table) or "1"
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return connection.execute(f"SELECT id, {column} FROM {table} WHERE {condition} ORDER BY id LIMIT 1").fetchone()


def forged(value):
    """Another value."""
    return f"{value}x" if isinstance(value, str) else (value or 0) + 1_000


@pytest.mark.parametrize(
    "columns", [COLUMNS[::6], pytest.param(COLUMNS, marks=pytest.mark.at_length)], ids=["few", "all"]
)
def test_every_column_of_every_table_that_was_altered_is_named_with_its_row(played, columns):
    silent = []
    for table, part, column in columns:
        row_id, value = one_row(played, table, column)
        attack(played, (f"UPDATE {table} SET {column} = ? WHERE id = ?", forged(value), row_id))
        told = (
            f"Audit: {table} {row_id} was changed outside the console: {part} ({', '.join(LINKED[table].parts[part])})."
        )
        if told not in check(played):
            silent.append((table, column))
        attack(played, (f"UPDATE {table} SET {column} = ? WHERE id = ?", value, row_id))
    assert silent == []
    assert check(played) == []


def test_rows_of_a_run_are_in_the_chain_of_the_run_and_all_others_in_that_of_access(played):
    found = {}
    with closing(sqlite3.connect(played.removeprefix("sqlite:///"))) as connection:
        for chain, linked in connection.execute("SELECT chain, rows FROM event_link"):
            for table, _, _ in json.loads(linked) if linked else ():
                found.setdefault(table, set()).add(chain)
    of_a_run = {"ask", "item", "decision", "intent", "run", "run_access", "note", "adjudication"}
    assert {table for table in LINKED if found[table] == {1}} == of_a_run
    assert {table for table in LINKED if found[table] == {0}} == {*LINKED} - of_a_run - {"policy"}


def test_a_row_that_was_removed_or_added_is_named(played):
    for table in LINKED:
        row_id, _ = one_row(played, table)
        # A moved row is one that was removed and one that was added.
        attack(played, (f"UPDATE {table} SET id = 777 WHERE id = ?", row_id))
        found = check(played)
        assert f"Audit: {table} {row_id} was removed outside the console." in found
        assert f"Audit: {table} 777 was added outside the console." in found
        attack(played, (f"UPDATE {table} SET id = ? WHERE id = 777", row_id))
    assert check(played) == []


def test_a_change_by_the_console_after_an_attack_does_not_hide_the_attack(played, person):
    attack(played, ("UPDATE decision SET reviewer = 'Eve' WHERE id = 1",))
    with writing(played) as session:
        people.add_person(session, "Carl", [], now_ms())
    assert [problem for problem in check(played) if problem.startswith("Audit: decision 1 was changed")]


def test_links_cannot_be_made_to_fit(played):
    attack(played, ("UPDATE decision SET decision = 'reject'",), ("UPDATE event_link SET rows = '[]'",))
    assert any("the link of event" in problem for problem in check(played))
    assert any(problem.startswith("Audit: decision 1 was added") for problem in check(played))


def test_an_undone_decision_is_linked_and_a_changed_undo_named(url, make_gate, person):
    make_gate(POLICY, undo_s=5).ask(TASK, STEPS, "pay[1]")
    run, claim = person("Ada").claim()
    queue, at_ms = review_queue(url), now_ms()
    decisions.submit(queue, run, claim, "Ada", decisions.ReviewDecision("approve", ""), at_ms)
    queue.undo(item_id=claim.item_id, reviewer="Ada", now_ms=at_ms, lease_ms=60_000)
    assert check(url) == []
    attack(url, ("UPDATE decision SET superseded = 0, withdrawn_ms = NULL",))
    parts = "what (item_id, slot_id, decision, label"
    assert any(
        problem.startswith(f"Audit: decision 1 was changed outside the console: {parts}") for problem in check(url)
    )


def test_every_table_and_column_is_linked_or_left_out_with_a_reason():
    assert set(METADATA) == set(LINKED) | set(NOT_LINKED)
    assert not set(LINKED) & set(NOT_LINKED)
    for table, linked in LINKED.items():
        assert sorted(METADATA[table].c.keys()) == sorted(["id", *linked.columns, *linked.left_out]), table
    reasons = [reason for one in LINKED.values() for reason in one.left_out.values()] + list(NOT_LINKED.values())
    assert min(len(reason.split()) for reason in reasons) >= 3


def test_the_columns_left_out_are_those_that_change_without_an_event(played):
    for table, column in LEFT_OUT:
        row_id, value = one_row(played, table, column)
        attack(played, (f"UPDATE {table} SET {column} = ? WHERE id = ?", forged(value), row_id))
    assert not [problem for problem in check(played) if problem.startswith("Audit: ")]


def test_a_salt_goes_with_its_row(played):
    with writing(played) as session:
        session.delete(session.exec(select(tables.Note)).one())
    with reading(played) as session:
        salts = session.exec(select(tables.RowSalt.name).where(tables.RowSalt.name == "note")).all()
    assert (salts, check(played)) == ([], [])
