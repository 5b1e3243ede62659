"""Metrics of planning Actors: counted from what the steps keep, grouped as the papers do, beside what they print."""

import csv
from pathlib import Path

import pytest
from sqlmodel import select

from console import runs
from console.actors import Actor, Move
from console.database import reading
from console.trials import engine, start
from console.trials.planning import metrics
from console.trials.planning.training import Training
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.console.trials.worlds import office

SHARED = Path(__file__).resolve().parents[4].parent / "shared" / "paper"


@pytest.fixture
def counted(data_dir):
    """A run of two tasks, two trials each, whose steps keep counts; the second task is solved at once."""

    async def act(view):
        number, done = view.instruction.split()[-1].rstrip("."), len(view.steps)
        kept = {"introspective": {"revisions": done, "backtracks": 2 * done}}
        kept["usage"] = {"requests": 7, "prompt_tokens": 10, "completion_tokens": 1, "cost_usd": 0.5}
        moves = ["note a", "note b", "send wrong"] if number == "0" else ["send 1"]
        return Move("", moves[done], kept)

    cast = ActorAndEnvironments(Actor("introspective", "Test", act, act), {"office": office()})
    start.start_run("run", {"office": 2}, actor_and_environments=cast, feedback_mode="none", trials=2)
    for _ in range(2):
        engine.advance("run", actor_and_environments=cast)


def test_the_figures_of_a_run_are_means_over_its_tasks_and_trials(counted):
    with reading() as session:
        run = runs.get(session, "run")
        found = {name: one.value for name, one in metrics.compute_figures(session, run).items()}
        spent = metrics.get_run_usage(session, run)
    assert found["success_rate"] == 50.0
    assert found["actions_first_trial"] == found["actions_last_trial"] == 2.0
    assert found["plan_revisions"] == pytest.approx((2 + 2 + 0) / 3)
    assert found["backtracks"] == pytest.approx((4 + 4 + 0) / 3)
    assert (
        spent == {"requests": 49, "prompt_tokens": 70, "completion_tokens": 7, "cost_usd": 3.5}
        or spent["requests"] >= 49
    )


def test_an_empty_run_has_no_figures(data_dir):
    with reading() as session:
        assert (
            metrics.compute_figures(session, tables.Run(id=99, name="x", kind="live", environment=""))[
                "success_rate"
            ].value
            is None
        )


@pytest.mark.at_length
def test_success_by_training_is_over_the_seeds(learnt):
    for seed in (0, 1):
        learnt(f"house-{seed}", Training("office", batch=2, iterations=2, pool=4, seed=seed))
    learnt("bare", Training("office", batch=2, iterations=1, pool=4, flaw=False, revision=False), tests=2)
    with reading() as session:
        bare, whole = metrics.list_trained_plans(session)
    assert (whole.batch, whole.flaw, whole.revision, whole.seeds, whole.tasks) == (2, True, True, 2, 6)
    assert (whole.success, whole.sd) == (pytest.approx(1 / 3), pytest.approx(0.0))
    assert (bare.flaw, bare.seeds, bare.sd, bare.success) == (False, 1, None, 0.5)
    assert whole.usd_training is None


def test_a_training_is_counted_with_its_trials_reflections_and_updates(learnt):
    learnt(tests=0)
    with reading() as session:
        plan = select(tables.PlanVersion).order_by(tables.PlanVersion.version.desc())
        spent = metrics.get_training_usage(session, session.exec(plan).first())
    assert spent["requests"] == 3 * 4 + (2 * 2 + 1) + (2 * 3 + 1)


def test_what_the_paper_prints_stands_beside_ones_own(counted):
    with reading() as session:
        table = metrics.build_overlay(metrics.compute_figures(session, runs.get(session, "run")), "plan_revisions")
    assert set(table["source"]) == {"here", "Devil's Advocate paper"}
    printed = table.set_index("detector")["value"]
    assert printed["anticipatory_reflection"] == 0.64
    assert printed["plan+act"] == 2.03


def test_autoplan_is_laid_over_the_tasks_that_the_paper_has():
    heat = "pick_heat_then_place_in_recep"
    rows = [metrics.TrainedPlan("alfworld", heat, 4, True, True, 10, 200, 0.9, 0.1, None, None)]
    table = metrics.build_autoplan_overlay(rows, "alfworld", heat).set_index("detector")
    assert table.loc["AutoPlan", "value"] == 96
    assert table.loc["autoplan, batch 4", "value"] == 90.0
    assert metrics.build_autoplan_overlay(rows, "alfworld", "other").empty
    assert metrics.build_autoplan_overlay([], "hotpotqa", "").set_index("detector").loc["AutoPlan", "value"] == 83


@pytest.mark.parametrize("name", ["devils_advocate_webarena.csv", "autoplan_alfworld.csv", "autoplan_hotpotqa.csv"])
def test_the_printed_figures_are_those_of_the_papers(name):
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is not there")
    assert metrics.read_published_rows(name) == list(csv.DictReader((SHARED / name).read_text().splitlines()))
