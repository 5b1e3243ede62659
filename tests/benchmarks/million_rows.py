"""Projects of 10,000 to 1,000,000 trajectories, at rest in a folder: built once and used again.

Real rows come first: 250 trajectories are imported into each of 21 runs, judged by two detectors, and some reviewed.
SQL copies them with other ids and words. The run `big` holds half of the trajectories. Half of the other runs are
archived; what the budgets do not cover stays pending.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy import Connection, create_engine, text

from console import runs
from console.auth.people import Role, add_person
from console.database import now_ms, reading, review_queue, writing
from console.detection.batch import detect
from console.review import decisions
from console.runs import ingest
from console.runs.trajectory_rows import catch_up_index
from console.settings import settings
from console.trajectory import Step, Trajectory
from storage.engine import close
from storage.queue import Claim
from storage.tables import Table
from tests import postgres
from tests.logs import purchase, stuck, write_log

BIG, SMALL_RUNS, UNIT = "big", 20, 250
"""Half of the trajectories are in the big run, the rest in the small ones; a unit is imported into each of them."""
REVIEWED, LEFT, REVIEWERS = 12, 100, ("ann", "ben")
"""Decisions of each unit, inspections left in each budget, and who decided."""
_MARK = "batchzero"
"""The word of a real record that each copy replaces by the number of its batch."""
_OF_TRAJECTORY = "(SELECT run_id FROM trajectory t WHERE t.id = trajectory_id)"
_OF_ITEM = "(SELECT run_id FROM item i WHERE i.id = item_id)"
_TABLES = {
    "task": (("id",), "run_id", ("task_key", "instruction"), "instruction_digest"),
    "trajectory": (("id", "task_id"), "run_id", (), "digest"),
    "trajectory_body": (("trajectory_id",), _OF_TRAJECTORY, ("body",), ""),
    "verdict": (("id", "trajectory_id"), "run_id", (), ""),
    "item": (("id", "trajectory_id", "verdict_id"), "run_id", (), ""),
    "slot": (("id", "item_id"), _OF_ITEM, (), ""),
    "ledger": (("id", "item_id", "slot_id"), _OF_ITEM, (), ""),
    "decision": (("id", "item_id", "slot_id"), _OF_ITEM, (), "submit_key"),
}  # fmt: skip
"""Of each table: the ids that a copy moves, the SQL of a row's run, the texts with the mark, and the unique text."""
_OWNERS = {
    "task_id": "task",
    "trajectory_id": "trajectory",
    "verdict_id": "verdict",
    "item_id": "item",
    "slot_id": "slot",
}


def at_project(data: Path, url: str) -> None:
    """Turn this process to the project's database; its other files lie in the data directory."""
    data.mkdir(parents=True, exist_ok=True)
    os.environ |= {"INFERACT_DATA_DIR": str(data), "INFERACT_DATABASE_URL": url}
    settings.cache_clear()


def build(data: Path, url: str, size: int) -> float:
    """Build the project from a copy of the real rows, unless it is there; return the seconds that it took."""
    done = data / "built"
    if done.exists():
        return 0.0
    began = time.perf_counter()
    copy_rows(url, size)
    at_project(data, url)
    while catch_up_index(60.0):
        pass
    done.write_text(f"{size}\n")
    return time.perf_counter() - began


@contextmanager
def opened_server(folder: Path, database: str) -> Iterator[Callable[[int], str]]:
    """What returns the URL of the project of a size; a new project is a copy of the real rows."""
    real = folder / f"{database}-real"
    if database == "sqlite":

        def find(size: int) -> str:
            seed, file = real / "console.db", folder / f"sqlite-{size}" / "console.db"
            if not seed.exists():
                store_real_rows(real, f"sqlite:///{seed}")
            if not file.exists():
                file.parent.mkdir()
                shutil.copyfile(seed, file)
            return f"sqlite:///{file}"

        yield find
        return
    with postgres.kept(folder / "pg") as named:

        def fill() -> str:
            if not (real / "log.jsonl").exists():
                store_real_rows(real, named("real_rows"))
            return "real_rows"

        yield lambda size: named(f"of_{size}", fill)


def list_runs() -> list[str]:
    """The names of all runs, the big one last, so that it is the newest."""
    return [*(f"small-{number:02}" for number in range(SMALL_RUNS)), BIG]


def record(number: int) -> Trajectory:
    """A purchase or, one in twenty times, a trial that went in circles; with the mark and a word of its own."""
    made = stuck(number) if number % 20 == 19 else purchase(number, wrong=number % 3 == 0)
    words = f"{_MARK} mark{number}x{_MARK} " + " ".join(f"word{number * 31 + at * 7 % 997}" for at in range(20))
    steps = tuple(replace(step, observation=f"{step.observation}\n{words}") for step in made.steps[:1])
    return replace(
        made,
        task_id=f"{made.task_id}-{_MARK}",
        instruction=f"{made.instruction}, {_MARK}",
        steps=(*steps, *made.steps[1:]),
    )


