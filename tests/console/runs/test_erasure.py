"""A person, a run and old runs are erased; the audit chain holds, and a legal hold prevents all of it."""

import json

import pytest
from sqlalchemy import create_engine, text
from sqlmodel import col, select, update

from console import runs
from console.auth import people, sessions
from console.auth.audit_log import By, Door, acting
from console.cli import run_command
from console.database import database_url, now_ms, reading, writing
from console.detection import batch
from console.errors import Refused, Unknown
from console.gate.policy import policy_store
from console.review import access
from console.review.decision_details import add_note
from console.runs import audit_trail, erasure, ingest, maintenance
from console.settings import settings
from storage import run_counts, tables
from storage.check import chain_end, check, seal_chains
from tests import postgres
from tests.console.runs.test_maintenance import claim, decide
from tests.logs import purchase, write_log

pytestmark = postgres.BOTH_AT_LENGTH

NAME = "Annabel-Quillfeather"
DAY = 86_400_000


@pytest.fixture
def url(request, monkeypatch):
    """The URL of the database of the settings: a SQLite file, or a database on a server."""
    if request.param == "sqlite":
        yield settings().database_url
        return
    with postgres.database() as made:
        monkeypatch.setenv("INFERACT_DATABASE_URL", made)
        settings.cache_clear()
        yield made
    monkeypatch.undo()
    settings.cache_clear()


@pytest.fixture
def shop(url, tmp_path):
    """A run in which one person decided, noted, signed in and changed settings."""
    log = write_log(tmp_path / "log.jsonl", *(purchase(n, wrong=n < 2) for n in range(3)))
    ingest.import_file(log, "shop", "auto", lambda _: None)
    runs.set_budget("shop", "3")
    batch.detect("shop", ["rules"])
    with acting(By(NAME, Door.BROWSER, "203.0.113.7")):
        claimed = claim(NAME)
        decide(claimed, reviewer=NAME)
        with writing() as session:
            person = people.add_person(session, NAME, [people.Role.REVIEWER], now_ms())
            sessions.open_session(session, person, now_ms(), browser="Firefox", address="203.0.113.7")
            people.change_group(session, "finance", now_ms(), add=[NAME])
            add_note(session, claimed.item_id, NAME, "I doubt this.", now_ms())
            maintenance.tag_run(session, runs.get(session, "shop"), ["pilot"], [], now_ms())
            access.set_access(session, runs.get(session, "shop"), [NAME], now_ms())
    return "shop"


def erase(*words):
    """Run `inferact db erase` and return its exit code."""
    return run_command(["db", "erase", *words, "--json"])


def whole(data_dir, url):
    """The bytes of the file with its write-ahead log; on a server, the rows of all tables."""
    if url.startswith("postgresql"):
        names = [*tables.Run.metadata.tables, run_counts.COUNTS]
        with reading() as session:
            rows = [session.exec(text(f'SELECT t::text FROM "{name}" t')).all() for name in names]
        return repr(rows).encode()
    return b"".join(path.read_bytes() for path in data_dir.glob("console.db*"))


def test_a_person_is_nowhere_in_the_file_and_the_figures_and_the_chain_hold(shop, url, data_dir, capsys):
    run_counts.fold(database_url(), least=1)
    with reading() as session:
        assert NAME in session.exec(text("SELECT who FROM run_count")).scalars().all()
    assert NAME.encode() in whole(data_dir, url)
    assert erase("--person", NAME.upper()) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["erased"], shown["gone"]["sessions"], shown["gone"]["group memberships"]) == (False, 1, 1)
    assert shown["stays"][0].startswith("Decisions with feedback (1) stay under a pseudonym")
    assert erase("--person", NAME.upper(), "--yes") == 0
    pseudonym = json.loads(capsys.readouterr().out)["pseudonym"]
    found = whole(data_dir, url)
    assert (NAME.encode() in found, NAME.casefold().encode() in found, b"203.0.113.7" in found) == (False, False, False)
    assert check(database_url()) == []
    with reading() as session:
        assert session.exec(select(tables.Decision.reviewer)).all() == [pseudonym]
        # A run that only this person could review is not open to everyone now.
        assert session.exec(select(tables.RunAccess.entry)).all() == [pseudonym]
        assert session.exec(select(tables.Person.disabled_ms)).one() is not None
        assert session.exec(select(tables.Event.subject).where(tables.Event.kind == "person erased")).one() == pseudonym
    with pytest.raises(Unknown), writing() as session:
        erasure.erase_person(session, NAME, now_ms())


