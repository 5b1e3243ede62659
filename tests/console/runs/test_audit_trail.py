"""The audit: what each door writes of who did what, and how a person reads it."""

import csv
import getpass
import json
import platform
import resource
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from sqlmodel import select

from console import runs
from console.auth import audit_log
from console.auth.audit_log import By, Door, acting
from console.cli import run_command
from console.database import database_url, now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditEntry, AuditFilter
from storage import tables
from storage.engine import overwrite_freed
from tests.logs import purchase, write_log


@pytest.fixture
def kettles(tmp_path):
    """A run that was imported by command."""
    log = write_log(tmp_path / "kettles.jsonl", *(purchase(n, wrong=True) for n in range(3)))
    assert run_command(["trajectory", "import", str(log), "--run", "kettles"]) == 0
    return "kettles"


def said(**wanted):
    """The sentences of the audit, the oldest first."""
    with reading() as session:
        found = audit_trail.list_entries(session, AuditFilter(**wanted))
    return [audit_trail.entry_sentence(one) for one in reversed(found)]


def test_an_event_is_found_by_its_run_kind_and_subject(kettles):
    assert run_command(["run", "budget", kettles, "5"]) == 0
    with writing() as session:
        run, other = runs.get(session, kettles), runs.create(session, "pots", "live", now_ms())
        session.flush()
        audit_log.record(session, run, "looked", now_ms(), subject="item 1")
        found = [
            audit_log.has_event(session, each, kind, subject)
            for each, kind, subject in (
                (run, "looked", "item 1"),
                (other, "looked", "item 1"),
                (run, "seen", "item 1"),
                (run, "looked", "item 2"),
            )
        ]
    assert found == [True, False, False, False]


def test_an_erasure_is_an_event_of_the_study_that_names_nobody(kettles):
    with acting(By("P07", Door.BROWSER, "10.0.0.7")), writing() as session:
        run = runs.get(session, kettles)
        audit_log.record(session, run, "looked", now_ms())
        audit_log.erase(session, [run], now_ms(), actor="P07")
    with reading() as session:
        events = session.exec(select(tables.Event)).all()
    assert not [one for one in events if one.kind == "looked"]
    (erased,) = [one for one in events if one.kind == "content erased"]
    assert (erased.actor, erased.place, erased.run_id, json.loads(erased.detail)) == ("study", "", None, {"events": 1})


def test_the_end_of_a_trial_is_a_sentence_with_its_reason(kettles):
    with writing() as session:
        run, detail = runs.get(session, kettles), {"reason": "A reviewer rejected the action."}
        audit_log.record(session, run, "trial rejected", now_ms(), by="engine", subject="t-1, trial 0", detail=detail)
    assert said()[-1] == "t-1, trial 0 of “kettles” ended as rejected: A reviewer rejected the action."


