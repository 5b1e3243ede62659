"""Figures within a source and across: what only knows how long a record is does not pass for a detector."""

from random import Random

import orjson
import pytest

from console.cli import run_command
from console.detection import batch
from console.detection.detectors.shared.stacking_model import LabelledCheckpoint
from console.detection.evaluation import across
from console.errors import Refused
from console.runs import ingest
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from tests.logs import purchase, write_log

CONTROLS = ("length-only", "steps-only", "ending-only", "speaker-only", "call-only")


def a_case(number, bad, score, steps):
    trail = tuple(Step("", "look", "x" * 10) for _ in range(steps))
    seen = Checkpoint("generic", "do it", "", trail, steps, CheckpointKind.ACTION, "", "do")
    return LabelledCheckpoint({"rules": score}, seen, bad, f"task {number}")


def a_source(seed, *, longer_is_worse, knows):
    """Forty-four cases; in one kind of source wrong records are longer, in the other shorter."""
    draw, found = Random(seed), []
    for number in range(44):
        bad = draw.random() < 0.5
        score = min(1.0, max(0.0, draw.gauss(0.7 if bad else 0.3, 0.15))) if knows else draw.random()
        found.append(a_case(number, bad, score, draw.randint(1, 8) + 6 * (bad == longer_is_worse)))
    return found


def by_name(rows):
    return {(row.detector, row.source): row for row in rows}


def test_length_shines_within_and_fails_across_while_what_knows_holds():
    sources = {f"s{n}": a_source(n, longer_is_worse=n % 2 == 0, knows=True) for n in range(2)}
    for case in (case for cases in sources.values() for case in cases):
        # Fitted before, perhaps on one of these very sources: left out.
        case.scores.update({"stacked@mine": 0.1, "rules+platt": 0.2})
    found = by_name(across.evaluate_across(sources))
    for name in sources:
        length, rules = found["steps-only", name], found["rules", name]
        assert length.within.auc > 0.85
        assert length.across.auc < 0.2
        assert length.across.at_chance
        assert rules.within.auc == rules.across.auc > 0.75
        assert not rules.across.at_chance
    assert {name for name, _ in found} == {"rules", "stacked", *CONTROLS}


@pytest.mark.at_length
def test_what_knows_nothing_is_at_chance_and_the_table_says_so():
    sources = {f"s{n}": a_source(n, longer_is_worse=True, knows=False) for n in range(2)}
    rows = across.evaluate_across(sources)
    assert by_name(rows)["rules", "s0"].across.at_chance
    cells = [row for row in across.format_cells(rows) if row["Detector"] == "rules"]
    assert all(row["Across: AUC"].endswith(", at chance") for row in cells)


@pytest.mark.at_length
def test_a_stack_is_learnt_on_the_other_sources_alone():
    sources = {f"s{n}": a_source(n, longer_is_worse=True, knows=True) for n in range(2)}
    found = by_name(across.evaluate_across(sources))
    assert found["stacked", "s0"].across.auc > 0.85
    assert found["stacked", "s0"].within is None


def test_labels_of_one_kind_are_told_and_one_source_is_refused():
    good = [a_case(number, False, 0.1, 3) for number in range(10)]
    sources = {"a": good, "b": a_source(1, longer_is_worse=True, knows=True)}
    cells = across.format_cells(across.evaluate_across(sources))
    assert any(row["Across: AUC"] == "labels of one kind" for row in cells)
    assert any(row["Across: Macro-F1"] == "too few labels" for row in cells)
    with pytest.raises(Refused, match="at least two such runs"):
        across.evaluate_across({"a": good})


@pytest.mark.at_length
def test_the_command_measures_the_runs_that_there_are(tmp_path, capsys):
    for name, start in (("first", 0), ("second", 100)):
        records = [purchase(start + n, wrong=n % 3 == 0) for n in range(12)]
        ingest.import_file(write_log(tmp_path / f"{name}.jsonl", *records), name, "auto", lambda _: None)
        batch.detect(name, ["rules", "random"])
    assert run_command(["evaluate", "--across", "--json"]) == 0
    told = orjson.loads(capsys.readouterr().out)
    assert told["sources"] == {"first": 12, "second": 12}
    assert {row["detector"] for row in told["rows"]} == {"rules", "random", "stacked", *CONTROLS}
    assert run_command(["evaluate", "first,second", "--across"]) == 0
    assert "at chance: the interval does not lie above 0.5" in " ".join(capsys.readouterr().out.split())
    assert run_command(["evaluate", "first", "--across"]) == 1
    assert "1 of the runs has labelled" in capsys.readouterr().err
