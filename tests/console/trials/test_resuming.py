"""A run that stopped anywhere goes on from what is written, or says why it cannot."""

from dataclasses import replace

import pytest
from sqlalchemy import insert, update
from sqlmodel import col, select

from console.actors import ACTORS
from console.database import now_ms, reading, writing
from console.trajectory.checkpoints import digest
from console.trials import apply_decisions, engine, start
from console.trials.round import Advance
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.console.trials.worlds import players, seals_midway, sends_wrong_until_told
from tests.sweeps import sweep


def flaky(cast, fails_at):
    """The same players, but the model cannot be reached once so many steps are done."""

    async def act(view):
        if len(view.steps) == fails_at:
            raise ConnectionError("the endpoint is away")
        return await cast.actor.act(view)

    return replace(cast, actor=replace(cast.actor, act=act))


def change(trial_id, **values):
    """Sets columns of a trajectory as a killed process would have left them."""
    with writing() as session:
        record = tables.Trajectory
        session.execute(update(record).where(col(record.id) == trial_id).values(**values))


def test_a_model_that_fails_leaves_the_trial_to_be_taken_up(start_run, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    done = start_run(flaky(cast, 2), n=2, threshold=1.0)
    assert done.interrupted == 2
    assert done.problems == ["The Actor planner failed (ConnectionError: the endpoint is away)."]
    assert (trial(0)[0].outcome, trial(0)[0].n_steps) == ("running", 2)
    engine.resume("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "succeeded"
    assert [step.action for step in trial(0)[1].steps] == ["note a", "note b", "send 0"]
    assert sorted(ledger.read_text().splitlines()) == ["letter-0|3|send 0", "letter-1|3|send wrong"]


def test_an_executed_action_midway_is_not_executed_again(start_run, answer, trial, ledger):
    cast = players(seals_midway, ledger)
    start_run(cast, n=1)
    answer(lambda *_: "approve")
    engine.advance("run", actor_and_environments=flaky(cast, 3))
    assert (trial(0)[0].outcome, trial(0)[0].n_steps) == ("running", 2 + 1)
    engine.resume("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "paused"
    assert ledger.read_text().splitlines() == ["letter-0|2|seal 0"]


@pytest.mark.parametrize("field", ["observation", "opening"])
def test_a_world_that_answers_otherwise_than_recorded_is_refused(start_run, trial, field):
    cast = players(sends_wrong_until_told)
    start_run(flaky(cast, 2), n=1)
    row, record = trial(0)
    if field == "opening":
        changed = replace(record, opening="You are at the beach.")
    else:
        changed = replace(record, steps=(replace(record.steps[0], observation="a dog barks"), *record.steps[1:]))
    with writing() as session:
        body = session.get(tables.TrajectoryBody, row.id)
        body.body = changed.to_json()
        session.add(body)
    engine.resume("run", actor_and_environments=cast)
    row, record = trial(0)
    assert row.outcome == "error"
    assert "recorded" in record.extra["reason"]
    with reading() as session:
        assert session.exec(select(tables.Event).where(tables.Event.kind == "trial error")).one()


def test_a_world_that_cannot_be_rebuilt_is_refused(start_run, trial):
    cast = players(sends_wrong_until_told, replayable=False)
    start_run(flaky(cast, 2), n=1)
    engine.resume("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "error"
    assert "cannot repeat recorded steps" in trial(0)[1].extra["reason"]


def test_an_intent_without_result_is_never_tried_again(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=1)
    row, _ = trial(0)
    answer(lambda *_: "approve")
    intent = {"trajectory_id": row.id, "step": 2, "action": "send 0", "action_digest": digest("send 0")}
    with writing() as session:
        session.execute(insert(tables.Intent), [{**intent, "started_ms": now_ms()}])
    change(row.id, outcome="running")
    done = engine.advance("run", actor_and_environments=cast)
    assert done.unknown == 1
    row, record = trial(0)
    assert (row.outcome, record.extra["reason"]) == ("error", "execution unknown")
    engine.advance("run", actor_and_environments=cast)
    assert ledger.read_text() == ""


class Killed(BaseException):
    """What ends an engine without any of its own handling."""


class Dying:
    """The office, whose process dies in its first letter, after the letter was sent."""

    lives = 1

    def __init__(self, world):
        self._world, self.reset = world, world.reset

    def step(self, action):
        told = self._world.step(action)
        if action.startswith("send") and Dying.lives:
            Dying.lives -= 1
            raise Killed
        return told


@sweep("decision", ["approve", "edit", None], kept=1)
@pytest.mark.parametrize("is_in_process", [True, False])
def test_an_action_cut_off_by_a_crash_runs_again_only_in_a_world_that_died_with_it(
    start_run, answer, trial, is_in_process, decision
):
    cast = players(sends_wrong_until_told, is_in_process=lambda task: is_in_process)
    where = cast.environments["office"]
    dying = {"office": replace(where, start=lambda task: Dying(where.start(task)))}
    cast, Dying.lives = replace(cast, environments=dying), 1
    if decision:
        start_run(cast, n=1)
        edited = {"edited_action": "send 0 now", "feedback_text": "now"} if decision == "edit" else {}
        answer(lambda *_: {"decision": decision, **edited})
        with pytest.raises(BaseExceptionGroup):
            engine.advance("run", actor_and_environments=cast)
    else:
        start.start_run("run", {"office": 1}, actor_and_environments=cast, feedback_mode="none")
        with pytest.raises(BaseExceptionGroup):
            engine.resume("run", actor_and_environments=cast)
    done = engine.resume("run", actor_and_environments=cast)
    row, record = trial(0)
    if not is_in_process:
        assert (done.unknown, row.outcome, record.extra["reason"]) == (1, "error", "execution unknown")
        return
    last = "send 0 now" if decision == "edit" else "send 0"
    assert (done.unknown, row.outcome, record.steps[-1].action) == (0, "succeeded", last)
    assert record.steps[-1].thought == "step 2"
    assert ("decision_id" in record.steps[-1].extra) is bool(decision)
    assert not [name for name in record.extra if name.startswith("pending")]
    with reading() as session:
        intents = session.exec(select(tables.Intent)).all()
        undone = session.exec(select(tables.Event).where(tables.Event.kind == "action undone by a crash")).one()
    assert [one.action for one in intents if one.finished_ms] == [last]
    assert len(intents) == 1
    assert '"action": "' + last in undone.detail.replace('":"', '": "')


def test_an_action_held_before_it_was_judged_is_judged_on_resume(start_run, trial):
    cast = players(sends_wrong_until_told)
    start_run(cast, n=1)
    with writing() as session:
        for table in (tables.Item, tables.Verdict):
            for row in session.exec(select(table)):
                session.delete(row)
            session.flush()
    assert engine.resume("run", actor_and_environments=cast).queued == 1
    with reading() as session:
        item = session.exec(select(tables.Item)).one()
    assert (item.step, item.status) == (2, "pending")


def test_an_action_judged_harmless_before_the_crash_runs_on_resume(start_run, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=1)
    with writing() as session:
        session.delete(session.exec(select(tables.Item)).one())
        session.flush()
        verdict = session.exec(select(tables.Verdict)).one()
        verdict.flagged = False
        session.add(verdict)
    engine.resume("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "succeeded"
    assert len(ledger.read_text().splitlines()) == 1


def test_delivered_but_not_yet_settled_is_settled_on_resume(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=2)
    answer(lambda instruction, _: "approve" if "0" in instruction else "reject")
    apply_decisions.deliver_decisions(engine.get_live_run("run"), Advance())
    done = engine.resume("run", actor_and_environments=cast)
    assert (done.approved, done.rejected) == (1, 1)
    assert (trial(0)[0].outcome, trial(1)[0].outcome) == ("succeeded", "rejected")
    assert ledger.read_text().splitlines() == ["letter-0|3|send 0"]


def test_a_halted_trial_that_was_not_queued_is_queued_on_resume(start_run, trial):
    cast = players(lambda _: [f"note {n}" for n in range(20)])
    start_run(cast, n=1)
    with writing() as session:
        session.delete(session.exec(select(tables.Item)).one())
    assert engine.resume("run", actor_and_environments=cast).queued == 1


def test_a_run_that_was_made_and_never_played_begins(trial):
    cast = players(sends_wrong_until_told)
    start.start_run("run", {"office": 1}, actor_and_environments=cast, detector_name="full-validation")
    assert trial(0)[0].outcome == "running"
    engine.resume("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "paused"
    assert trial(0)[1].opening == "You are in the office. Send letter 0."


@pytest.mark.at_length
def test_a_trial_that_was_made_just_before_the_crash_gets_its_budget(start_run, answer, trial, status):
    cast = players(sends_wrong_until_told)
    start_run(cast, n=2, budget_cap=1, concurrency=1)
    answer(lambda *_: {"decision": "reject", "feedback_text": "send 0"})
    engine.advance("run", actor_and_environments=flaky(cast, 0))
    with writing() as session:
        session.delete(session.exec(select(tables.Budget).where(tables.Budget.trial == 1)).one())
    engine.resume("run", actor_and_environments=cast)
    assert trial(0, 1)[0].outcome == "paused"
    assert status()[1]["budget"]["cap"] == 1


@pytest.mark.at_length
def test_in_the_embedded_environments_an_interrupted_trial_ends_as_an_uninterrupted_one():
    cast, counts = ActorAndEnvironments(ACTORS["scripted"]), {"webshop": 4, "hotpotqa": 4, "alfworld": 4}
    for name in ("whole", "broken"):
        start.start_run(name, counts, actor_and_environments=cast, feedback_mode="none", seed=3)
    engine.resume("whole", actor_and_environments=cast)
    for step in range(0, 50, 4):
        engine.resume("broken", actor_and_environments=flaky(cast, step))
    engine.resume("broken", actor_and_environments=cast)
    assert records("broken") == records("whole")
    assert len(records("whole")) == 12


def records(name):
    """What was done in each trial of a run, in the order of the tasks."""
    body, record = tables.TrajectoryBody, tables.Trajectory
    statement = (
        select(body.body)
        .join(record, col(record.id) == body.trajectory_id)
        .join(tables.Run, col(tables.Run.id) == record.run_id)
        .where(tables.Run.name == name)
        .order_by(col(record.id))
    )
    with reading() as session:
        return list(session.exec(statement))
