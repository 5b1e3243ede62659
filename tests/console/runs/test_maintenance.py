"""Runs are renamed, tagged, archived and deleted; trajectories move; an import is undone; each is on record."""

import json
import shutil

import pytest
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import database_url, now_ms, reading, review_queue, writing
from console.detection import batch
from console.errors import BadInput, Refused, Unknown
from console.review import inbox
from console.review.decision_details import add_note
from console.runs import ingest, maintenance, trajectory_list
from console.runs.status import run_status, run_summary
from console.trials import replay
from storage import tables
from storage.check import check
from storage.queue import Claim
from tests.logs import purchase, write_log

DAY = 86_400_000


@pytest.fixture
def shop(data_dir, tmp_path, empty_database):
    """An archive run of three judged purchases, two of them flagged, out of one file."""
    data_dir.mkdir(exist_ok=True)
    shutil.copyfile(empty_database, data_dir / "console.db")
    take_in(tmp_path, "shop", *(purchase(n, wrong=n < 2) for n in range(3)))
    runs.set_budget("shop", "3")
    batch.detect("shop", ["rules"])
    return "shop"


def take_in(folder, run, *records, name="log.jsonl"):
    report = ingest.import_file(write_log(folder / name, *records), run, "auto", lambda _: None)
    assert not report.rejected
    return report


def change(work, *arguments, run="shop"):
    with writing() as session:
        return work(session, runs.get(session, run), *arguments, now_ms())


def claim(reviewer="ann"):
    with reading() as session:
        run = runs.get(session, "shop")
    claimed = review_queue().claim(run_id=run.id, trial=0, reviewer=reviewer, now_ms=now_ms(), lease_ms=DAY)
    assert isinstance(claimed, Claim)
    return claimed


def decide(claimed, decision="approve", reviewer="ann"):
    review_queue().decide(
        item_id=claimed.item_id, reviewer=reviewer, token=claimed.token, now_ms=now_ms(), undo_ms=0, decision=decision,
        label=None, feedback_type="binary", feedback_text="", edited_action=None, action_digest="d",
        annotator_kind="human", submit_key="k",
    )  # fmt: skip


def events(kind):
    with reading() as session:
        found = session.exec(select(tables.Event).where(tables.Event.kind == kind)).all()
        return [(row.subject, json.loads(row.detail), row.before, row.after) for row in found]


def waiting():
    with reading() as session:
        return inbox.get_queue_state(session, [runs.get(session, "shop").id]).waiting


def sound():
    assert check(database_url()) == []


def test_a_run_gets_another_name_and_tags(shop):
    change(maintenance.rename_run, "store", run="shop")
    assert events("run renamed") == [("", {}, '"shop"', '"store"')]
    assert change(maintenance.tag_run, ["pilot", "v2"], [], run="store") == ["pilot", "v2"]
    assert change(maintenance.tag_run, [], ["v2"], run="store") == ["pilot"]
    with reading() as session:
        assert run_summary(session, runs.get(session, "store"))["tags"] == ["pilot"]
    for name, refusal in (("store", Refused), ("a/b", BadInput)):
        with pytest.raises(refusal):
            change(maintenance.rename_run, name, run="store")
    with pytest.raises(BadInput, match="is not a valid tag"):
        change(maintenance.tag_run, ["two words"], [], run="store")


def test_an_archived_run_leaves_the_lists_once_nothing_waits_in_it(shop):
    with pytest.raises(Refused, match="'shop' has 2 pending items"):
        change(maintenance.set_archived, True)
    change(runs.set_patterns, [])
    change(maintenance.set_archived, True)
    with reading() as session:
        assert runs.list_runs(session) == []
        assert inbox.find_busiest_run(session) is None
        assert runs.get(session, "shop").archived_ms
    change(maintenance.set_archived, False)
    with reading() as session:
        assert [run.name for run in runs.list_runs(session)] == ["shop"]
    assert len(events("run archived")) == len(events("run brought back")) == 1


def test_narrower_patterns_withdraw_items_with_their_units(shop):
    held = claim()
    with reading() as session:
        assert run_status(session, runs.get(session, "shop"))["trials"][0]["budget"]["used"] == 1
    withdrawn = change(runs.set_patterns, ["refund_*"])
    assert len(withdrawn) == 2
    assert held.item_id in withdrawn
    with reading() as session:
        assert run_status(session, runs.get(session, "shop"))["trials"][0]["budget"]["used"] == 0
        entries = [row.reason for row in session.exec(select(tables.LedgerEntry)) if row.entry == "refund"]
    assert entries == ["cancel"]
    assert events("critical actions set")[-1][1]["withdrawn"] == withdrawn
    sound()


def test_what_is_not_critical_any_longer_is_not_queued_again_by_judging_again(shop):
    change(runs.set_patterns, [])
    batch.detect("shop", ["rules"])
    assert waiting() == 0
    change(runs.set_patterns, ["click[Buy Now]"])
    batch.detect("shop", ["rules"])
    assert waiting() == 2


def test_an_answered_item_stays_when_the_patterns_are_narrowed(shop):
    decide(claim())
    assert len(change(runs.set_patterns, [])) == 1
    with reading() as session:
        assert sorted(row.status for row in session.exec(select(tables.Item))) == ["cancelled", "decided"]
    sound()


