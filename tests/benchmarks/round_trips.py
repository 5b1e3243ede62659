"""What each export brings back: the real logs and the samples, exported and imported again.

`python -m tests.benchmarks.round_trips [FOLDER]` imports every log in FOLDER (`../shared/data/logs`) and every sample,
exports each as canonical JSONL, OpenAI messages, OTLP and an Inspect log, imports those files, and compares: tasks,
trials, environments, instructions, outcomes, labels, thoughts, calls with arguments, results, answers and pictures. A
line per way out says how many logs are identical, and in which aspects the others differ.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlmodel import select

from console.database import database_url, reading
from console.runs import export, ingest
from console.trajectory import Step, Trajectory, from_json
from storage import tables
from tests.benchmarks.coverage import logs
from tests.real_logs import calls_of, plain

_NOT_IN_A_NAME = re.compile(r"[^\w .-]+")
WAYS = {
    "trajectories": ("jsonl", "jsonl", ()),
    "openai-messages": ("jsonl", "openai-messages", ("gold", "ids")),
    "otlp": ("jsonl", "otel", ("gold",)),
    "inspect": ("eval", "inspect", ("gold",)),
}
"""(suffix, format of the import, options) of each way out."""


def trajectories(run: str) -> list[Trajectory]:
    """Return the trajectories of a run in the order of their import."""
    body, record, held = tables.TrajectoryBody, tables.Trajectory, tables.Run
    with reading() as session:
        statement = (
            select(body.body)
            .join(record, record.id == body.trajectory_id)
            .join(held, held.id == record.run_id)
            .where(held.name == run)
            .order_by(record.id)
        )
        return [from_json(text) for text in session.exec(statement)]


def aspects(one: Trajectory) -> dict[str, Any]:
    """Return what a way out should bring back, by aspect."""
    steps = [step for step in one.steps if step.thought or step.action or step.observation]
    return {
        "task": one.task_id,
        "trial": one.trial,
        "environment": one.environment,
        "instruction": one.instruction,
        "opening": " ".join(one.opening.split()),
        "outcome": str(one.outcome),
        "label": str(one.label),
        "thoughts": " ".join(" ".join(step.thought for step in steps).split()),
        "calls": [call for step in steps for call in calls_of(step)],
        "results": [text for step in steps if (text := step.observation.strip())],
        "answers": [_said(step) for step in steps if step.action.startswith("respond(")],
        "pictures": [picture.digest for step in steps for picture in step.pictures],
    }


def _said(step: Step) -> str:
    return step.action.strip()


def differing(before: list[Trajectory], after: list[Trajectory]) -> list[str]:
    """Return the aspects in which two imports differ; `number` if a trajectory is missing or one too many.

    The trials of the tasks are compared in one order, because an Inspect log has an order of its own.
    """
    if len(before) != len(after):
        return [f"number ({len(before)} -> {len(after)})"]
    both = [sorted(all, key=lambda one: (one.task_id, one.trial)) for all in (before, after)]
    pairs = [(aspects(one), aspects(other)) for one, other in zip(*both, strict=True)]
    return [name for name in aspects(before[0]) if any(plain(a[name]) != plain(b[name]) for a, b in pairs)]


def try_log(name: str, content: bytes, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield (way out, aspects that differ) for a log, in runs of its own; nothing for a log that is refused."""
    path = folder / name.replace("sample ", "").replace("/", "-")
    path.write_bytes(content)
    report = ingest.import_file(path, f"{name} in", "auto", lambda _: None)
    if report.rejected:
        return
    before = trajectories(f"{name} in")
    for way, (suffix, format, asked_for) in WAYS.items():
        if way == "inspect" and find_spec("inspect_ai") is None:
            continue
        out, back = folder / f"out.{suffix}", f"{name} {way}"
        if way == "trajectories":
            export.export(database_url(), way, f"{name} in", out)
        else:
            export.export_layout(database_url(), way, f"{name} in", out, asked_for)
        reports = ingest.import_files(out, back, format, lambda _: None)
        broken = next((one["reason"] for told in reports for one in told.rejected), "")
        yield way, [f"refused: {broken[:120]}"] if broken else differing(before, trajectories(back))


def main(folder: str = "../shared/data/logs") -> None:
    """Print the table, and each log that differs."""
    same, tried, names = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory() as home:
        os.environ["INFERACT_DATA_DIR"] = home
        for number, (name, content) in enumerate(logs(Path(folder))):
            inner = Path(home) / f"log {number}"
            inner.mkdir()
            for way, differs in try_log(_NOT_IN_A_NAME.sub("-", name)[:60], content, inner):
                tried[way] += 1
                same[way] += not differs
                names.update((way, one.partition(" ")[0]) for one in differs)
                if differs:
                    print(f"{way:16} {name:50} {', '.join(differs)[:150]}")
    for way in WAYS:
        most = ", ".join(f"{one} ({count})" for (which, one), count in names.most_common() if which == way)
        print(f"{way}: {same[way]} of {tried[way]} identical; {most}")


if __name__ == "__main__":
    main(*sys.argv[1:])