def test_nothing_and_no_one_on_hold_is_erased_or_pruned(shop, capsys):
    assert run_command(["db", "hold", "--run", shop]) == 2
    assert run_command(["db", "hold", "--run", shop, "--reason", "Case 12"]) == 0
    for refused in (["--person", NAME], ["--run", shop]):
        assert erase(*refused, "--yes") == 1
    assert run_command(["run", "delete", shop, "--yes"]) == 1
    assert "'shop' is on legal hold (Case 12)" in capsys.readouterr().err
    with writing() as session:
        run = runs.get(session, shop)
        with pytest.raises(Refused, match="on legal hold"):
            maintenance.undo_import(session, 1, now_ms())
        with pytest.raises(Refused, match="on legal hold"):
            maintenance.move_trajectories(session, [1], "elsewhere", now_ms())
        row = {"tool": "pay", "action_digest": "d", "rule": "r", "policy_version": 1, "agent": "a", "at_ms": 1}
        session.add(tables.AllowedCheck(run_id=run.id, **row))
        policy_store.prune_allowed(session, now_ms())
        assert session.exec(select(tables.AllowedCheck.tool)).all() == ["pay"]
        maintenance.set_hold(session, run, None, now_ms())
        policy_store.prune_allowed(session, now_ms())
        assert session.exec(select(tables.AllowedCheck)).all() == []
    assert run_command(["db", "hold", "--person", NAME, "--reason", "Case 13"]) == 0
    assert erase("--person", NAME, "--yes") == 1
    assert run_command(["db", "hold", "--person", NAME, "--undo"]) == 0
    assert erase("--person", NAME, "--yes") == 0
    assert check(database_url()) == []


def test_only_runs_without_activity_are_erased_by_age(shop, tmp_path, capsys):
    for name in ("old", "held", "source", "again"):
        log = write_log(tmp_path / f"{name}.jsonl", purchase(7, wrong=False))
        ingest.import_file(log, name, "auto", lambda _: None)
    with writing() as session:
        maintenance.set_hold(session, runs.get(session, "held"), "Case 14", now_ms() - 200 * DAY)
        runs.get(session, "again").source_run_id = runs.get(session, "source").id
        session.flush()
        old = tables.Run.name.in_(["old", "held", "source"])
        session.execute(update(tables.Run).where(old).values(created_ms=now_ms() - 200 * DAY))
        for table, column in ((tables.Event, "at_ms"), (tables.Trajectory, "created_ms")):
            ids = select(tables.Run.id).where(old)
            session.execute(update(table).where(table.run_id.in_(ids)).values({column: now_ms() - 200 * DAY}))
    assert erase("--older-than", "90d") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["gone"]["runs"], told["gone"]["trajectories"]) == (1, 1)
    assert ["'held' is on legal hold" in told["stays"][0], "replayed by again" in told["stays"][1]] == [True, True]
    assert erase("--older-than", "90d", "--yes") == 0
    with reading() as session:
        assert [run.name for run in runs.list_runs(session)] == ["again", "source", "held", "shop"]
    assert (erase("--older-than", "soon"), erase(), erase("--run", "a", "--person", "b")) == (2, 2, 2)


def test_an_old_audit_log_is_shortened_and_a_hold_or_a_problem_forbids_it(shop, url, capsys):
    seal_chains(url)
    head = chain_end(url)
    assert erase("--audit-older-than", "1d", "--yes") == 0
    assert json.loads(capsys.readouterr().out)["gone"] == {"links of the audit log": 0, "events": 0}
    later = now_ms() + 2 * DAY
    with reading() as session:
        of_run = len(session.exec(select(tables.Event.id).where(col(tables.Event.run_id).is_not(None))).all())
        cuts, found = erasure.plan_audit(session, "1d", later)
    assert (found.gone["events"], found.gone["links of the audit log"] > of_run > 3) == (of_run, True)
    with acting(By("Ada", Door.CLI)), writing() as session:
        erasure.prune_audit(session, cuts, "1d", later)
    assert check(url, [head]) == []
    with reading() as session:
        (entry,) = audit_trail.list_entries(session, audit_trail.AuditFilter(kind="audit log pruned"))
        assert session.exec(select(tables.Event.id).where(col(tables.Event.run_id).is_not(None))).all() == []
    assert audit_trail.entry_sentence(entry) == (
        f"Ada erased the audit log of runs older than 1d: {of_run} events, on the command line."
    )

    def refusal():
        with reading() as session, pytest.raises(Refused) as refused:
            erasure.plan_audit(session, "1d", later)
        return str(refused.value)

    with writing() as session:
        maintenance.tag_run(session, runs.get(session, shop), ["later"], [], now_ms())
        maintenance.set_hold(session, people.get_person(session, NAME), "Case 12", now_ms())
    assert refusal().startswith(f"'{NAME}' is on legal hold")
    with writing() as session:
        maintenance.set_hold(session, people.get_person(session, NAME), None, now_ms())
        maintenance.set_hold(session, runs.get(session, shop), "Case 12", now_ms())
    seal_chains(url)
    with reading() as session:
        assert erasure.plan_audit(session, "1d", later)[0] == []
    with writing() as session:
        maintenance.set_hold(session, runs.get(session, shop), None, now_ms())
    with reading() as session:
        assert [cut.chain for cut in erasure.plan_audit(session, "1d", later)[0]] == [1]
    other = create_engine(url)
    with other.begin() as connection:
        connection.execute(text("UPDATE run SET seed = 9"))
    other.dispose()
    assert refusal().startswith("The audit log has 1 problem, so no part can be erased. Audit: run 1 was changed")
