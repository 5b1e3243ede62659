"""Detection on runs that judge each action before it runs: the queue, the settings and those verdicts stay."""

import pytest
from sqlalchemy import text
from sqlmodel import select

from console.cli import run_command
from console.database import reading
from console.detection import batch
from console.detection.detectors import DETECTORS, Detector, Verdict
from console.gate import Gate
from console.gate.checks import Wait
from console.trials import engine, start
from storage import tables
from tests.console.trials.worlds import players, sends_wrong_until_told
from tests.sweeps import sweep

STEPS = [("look[bills]", "three bills")]


@pytest.fixture
def gate_run():
    """A gate run with eight questions, of which those that `random` scores above 0.3 wait for a person."""
    gate = Gate("gate", "random", ["pay*"], threshold=0.3, undo_s=0)
    found = [gate.ask("Pay the bills.", STEPS, f"pay[{number}]", task_id=str(number)) for number in range(8)]
    assert {isinstance(one, Wait) for one in found} == {True, False}
    return "gate"


@pytest.fixture
def live_run(tmp_path):
    """A live run of three letters, every one of them held."""
    ledger = tmp_path / "executions.txt"
    ledger.touch()
    cast = players(sends_wrong_until_told, ledger)
    start.start_run(
        "live",
        {"office": 3},
        actor_and_environments=cast,
        detector_name="full-validation",
        feedback_mode="nl",
        undo_ms=0,
    )
    engine.resume("live", actor_and_environments=cast)
    return "live"


@pytest.fixture(params=["gate_run", "live_run"])
def run_name(request):
    """One of the two."""
    return request.getfixturevalue(request.param)


def stored(run_name):
    """Everything that decides what runs, as text: the run, its routing verdicts, items, budgets and questions."""
    with reading() as session:
        run = session.exec(select(tables.Run).where(tables.Run.name == run_name)).one()
        routed = f"SELECT * FROM verdict WHERE run_id = {run.id} AND detector = '{run.detector}'"
        rest = [f"SELECT * FROM {table}" for table in ("item", "budget", "ledger", "slot", "ask", "intent")]
        found = [session.execute(text(one)).all() for one in (f"SELECT * FROM run WHERE id = {run.id}", routed, *rest)]
    return str(found)


@sweep("methods", [["direct-flag"], ["random"], ["full-validation"], ["rules", "random"]])
def test_detection_leaves_queue_settings_and_routing_verdicts_as_they_are(run_name, methods, monkeypatch):
    monkeypatch.setitem(DETECTORS, "direct-flag", Detector("direct-flag", "", lambda _one, _seed: Verdict(1.0)))
    before = stored(run_name)
    batch.detect(run_name, methods)
    assert stored(run_name) == before


def test_other_detectors_judge_beside_it_with_their_own_seed_and_threshold(run_name):
    before = stored(run_name)
    (report,) = batch.detect(run_name, ["rules"], threshold=0.9, seed=7)
    assert report.judged == report.checkpoints > 0
    assert not report.routing
    assert report.queued == 0
    assert stored(run_name) == before


def test_a_routing_detector_that_would_judge_otherwise_today_is_not_asked_again(run_name, monkeypatch):
    before = stored(run_name)
    name = "random" if run_name == "gate" else "full-validation"
    changed = Detector(name, "", lambda _one, _seed: Verdict(0.0), threshold=DETECTORS[name].threshold, seeded=True)
    monkeypatch.setitem(DETECTORS, name, changed)
    (report,) = batch.detect(run_name, [name])
    assert (report.judged, report.cached) == (0, report.checkpoints)
    assert stored(run_name) == before


@sweep(
    ("options", "said"),
    [
        (["--method", "rules", "--route", "rules"], "--route cannot name another"),
        (["--method", "{routing}", "--threshold", "0.77"], "Omit --threshold and --seed"),
        (["--method", "rules,{routing}", "--seed", "9"], "Omit --threshold and --seed"),
    ],
    kept=2,
)
def test_what_would_change_the_routing_is_refused_in_one_sentence(run_name, options, said, capsys):
    routing = "random" if run_name == "gate" else "full-validation"
    before = stored(run_name)
    assert run_command(["detect", run_name, *(option.format(routing=routing) for option in options)]) == 1
    assert said in capsys.readouterr().err
    assert stored(run_name) == before
