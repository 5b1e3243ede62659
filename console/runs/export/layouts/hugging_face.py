"""A zipped Hugging Face `datasets` folder: trajectories and decisions as Parquet, and a dataset card of the run."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_STORED, ZipFile

import pyarrow as pa
import yaml

from console.runs.export.formats import array_of, store_row_groups
from console.runs.export.layouts.parts.layout import Layout, RunRecords
from console.trajectory.checkpoints import checkpoint_at
from storage import tables

_AT_ONCE = 100
_STEP = pa.struct([("thought", pa.string()), ("action", pa.string()), ("observation", pa.string())])
_TRAJECTORY = pa.schema(
    [(name, pa.string()) for name in ("task_id", "environment", "instruction", "opening")]
    + [("trial", pa.int64()), ("steps", pa.list_(_STEP))]
    + [(name, pa.string()) for name in ("critical_action", "outcome", "gold_label")]
)
_ANSWER = pa.schema(
    [("task_id", pa.string()), ("trial", pa.int64()), ("step", pa.int64())]
    + [(name, pa.string()) for name in ("checkpoint", "action", "reviewer", "decision", "label", "words")]
    + [("edited_action", pa.string())]
)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write(source: RunRecords, stream: BinaryIO) -> int:
    """Write the zipped folder; return the number of trajectories."""
    counts: Counter[str] = Counter()
    tables = (("trajectories", _TRAJECTORY, _trajectories), ("answers", _ANSWER, _answers))
    with tempfile.TemporaryDirectory() as folder, ZipFile(stream, "w", ZIP_STORED) as archive:
        for name, schema, rows in tables:
            path = Path(folder, f"{name}.parquet")
            store_row_groups(schema, _batches(rows(source, counts), schema), path)
            archive.write(path, f"data/{name}.parquet")
        archive.writestr("README.md", _card(source, counts))
    return counts["trajectories"]


def _batches(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[list[pa.Array]]:
    while some := list(islice(rows, _AT_ONCE)):
        yield [array_of([row[field.name] for row in some], field.type) for field in schema]


def _trajectories(source: RunRecords, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    has_gold = "gold" in source.asked_for
    for record in (one.record for one in source.reviewed()):
        counts["trajectories"] += 1
        counts["steps"] += len(record.steps)
        counts[f"trial {record.trial}"] += 1
        if has_gold:
            counts[f"gold label {record.label or 'missing'}"] += 1
        yield {
            **{name: getattr(record, name) for name in ("task_id", "environment", "instruction", "opening", "trial")},
            "steps": [{"thought": s.thought, "action": s.action, "observation": s.observation} for s in record.steps],
            "critical_action": record.critical_action,
            "outcome": str(record.outcome) if has_gold else None,
            "gold_label": str(record.label) if has_gold and record.label else None,
        }


def _answers(source: RunRecords, counts: Counter[str]) -> Iterator[dict[str, Any]]:
    answers = ((one.record, given) for one in source.reviewed() for given in one.answers)
    for record, given in answers:
        counts["answers"] += 1
        counts[f"answer {given.decision}"] += 1
        counts[f"label of a reviewer {given.label or 'missing'}"] += 1
        yield {
            "task_id": record.task_id,
            "trial": record.trial,
            "step": given.step + 1,
            "checkpoint": str(given.kind),
            "action": checkpoint_at(record, given.step, given.kind).action,
            "reviewer": given.reviewer,
            "decision": given.decision,
            "label": given.label,
            "words": given.words,
            "edited_action": given.edited_action,
        }


def _card(source: RunRecords, counts: Counter[str]) -> str:
    size = next((name for most, name in _SIZES if counts["trajectories"] < most), "n>1M")
    configs = [
        {"config_name": name, "data_files": f"data/{name}.parquet", **({"default": True} if not place else {})}
        for place, name in enumerate(("trajectories", "answers"))
    ]
    head = {"license": source.licence, "pretty_name": source.run.name, "size_categories": [size], "configs": configs}
    kinds = "\n".join(f"- {name}: {number}" for name, number in counts.items())
    return (
        f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n# {source.run.name}\n\n"
        f"Trajectories of an LLM agent with the decisions of reviewers on its critical actions.\n\n"
        f"## What it holds\n\n{kinds}\n\n## How reviewers were instructed\n\n{_instructions(source.run)}\n\n"
        f"## What was left out\n\n{_left_out(source)}\n"
    )


def _instructions(run: tables.Run) -> str:
    feedback = "possible" if run.feedback_mode == "nl" else "not possible"
    told = [
        "Reviewers saw the task, the steps before a critical action and the action itself, but nothing after it.",
        "They were asked to approve the action if it does what the user asked, and otherwise to reject it; "
        f"feedback to the agent was {feedback}.",
        "Gold labels, outcomes and the decisions of others were hidden."
        if run.blind
        else "The run was not blind: reviewers could see the decisions of others.",
        f"Each action needed {run.reviews_per_item} {'review' if run.reviews_per_item == 1 else 'reviews'}.",
    ]
    return " ".join(told)


def _left_out(source: RunRecords) -> str:
    gone = {
        "gold": "Gold labels and outcomes.",
        "names": "The names of reviewers; they are numbered in order of their first decisions.",
        "simulated": "Decisions of simulated reviewers.",
    }
    found = [f"- {words}" for name, words in gone.items() if name not in source.asked_for]
    return "\n".join([*found, "- Source and further fields of the logs, and memories of earlier trials."])


LAYOUT = Layout(
    "Hugging Face datasets folder", "trajectories", "zip", "application/zip", write, ("gold", "names", "simulated")
)