def test_each_command_says_who_did_what_from_what_to_what(kettles, tmp_path, capsys):
    me = getpass.getuser()
    out = tmp_path / "out.csv"
    for command in (
        ["run", "budget", kettles, "5"],
        ["run", "budget", kettles, "50%"],
        ["detect", kettles, "--method", "rules", "--threshold", "0.3"],
        ["run", "critical", kettles, "--add", "refund_*"],
        ["export", "decisions", "--run", kettles, "--out", str(out)],
        ["db", "backup", str(tmp_path / "copy.db")],
    ):
        assert run_command(command) == 0
    assert said() == [
        f"{me} created the run “kettles”, on the command line.",
        f"{me} imported 3 trajectories of “kettles.jsonl” into “kettles”, on the command line.",
        f"{me} set the budget of “kettles” from no cap to 5, on the command line.",
        f"{me} set the budget of “kettles” from 5 to 50%, on the command line.",
        f"{me} ran rules on “kettles”; settings from no detector, no threshold, seed 0 to detector "
        "rules, threshold 0.3, seed 0, on the command line.",
        f"{me} set the critical actions of “kettles” from click[Buy Now] to click[Buy Now], refund_*, "
        "on the command line.",
        f"{me} exported the decisions of “kettles”, on the command line.",
        f"{me} started a backup of the database to “{tmp_path / 'copy.db'}”, on the command line.",
    ]
    capsys.readouterr()
    assert run_command(["db", "check", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["problems"], found["audit"]["events"], len(found["audit"]["hash"])) == ([], 13, 64)


def test_a_backup_that_comes_to_nothing_is_told_so(data_dir, tmp_path, capsys):
    (tmp_path / "taken.db").touch()
    assert run_command(["db", "backup", str(tmp_path / "taken.db")]) != 0
    assert said() == []
    assert run_command(["db", "backup", str(tmp_path / "taken.db" / "copy.db")]) != 0
    assert said()[-1].endswith(
        f"could not back the database up to “{tmp_path / 'taken.db' / 'copy.db'}”, on the command line."
    )
    # A disk that is full while the pages are copied.
    overwrite_freed(database_url())
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, most[1]))
    try:
        assert run_command(["db", "backup", str(tmp_path / "copy.db")]) != 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert f"{tmp_path / 'copy.db'} was not written (disk I/O error). Choose another path" in capsys.readouterr().err
    assert said()[-1].endswith(f"could not back the database up to “{tmp_path / 'copy.db'}”, on the command line.")


def test_a_restore_is_told_in_what_was_restored(kettles, tmp_path):
    assert run_command(["db", "backup", str(tmp_path / "copy.db")]) == 0
    assert run_command(["run", "budget", kettles, "5"]) == 0
    assert run_command(["db", "restore", str(tmp_path / "copy.db")]) == 0
    assert [words.split(" ", 1)[1] for words in said()][2:] == [
        f"started a backup of the database to “{tmp_path / 'copy.db'}”, on the command line.",
        f"restored the database from “{tmp_path / 'copy.db'}”, on the command line.",
    ]
    assert run_command(["db", "check"]) == 0


def test_a_change_behind_the_console_s_back_fails_the_check_and_is_named(kettles, data_dir, capsys):
    assert run_command(["run", "budget", kettles, "5"]) == 0
    with closing(sqlite3.connect(data_dir / "console.db")) as connection, connection:
        connection.execute("UPDATE event SET after = '\"9\"' WHERE kind = 'budget set'")
    capsys.readouterr()
    assert run_command(["db", "check"]) == 1
    out, err = capsys.readouterr()
    assert "Audit: event 4 (budget set) was changed." in out
    assert "1 problem" in err


def test_whoever_acts_is_named_with_door_and_address_and_nobody_afterwards(kettles):
    with acting(By("Ada", Door.BROWSER, "10.0.0.7")):
        runs.set_budget(kettles, "7")
    runs.set_budget(kettles, "8")
    with reading() as session:
        by_itself, by_ada = audit_trail.list_entries(session, AuditFilter(kind="budget set"))
    assert (by_ada.who, by_ada.door, by_ada.place, by_ada.before, by_ada.after) == (
        "Ada", "browser", "10.0.0.7", "no cap", "7",
    )  # fmt: skip
    assert (by_itself.who, by_itself.door, by_itself.place) == ("console", "", "")


def test_an_event_can_name_its_own_author_and_a_part_of_the_console_keeps_its_name(kettles):
    with acting(By("Ada", Door.CLI, "desk")), writing() as session:
        audit_log.record(session, None, "one", now_ms(), by=By("bot", Door.API, "10.0.0.9"))
        audit_log.record(session, None, "two", now_ms(), by="engine")
    with reading() as session:
        two, one = audit_trail.list_entries(session, AuditFilter(), 2)
    assert (one.who, one.door, one.place) == ("bot", "api", "10.0.0.9")
    assert (two.who, two.door, two.place) == ("engine", "cli", "")


