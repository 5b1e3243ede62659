"""Words of a task, an action, an observation or a thought find their trajectory, in the time that a page takes."""

import shutil

import pytest
from sqlalchemy import text

from console.database import reading, writing
from console.runs import archive, get, ingest, trajectory_list, trajectory_rows
from console.runs.trajectory_rows import insert_rows, prepare, write
from console.trajectory import Outcome, Step, Trajectory
from tests import postgres
from tests.logs import write_log

REMOVED = Step("Careful now", 'bash({"command":"rm -rf build/x"})', "done")
REFUNDED = Step("", 'refund_order({"id":7})', "Erstattung läuft; naïve café")
BY_PLACE = [("rm -rf", "actions"), ("rm -rf", "observations"), ("naïve", "observations"), ("deploy", "actions"),
            ("disk", "thoughts"), ("t-3", "observations")]  # fmt: skip
RECORDS = (
    Trajectory("t-1", "generic", "Clean the disk up", (REMOVED,)),
    Trajectory("t-2", "generic", "Geld zurück", (REFUNDED,)),
    Trajectory(
        "t-3", "generic", "Wait", (Step("", "look({})", "ok"),), critical_action="deploy({})", outcome=Outcome.PAUSED
    ),
    Trajectory("t-4", "generic", "Nothing", ()),
)


@pytest.fixture
def find(data_dir, tmp_path, empty_database):
    """A function from words, and where, to the task ids that are found."""
    data_dir.mkdir(exist_ok=True)
    shutil.copyfile(empty_database, data_dir / "console.db")
    ingest.import_file(write_log(tmp_path / "log.jsonl", *RECORDS), "log", "auto", lambda _: None)

    def of(words, place=trajectory_list.ANYWHERE):
        assert trajectory_rows.catch_up_index() == 0
        wanted = trajectory_list.Filter(text=words, place=place)
        with reading() as session:
            run = get(session, "log")
            rows = trajectory_list.page(session, run, wanted, offset=0, limit=50)
            assert trajectory_list.count(session, run, wanted) == len(rows)
        return [row["task_id"] for row in rows]

    return of


@pytest.mark.parametrize(
    ("words", "place", "found"),
    [
        ("rm -rf", "anywhere", ["t-1"]),
        ("rm -rf", "actions", ["t-1"]),
        ("rm -rf", "observations", []),
        ("careful", "thoughts", ["t-1"]),
        ("refund_order", "actions", ["t-2"]),
        ("refund", "actions", ["t-2"]),
        ("zuruck", "task", ["t-2"]),
        ("cafe erstatt*", "observations", ["t-2"]),
        ("cafe erstatt", "observations", []),
        ("t-3", "task", ["t-3"]),
        ("deploy", "actions", ["t-3"]),
        ("disk done", "anywhere", ["t-1"]),
        ("disk refund", "anywhere", []),
        ('"', "anywhere", []),
        ('say "hi" OR NEAR(', "anywhere", []),
        ("disk*", "anywhere", ["t-1"]),
        ("", "anywhere", ["t-1", "t-2", "t-3", "t-4"]),
    ],
)
def test_words_are_found_where_they_stand(find, words, place, found):
    assert find(words, place) == found


def test_a_record_that_changes_is_found_by_its_new_words_alone(find):
    changed = Trajectory("t-1", "generic", "Clean the disk up", (Step("", "ls({})", "nothing there"),))
    with writing() as session:
        write(session, 1, changed, [])
    assert (find("rm -rf"), find("nothing", "observations")) == ([], ["t-1"])


def test_without_an_index_every_record_is_read_through(find):
    with writing() as session:
        for name in ("added", "left", "changed", "removed", "gone"):
            session.execute(text(f"DROP TRIGGER trajectory_words_{name}"))
        session.execute(text("DROP TABLE trajectory_words"))
    assert find("refund_order") == ["t-2"]
    assert find('"rm -rf') == ["t-1"]
    assert [found for words, place in BY_PLACE for found in find(words, place)] == ["t-1", "t-2", "t-3"]


@postgres.NEEDED
def test_on_postgresql_every_record_is_read_through():
    odd = Trajectory("t-5", "generic", "Odd", (Step("", "nul({})", "a\0b"),))
    places = (*BY_PLACE, ("100% nothing", "anywhere"), ("nul", "thoughts"), ("REFUND_order", "anywhere"))
    with postgres.database() as url:
        with writing(url) as session:
            run = archive(session, "log", 1)
            session.flush()
            insert_rows(session, run, [prepare(record, []) for record in (*RECORDS, odd)], 1)
        with reading(url) as session:
            run = get(session, "log")
            sought = [trajectory_list.Filter(text=words, place=place) for words, place in places]
            rows = [trajectory_list.page(session, run, one, offset=0, limit=50) for one in sought]
    # A record with a NUL, which PostgreSQL takes out of no JSON, is looked through whole.
    assert [row["task_id"] for found in rows for row in found] == ["t-1", "t-2", "t-3", "t-5", "t-2"]


def test_what_is_new_waits_and_what_is_no_record_holds_nothing_up(find):
    with writing() as session:
        session.execute(text("UPDATE trajectory_body SET body = 'no json' WHERE trajectory_id = 1"))
        session.execute(text("UPDATE trajectory_body SET body = replace(body, 'refund', 'return')"))
    assert trajectory_rows.catch_up_index(seconds=0) == 2
    assert (find("refund_order"), find("return_order"), find("rm")) == ([], ["t-2"], [])
    with writing() as session:
        session.execute(text("DELETE FROM trajectory_body WHERE trajectory_id IN (1, 2)"))
    assert find("return_order") == []


ODD = (
    "",
    "a\0b c",
    'tab\t "quoted" back\\slash \\u0000 \\n',
    "line\nbreak \u2028 \x7f \x1f",
    "e\u0301 naïve 🙂 ß",
    "{}",
    "null",
)


def test_what_leaves_the_index_takes_all_its_words_along(find):
    steps = tuple(Step(one, f"do({one})", one) for one in ODD)
    records = [Trajectory(f"t {one}", "generic", one, steps[number:]) for number, one in enumerate(ODD)]
    with writing() as session:
        insert_rows(session, get(session, "log"), [prepare(one, []) for one in records], 1)
    assert find("naïve", "actions") == [*(f"t {one}" for one in ODD[:5])]
    with writing() as session:
        session.execute(text("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, trajectory_words, instance)"))
        assert session.execute(text("SELECT count(*) FROM temp.words")).scalar_one() > 50
        session.execute(text("DELETE FROM trajectory_body"))
        assert session.execute(text("SELECT * FROM temp.words")).all() == []
