"""Words of a task, an action, an observation or a thought find their trajectory, in the time that a page takes."""

import os
import shutil

import pytest
from sqlalchemy import text

from console.database import reading, writing
from console.runs import archive, get, ingest, trajectory_list, trajectory_rows
from console.runs.trajectory_rows import insert_rows, prepare, write
from console.settings import settings
from console.trajectory import Outcome, Step, Trajectory
from storage.engine import close
from storage.migrations import upgrade
from tests import postgres
from tests.logs import write_log
from tests.sweeps import sweep

REMOVED = Step("Careful now", 'bash({"command":"rm -rf build/x"})', "done")
REFUNDED = Step("", 'refund_order({"id":7})', "Erstattung läuft; naïve café")
RECORDS = (
    Trajectory("t-1", "generic", "Clean the disk up", (REMOVED,)),
    Trajectory("t-2", "generic", "Geld zurück", (REFUNDED,)),
    Trajectory(
        "t-3", "generic", "Wait", (Step("", "look({})", "ok"),), critical_action="deploy({})", outcome=Outcome.PAUSED
    ),
    Trajectory("t-4", "generic", "Nothing", ()),
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=postgres.NEEDED)])
def project(request, data_dir, empty_database):
    """An empty project on each database in turn; yields its kind."""
    if request.param == "sqlite":
        data_dir.mkdir(exist_ok=True)
        shutil.copyfile(empty_database, data_dir / "console.db")
        yield request.param
        return
    with postgres.database() as url:
        os.environ["INFERACT_DATABASE_URL"] = url
        settings.cache_clear()
        yield request.param


@pytest.fixture
def find(project, tmp_path):
    """A function from words, and where, to the task ids that are found."""
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


@sweep(
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
    kept=8,
)
def test_words_are_found_where_they_stand(find, words, place, found):
    assert find(words, place) == found


def test_a_record_that_changes_is_found_by_its_new_words_alone(find):
    changed = Trajectory("t-1", "generic", "Clean the disk up", (Step("", "ls({})", "nothing there"),))
    with writing() as session:
        write(session, 1, changed, [])
    assert (find("rm -rf"), find("nothing", "observations")) == ([], ["t-1"])


LONG = {
    "long": " ".join(f"part{number % 3} piece{number}" for number in range(9_000)) + " rm -rf, the end",
    "huge": " ".join(f"{number:0>200}" for number in range(6_000)) + " rm -rf, the end",
    "blob": "rm " + "abc" * 1_000 + " rf, the end",
}


def test_a_text_of_any_length_is_searched_by_words_phrases_and_prefixes(find):
    records = [Trajectory(f"t {name}", "generic", "x", (Step("a b", "do({})", words),)) for name, words in LONG.items()]
    with writing() as session:
        insert_rows(session, get(session, "log"), [prepare(one, []) for one in records], 1)
    assert find("rm-rf the-end", "observations") == ["t long", "t huge"]
    assert find("rm rf end", "anywhere") == ["t long", "t huge", "t blob"]
    assert (find("rm-rf", "thoughts"), find("end", "actions"), find("end-the")) == ([], [], [])
    assert (find("piece8999"), find("piece", "observations"), find("piece899*")) == (["t long"], [], ["t long"])
    assert find("abc" * 1_000) == ["t blob"]
    assert find("b-do") == []  # No phrase goes from one column to the next.


@postgres.NEEDED
def test_a_server_of_before_gets_the_index_of_what_it_holds():
    with postgres.database() as url:
        with writing(url) as session:
            run = archive(session, "log", 1)
            session.flush()
            insert_rows(session, run, [prepare(record, []) for record in RECORDS], 1)
            for name in ("added", "changed", "removed", "emptied"):
                session.execute(text(f"DROP TRIGGER trajectory_words_{name} ON trajectory_body"))
            session.execute(text("DROP TABLE trajectory_words, trajectory_words_waiting"))
            session.execute(text("DROP FUNCTION trajectory_words_changed"))
            session.execute(text("UPDATE alembic_version SET version_num = '0035'"))
        close(url)
        upgrade(url)
        with reading(url) as session:
            assert session.execute(text("SELECT count(*) FROM trajectory_words_waiting")).scalar_one() == len(RECORDS)


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


def test_what_leaves_the_index_takes_all_its_words_along(find, project):
    # No column of PostgreSQL holds a NUL.
    odd = [one.replace("\0", " ") if project == "postgresql" else one for one in ODD]
    steps = tuple(Step(one, f"do({one})", one) for one in odd)
    records = [Trajectory(f"t {one}", "generic", one, steps[number:]) for number, one in enumerate(odd)]
    with writing() as session:
        insert_rows(session, get(session, "log"), [prepare(one, []) for one in records], 1)
    assert find("naïve", "actions") == [*(f"t {one}" for one in odd[:5])]
    if project == "postgresql":
        left = "SELECT DISTINCT unnest(tsvector_to_array(words)) FROM trajectory_words"
    else:
        left = "SELECT DISTINCT term FROM temp.words"
    with writing() as session:
        if project == "sqlite":
            session.execute(text("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, trajectory_words, instance)"))
        assert len(session.execute(text(left)).all()) > 20
        session.execute(text("DELETE FROM trajectory_body"))
        assert session.execute(text(left)).all() == []