def test_the_audit_is_chosen_by_run_kind_and_who(kettles):
    me = getpass.getuser()
    with writing() as session:
        audit_log.record(session, None, "one", now_ms(), by=By("Eve", Door.API))
    assert said(who="Eve") == ["Eve: one, over the API."]
    assert len(said(run=kettles)) == 2
    assert said(kind="imported", who=me, run=kettles) == [
        f"{me} imported 3 trajectories of “kettles.jsonl” into “kettles”, on the command line."
    ]
    assert said(kind="imported", who="Eve") == []
    with reading() as session:
        assert audit_trail.list_choices(session) == ([kettles], ["imported", "one", "run created"], sorted(["Eve", me]))


ENTRY = AuditEntry(1, 0, "shop", "Ada", "", "it", "", "", None, None, {})


@pytest.mark.parametrize(
    ("kind", "given", "sentence"),
    [
        ("critical actions set", {"before": [], "after": ["a", "b"], "detail": {"withdrawn": [1, 2]}},
         "Ada set the critical actions of “shop” from nothing to a, b; 2 items left the queue."),
        ("reasons set", {"after": {"x": 1, "y": None}}, "Ada set the reasons of “shop” to x 1, no y."),
        ("questions set", {"before": 5, "after": 5}, "Ada set the questions of “shop” as before."),
        ("budget set", {"before": {}, "after": None}, "Ada set the budget of “shop” from nothing to nothing."),
        ("policy set", {"run": "", "after": 3, "detail": {"author": "Ada"}},
         "Ada set the policy of every run, version 3."),
        ("policy set", {"after": 3, "detail": {"author": "Bob"}},
         "Ada set the policy of “shop”, version 3, said to be written by Bob."),
        ("policy set", {"after": 3}, "Ada set the policy of “shop”, version 3."),
        ("run renamed", {"before": "old", "after": "new"}, "Ada renamed the run “old” to “new”."),
        ("run deleted", {"before": {"items": 2, "tasks": 1}}, "Ada deleted the run “it” with 2 items, 1 task."),
        ("import undone", {"detail": {"trajectories": 1}},
         "Ada undid the import of “it” into “shop”: 1 trajectory removed."),
        ("trajectories moved", {"detail": {"trajectories": 2, "to": "other"}},
         "Ada moved 2 trajectories of “shop” to “other”."),
        ("imported", {"detail": {"imported": 3}}, "Ada imported 3 trajectories of “it” into “shop”."),
        ("exported", {}, "Ada exported the it of “shop”."),
        ("exported", {"run": ""}, "Ada exported the it."),
        ("study exported", {}, "Ada exported the results of the study “it”."),
        ("study exported", {"detail": {"what": "the report"}}, "Ada exported the report of the study “it”."),
        ("next trial", {"detail": {"tasks": 1}}, "Ada started the next trial of 1 task of “shop”."),
        ("next trial", {}, "Ada started the next trial of 0 tasks of “shop”."),
        ("released", {"detail": {"trajectories": 2}}, "Ada released 2 undecided actions of “shop”."),
        ("study invitations", {"after": 1}, "Ada created 1 link to the study “it”."),
        ("participant withdrew", {"who": "WAB12CD", "door": "browser"},
         "The participant now called WAB12CD withdrew from the study “it”, in the browser."),
        ("participant withdrew", {"who": "WAB12CD", "door": "cli"},
         "WAB12CD removed a participant from the study “it”, on the command line."),
        ("participant withdrew", {"door": "browser"},
         "Ada removed a participant from the study “it”, in the browser."),
        ("content erased", {"detail": {"events": 2}},
         "The content of 2 events was erased, according to a consent."),
        ("signed in", {}, "Ada signed in."),
        ("signed in", {"detail": {"issuer": "https://id"}}, "Ada signed in by https://id."),
        ("sign-in refused", {"subject": "", "detail": {"reason": "Not now."}},
         "A person was refused at the sign-in by an organisation: Not now."),
        ("person invited", {"subject": ""}, "Ada invited the first person who opens the link."),
        ("person invited", {}, "Ada invited “it”."),
        ("judged", {"detail": {"detectors": ["a", "b"]}, "before": 1, "after": 2},
         "Ada ran a, b on “shop”; settings from 1 to 2."),
        ("detector recalibrated", {"detail": {"detector": "rules"}}, "Ada recalibrated rules on “shop”."),
        ("notices retried", {"after": 1}, "Ada retried 1 undelivered message."),
        ("notices retried", {}, "Ada retried 0 undelivered messages."),
        ("Ada: spoke", {"door": "python"}, "Ada: spoke (it of “shop”), from Python."),
        ("spoke", {"subject": "", "run": "", "door": "import"}, "Ada: spoke, by import."),
        ("x" * 195, {"subject": "", "run": ""}, f"Ada: {'x' * 195}."),
        ("x" * 196, {"subject": "", "run": ""}, f"Ada: {'x' * 194}…."),
    ],
)  # fmt: skip
def test_each_kind_of_event_is_a_sentence_with_what_changed(kind, given, sentence):
    assert audit_trail.entry_sentence(replace(ENTRY, kind=kind, **given)) == sentence