def records(first: int, count: int) -> Iterator[Trajectory]:
    """So many records that no project has."""
    for number in range(first, first + count):
        yield replace(record(number), task_id=f"late-{number}", steps=(Step("", f"click[{number}]", "new"),))


def store_real_rows(data: Path, url: str) -> None:
    """Import, judge and review a unit of every run."""
    at_project(data, url)
    log = write_log(data / "log.jsonl", *map(record, range(UNIT)))
    for name in list_runs():
        ingest.import_file(log, name, "auto", lambda _: None)
        detect(name, ["rules", "random"], route="rules")
        _review(name)
    with writing() as session:
        for name in REVIEWERS:
            add_person(session, name, [Role.REVIEWER], now_ms())
        for name in list_runs()[:SMALL_RUNS:2]:
            runs.get(session, name).archived_ms = now_ms()
    close(url)


def _review(name: str) -> None:
    queue = review_queue()
    with reading() as session:
        run = runs.get(session, name)
        for number in range(REVIEWED):
            reviewer = REVIEWERS[number % 2]
            claim = decisions.claim_next_item(queue, session, run, reviewer, now_ms())
            if not isinstance(claim, Claim):
                raise ValueError(f"No item of {name} is left to review: {claim}")
            answer = decisions.ReviewDecision(*(("approve", "") if number % 4 == 3 else ("reject", "it is dearer")))
            decisions.submit(queue, run, claim, reviewer, answer, now_ms())


def copy_rows(url: str, size: int) -> None:
    """Copy the real rows until there are `size` trajectories."""
    share = size // (2 * SMALL_RUNS * UNIT)
    made = create_engine(url)
    with made.connect() as connection:
        sqlite = made.dialect.name == "sqlite"
        for setting in ("synchronous=OFF", "cache_size=-2000000", "foreign_keys=OFF") if sqlite else ():
            connection.exec_driver_sql(f"PRAGMA {setting}")
        if sqlite:
            driver: Any = connection.connection.driver_connection
            driver.create_function("md5", 1, lambda words: hashlib.md5(words.encode()).hexdigest(), deterministic=True)
        connection.commit()
        _copy(connection, share, sqlite=sqlite)
    with made.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        if not sqlite:
            connection.exec_driver_sql("VACUUM ANALYZE")
    made.dispose()


def _copy(connection: Connection, share: int, *, sqlite: bool) -> None:
    run = lambda statement, **values: connection.execute(text(statement), values)  # noqa: E731
    big = run("SELECT id FROM run WHERE name = :name", name=BIG).scalar_one()
    many = share * SMALL_RUNS
    run("CREATE TEMPORARY TABLE batch (number INTEGER PRIMARY KEY)")
    run(
        "INSERT INTO batch WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :last) "
        "SELECT i FROM n",
        last=max(many - 1, 1),
    )
    numbered = [name for name in _TABLES if name != "trajectory_body"]
    strides = {name: run(f"SELECT coalesce(max(id), 0) FROM {name}").scalar_one() for name in numbered}
    for name in _TABLES:
        began = time.perf_counter()
        run(f"CREATE TEMPORARY TABLE seed_{name} AS SELECT s.*, {_TABLES[name][1]} AS of_run FROM {name} s")
        columns, values = _columns(name, strides)
        run(
            f"INSERT INTO {name} ({', '.join(columns)}) SELECT {', '.join(values)} FROM batch b "
            f"CROSS JOIN seed_{name} s WHERE b.number < CASE WHEN s.of_run = :big THEN :many ELSE :share END "
            "ORDER BY b.number",
            big=big, many=many, share=share,
        )  # fmt: skip
        print(f"  {name}: {time.perf_counter() - began:.1f} s", file=sys.stderr, flush=True)
        if not sqlite and name in strides:
            run(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), (SELECT max(id) FROM {name}))")
    copies = "CASE WHEN run_id = :big THEN :many ELSE :share END"
    run(f"UPDATE log_import SET imported = imported * {copies}", big=big, many=many, share=share)
    run(f"UPDATE budget SET used = used * {copies}, halted = halted * {copies}", big=big, many=many, share=share)
    run("UPDATE budget SET cap = used + :left", left=LEFT)
    run("UPDATE run SET budget_cap = (SELECT max(cap) FROM budget b WHERE b.run_id = run.id)")
    connection.commit()


def _columns(name: str, strides: dict[str, int]) -> tuple[list[str], list[str]]:
    ids, _run, marked, unique = _TABLES[name]
    columns = [column.name for column in Table.metadata.tables[name].columns]
    values = []
    for column in columns:
        value = f"s.{column}"
        if column in ids:
            value += f" + b.number * {strides[_OWNERS.get(column, name)]}"
        elif column in marked:
            value = f"replace(s.{column}, '{_MARK}', 'batch' || CAST(b.number AS TEXT))"
        elif column == unique:
            # As even as the digests of real records.
            value = f"md5({value} || CAST(b.number AS TEXT))"
        values.append(value)
    return columns, values
