"""Pages and commands of a project of 1,000,000 trajectories, against the same of a project of 10,000.

`python tests/benchmarks/million.py FOLDER [--quick] [--database sqlite] [--only WORDS]`; the last line is the result as
JSON. The folder keeps the projects, which are built once (1,000,000 trajectories take some 15 minutes and 4 GB for
each database) and used again. Each project is measured in a process of its own; both take turns, so that other work on
the machine meets both. A page is drawn as its first visitor sees it: without what the server has kept of an earlier
drawing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.exporting import highest_mb  # noqa: E402
from tests.benchmarks.measure import Comparison, Figure, Spent, report, spend  # noqa: E402
from tests.benchmarks.million_rows import BIG, LEFT, at_project, build, opened_server, records  # noqa: E402

SMALL, LARGE, GOAL = 10_000, 1_000_000, 1.5
RARE, FREQUENT, NONE = "mark12xbatch7", "kettle", "zebra"
"""Words in one trajectory of the big run, in all of them, and in none."""
Operation = Callable[[], Callable[[], object]]
"""What prepares a piece of work and returns it."""


class Console:
    """The pages and commands of one project, in the process that is measured."""

    def __init__(self) -> None:
        from console import runs
        from tests.signing_in import signed_in

        # Earlier measurements have used some of the inspections.
        used = self._read_budget()[0][0]["used"]
        runs.set_budget(BIG, str(used + LEFT))
        self.tokens = {name: signed_in(name, role) for name, role in (("Bench", "researcher"), ("ann", "reviewer"))}
        self.pages: dict[Any, Any] = {}
        search = {"": {}, ", rare": {"search": RARE}, ", frequent": {"search": FREQUENT}, ", none": {"search": NONE}}
        self.operations: dict[str, Operation] = {
            "inbox": partial(self._page, "inbox"),
            "inbox of the run": partial(self._page, "inbox", run=BIG),
            "review": partial(self._page, "review", run=BIG),
            "runs": partial(self._page, "runs", run=BIG),
            "detectors": partial(self._page, "detectors", run=BIG),
            "my reviews": partial(self._page, "answers", run=BIG),
            "my reviews of a reviewer": partial(self._page, "answers", person="ann", run=BIG),
            "export page": partial(self._page, "export", run=BIG),
            **{
                f"trajectories{kind}": partial(self._page, "trajectories", run=BIG, **words)
                for kind, words in search.items()
            },
            "a trajectory": partial(self._page, "trajectories", run=BIG, id="12"),
            "claim and decide": lambda: self._decide,
            "budget": lambda: self._read_budget,
            "run status": lambda: self._status,
            "import of 100": self._import,
            "export of decisions, by row": lambda: self._export,
        }  # fmt: skip

    def _page(self, name: str, person: str = "Bench", **query: str) -> Callable[[], object]:
        import streamlit as st
        from streamlit.testing.v1 import AppTest

        place = (name, person, *query.items())
        if place not in self.pages:
            at = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=600)
            at.session_state["session"] = self.tokens[person]
            for key, value in query.items():
                at.query_params[key] = value
            self.pages[place] = at.switch_page(f"console/web/pages/{name}.py").run()
            if found := [one.value for one in at.exception]:
                raise ValueError(f"{name}: {found}")
        st.cache_data.clear()
        st.cache_resource.clear()
        return self.pages[place].run

    def _decide(self) -> None:
        from console import runs
        from console.database import now_ms, reading, review_queue
        from console.review import decisions
        from storage.queue import Claim

        queue = review_queue()
        with reading() as session:
            run = runs.get(session, BIG)
            claim = decisions.claim_next_item(queue, session, run, "ann", now_ms())
            if not isinstance(claim, Claim):
                raise ValueError(f"There is no item left to claim: {claim}")
            decisions.submit(queue, run, claim, "ann", decisions.ReviewDecision("reject", "dearer"), now_ms())

    def _read_budget(self) -> Any:
        from console import runs
        from console.database import reading

        with reading() as session:
            run = runs.get(session, BIG)
            return runs.budgets(session, run), runs.cap(session, run)

    def _status(self) -> object:
        from console import runs
        from console.database import reading
        from console.runs.status import run_status

        with reading() as session:
            return run_status(session, runs.get(session, BIG))

    def _import(self) -> Callable[[], object]:
        from console import runs
        from console.database import now_ms, writing
        from console.runs import ingest, maintenance
        from tests.logs import write_log

        with writing() as session:
            # Each import meets the same rows.
            for one in maintenance.list_imports(session, runs.get(session, BIG)):
                if one["file"] == "late.jsonl" and not one["undone"]:
                    maintenance.undo_import(session, one["import_id"], now_ms())
        folder = Path(tempfile.mkdtemp())
        log = write_log(folder / "late.jsonl", *records(now_ms(), 100))
        return partial(ingest.import_file, log, BIG, "auto", lambda _: None)

    def _export(self) -> int:
        from console.database import database_url
        from console.runs.export import export

        with tempfile.TemporaryDirectory() as folder:
            return export(database_url(), "decisions", BIG, Path(folder) / "decisions.csv")


def serve(data: Path, url: str) -> None:
    """Do what each line of the input names; answer with the times and the most memory that the process ever held."""
    answers, sys.stdout = sys.stdout, sys.stderr
    at_project(data, url)
    console = Console()
    for line in sys.stdin:
        told = time_of(console, line.strip()) if line.strip() else {"names": list(console.operations)}
        print(json.dumps(told | {"mb": highest_mb()}), file=answers, flush=True)


def time_of(console: Console, name: str) -> dict[str, object]:
    """The seconds of a piece of work; of an export, for each row."""
    rows: list[object] = []
    work = console.operations[name]()
    spent = spend(lambda: rows.append(work()))
    units = int(str(rows[0])) if name.endswith("by row") else 1
    return {"spent": [spent.wall / units, spent.processor / units, spent.queued / units, spent.share]}


class Project:
    """A process that has the project, and what it says."""

    def __init__(self, data: Path, url: str) -> None:
        command = [sys.executable, __file__, str(data), "--serve", url]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("INFERACT_")}
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.mb = 0.0

    def do(self, name: str) -> Spent:
        """Do it once, and return the time that it took."""
        return Spent(*self._ask(name)["spent"])

    def names(self) -> list[str]:
        """The names of all pieces of work."""
        return list(self._ask("")["names"])

    def _ask(self, line: str) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        print(line, file=self.process.stdin, flush=True)
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        self.mb = told["mb"]
        return told

    def end(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(timeout=30)


def compare(small: Project, large: Project, name: str, pairs: int) -> Comparison:
    """Do it in both projects in turn; the first pair does not count."""
    times: tuple[list[Spent], list[Spent]] = ([], [])
    for number in range(pairs + 1):
        sides = [(large, times[0]), (small, times[1])]
        for project, found in sides if number % 2 else sides[::-1]:
            found.append(project.do(name))
    return Comparison(tuple(times[0][1:]), tuple(times[1][1:]))


@contextmanager
def projects(folder: Path, database: str, sizes: tuple[int, int]) -> Iterator[list[Project]]:
    """Both projects of that database, built where they are missing."""
    with opened_server(folder, database) as url_of:
        found = []
        for size in sizes:
            data = folder / f"{database}-{size}"
            took = build(data, url_of(size), size)
            print(f"{database}, {size:,} trajectories: built in {took:.0f} s", flush=True)
            found.append(Project(data, url_of(size)))
        try:
            yield found
        finally:
            for one in found:
                one.end()


def measure(folder: Path, database: str, sizes: tuple[int, int], pairs: int, only: str) -> dict[str, Figure | float]:
    """Return the ratio of each piece of work, and the most memory of each project's process."""
    figures: dict[str, Figure | float] = {}
    with projects(folder, database, sizes) as (small, large):
        for name in small.names():
            if only in name:
                found = compare(small, large, name, pairs)
                print(found.describe(f"{database}, {name}"), flush=True)
                figures[f"{database}, {name}"] = found.elapsed()
        figures |= {f"{database}, MB of {size:,}": one.mb for size, one in zip(sizes, (small, large), strict=True)}
    return figures


def main() -> None:
    """Prints a line for each piece of work; 1 where one with a goal takes more than 1.5 times as long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="40,000 trajectories and 3 pairs instead of 7")
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), help="one of them instead of both")
    parser.add_argument("--only", default="", help="the pieces of work with these words in their names")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        serve(chosen.folder, chosen.serve)
        return
    sizes = (SMALL, 40_000 if chosen.quick else LARGE)
    pairs = chosen.pairs or (3 if chosen.quick else 7)
    figures: dict[str, Figure | float] = {}
    for database in [chosen.database] if chosen.database else ["sqlite", "postgresql"]:
        figures |= measure(chosen.folder.absolute(), database, sizes, pairs, chosen.only)
    goals = {name: ("<=", GOAL) for name in figures if " MB of " not in name}
    sys.exit(not report("million", figures, goals))


if __name__ == "__main__":
    main()