def test_the_csv_holds_every_event_with_its_sentence_and_runs_no_cell(kettles):
    with writing() as session:
        audit_log.record(session, None, "one", now_ms(), by=By("=1+1", Door.API))
    with reading() as session:
        text = audit_trail.as_csv(audit_trail.list_entries(session, AuditFilter())).decode()
    rows = list(csv.DictReader(text.splitlines()))
    assert list(rows[0]) == [
        *("event_id", "at", "run", "who", "kind", "subject", "door", "where", "before", "after", "detail", "sentence"),
    ]
    assert [row["kind"] for row in rows] == ["one", "imported", "run created"]
    assert {name: rows[1][name] for name in ("event_id", "run", "who", "subject", "door", "before", "after")} == {
        **{"event_id": "2", "run": "kettles", "who": getpass.getuser(), "subject": "kettles.jsonl", "door": "cli"},
        **{"before": "null", "after": "null"},
    }
    assert json.loads(rows[1]["detail"])["imported"] == 3
    assert rows[1]["at"].startswith("20")
    assert rows[0]["who"] == "'=1+1"
    assert rows[1]["where"] == platform.node()
    assert rows[1]["sentence"].endswith("into “kettles”, on the command line.")


def test_the_export_of_events_gained_its_columns_at_the_end(kettles, tmp_path):
    out = tmp_path / "events.csv"
    assert run_command(["export", "events", "--run", kettles, "--out", str(out)]) == 0
    first, second = csv.DictReader(out.read_text().splitlines())
    assert list(first)[:7] == ["event_id", "run", "at", "actor", "kind", "subject", "detail"]
    assert list(first)[7:] == [
        "door",
        "where",
        "before",
        "after",
        "content_digest",
        "previous_hash",
        "hash",
        "chain",
        "place",
    ]
    assert (first["previous_hash"], second["previous_hash"]) == ("", first["hash"])


def test_an_export_that_cannot_be_recorded_leaves_no_file(kettles, data_dir, tmp_path):
    with closing(sqlite3.connect(data_dir / "console.db")) as connection, connection:
        connection.execute("ALTER TABLE event_link RENAME TO gone")
    assert run_command(["export", "items", "--run", kettles, "--out", str(tmp_path / "out.csv")]) != 0
    assert not (tmp_path / "out.csv").exists()


def test_a_decision_by_command_is_marked_as_such(kettles, tmp_path):
    out = tmp_path / "decisions.csv"
    for command in (
        ["detect", kettles, "--method", "full-validation"],
        ["review", "claim", "--run", kettles, "--reviewer", "ada"],
        ["review", "decide", "1", "--reviewer", "ada", "--decision", "approve"],
        ["export", "decisions", "--run", kettles, "--out", str(out)],
    ):
        assert run_command(command) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert {(row["reviewer"], row["door"]) for row in rows} == {("ada", "cli")}