def test_a_deleted_run_leaves_a_tombstone_and_a_chain_that_holds(shop):
    decide(claim())
    held = change(maintenance.delete_run)
    assert held == {"trajectories": 3, "items": 2, "decisions": 1, "verdicts": 3}
    with reading() as session:
        assert runs.list_runs(session, archived=True) == []
        left = [session.exec(select(table)).all() for table in (tables.Item, tables.Slot, tables.Task, tables.Budget)]
        assert left == [[], [], [], []]
        assert "imported" not in {row.kind for row in session.exec(select(tables.Event))}
    ((subject, _, before, _),) = events("run deleted")
    assert (subject, json.loads(before)) == ("shop", held)
    sound()


@pytest.mark.parametrize("handed_over", [False, True], ids=["beside an item", "with a decision"])
def test_notes_to_colleagues_go_with_the_run(shop, handed_over):
    claimed = claim()
    decide(claimed)
    with writing() as session:
        decision_id = session.exec(select(tables.Decision.id)).one() if handed_over else None
        add_note(session, claimed.item_id, "ann", "Compare item 2.", now_ms(), decision_id=decision_id)
    change(maintenance.delete_run)
    with reading() as session:
        assert session.exec(select(tables.Note)).all() == []
    sound()


def test_a_run_that_another_one_replays_is_not_deleted(shop):
    replay.start_replay("again", "shop", "rules")
    with pytest.raises(Refused, match="'shop' is replayed by again"):
        change(maintenance.delete_run)


def test_an_import_is_undone_and_only_it(shop, tmp_path):
    take_in(tmp_path, "shop", purchase(7, wrong=False), purchase(8, wrong=True), name="second.jsonl")
    with reading() as session:
        second, first = maintenance.list_imports(session, runs.get(session, "shop"))
    assert (second["file"], second["imported"], first["still_there"]) == ("second.jsonl", 2, 3)
    with writing() as session:
        run, gone = maintenance.undo_import(session, second["import_id"], now_ms())
    assert (run.name, gone) == ("shop", 2)
    with reading() as session:
        assert [row["task_id"] for row in trajectory_list.rows(session, runs.get(session, "shop"))] == [
            *("kettle-0", "kettle-1", "kettle-2"),
        ]
    assert events("import undone")[0][:2] == ("second.jsonl", {"import": second["import_id"], "trajectories": 2})
    for problem, words in ((Refused, "already undone"), (Unknown, "No import with id 99")):
        with pytest.raises(problem, match=words), writing() as session:
            maintenance.undo_import(session, second["import_id"] if problem is Refused else 99, now_ms())
    sound()


def test_an_import_with_an_answer_is_not_undone(shop):
    decide(claim())
    with pytest.raises(Refused, match="decided items of 1 trajectory"), writing() as session:
        maintenance.undo_import(session, 1, now_ms())


def test_trajectories_move_with_their_verdicts_and_wait_no_longer(shop, tmp_path):
    take_in(tmp_path, "other", purchase(2, wrong=False), name="other.jsonl")
    with writing() as session:
        done = maintenance.move_trajectories(session, [1, 3], "other", now_ms())
    assert (done.moved, done.there_already) == ((1,), (3,))
    with reading() as session:
        other = runs.get(session, "other")
        assert [row["task_id"] for row in trajectory_list.rows(session, other)] == ["kettle-0", "kettle-2"]
        assert [row.run_id for row in session.exec(select(tables.Verdict)) if row.trajectory_id == 1] == [other.id]
    assert waiting() == 1
    assert events("trajectories moved")[0][1] == {"trajectories": 1, "to": "other"}
    batch.detect("other", ["rules"])
    sound()
    held = claim()
    with pytest.raises(Refused, match="decided items of 1"), writing() as session:
        maintenance.move_trajectories(session, [2], "other", now_ms())
    assert held


def test_the_commands_say_what_they_did(shop, capsys, tmp_path):
    def told(*words):
        assert run_command([*words]) == 0
        return capsys.readouterr().out

    assert "store" in told("run", "rename", "shop", "store")
    assert "pilot" in told("run", "tag", "store", "--add", "pilot")
    assert "pilot" in told("run", "list")
    assert "log.jsonl" in told("trajectory", "imports", "--run", "store")
    assert run_command(["run", "delete", "store"]) == 1
    assert "3 trajectories, 2 items, 0 decisions" in capsys.readouterr().err
    assert "2 items left the queue" in told("run", "critical", "store", "--remove", "click[Buy Now]")
    assert "Moved 1" in told("trajectory", "move", "1", "--to", "aside")
    told("run", "archive", "store")
    assert "store" not in told("run", "list")
    assert "store" in told("run", "list", "--archived")
    assert "Restored store" in told("run", "archive", "store", "--undo")
    assert "Deleted aside: 1 trajectory, " in told("run", "delete", "aside", "--yes")
    assert "2 trajectories" in told("trajectory", "undo", "1")
    assert "kettle" not in told("trajectory", "list", "--run", "store")


def test_words_are_found_by_the_command(shop, capsys):
    assert run_command(["trajectory", "list", "--run", "shop", "--search", "number 1", "--in", "task", "--json"]) == 0
    assert [row["task_id"] for row in json.loads(capsys.readouterr().out)] == ["kettle-1"]
