"""Trials of a live run, from the first move to the last: what runs, what is held, what is kept."""

import asyncio
import time
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlmodel import select

from console import runs
from console.actors import Actor, Move
from console.database import now_ms, reading, writing
from console.errors import BadInput, Refused, Unknown
from console.runs import maintenance
from console.runs.workers import lock_run
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.console.trials.worlds import office, players, seals_midway, sends_wrong_until_told


def executed(ledger):
    return ledger.read_text().splitlines()


def test_a_flagged_action_is_held_and_has_not_run(start_run, trial, status, ledger):
    done = start_run(players(sends_wrong_until_told, ledger))
    row, record = trial(1)
    assert (row.outcome, row.critical_action, row.label) == ("paused", "send wrong", None)
    assert [step.action for step in record.steps] == ["note a", "note b"]
    assert record.steps[0].observation == "1: you note a"
    assert done.queued == 3
    assert executed(ledger) == []
    assert status()[0]["paused"] == 3


def test_an_unflagged_action_runs_and_the_world_tells_the_outcome(start_run, trial, status, ledger):
    start_run(players(sends_wrong_until_told, ledger), threshold=1.0)
    assert trial(0)[0].outcome == "succeeded"
    assert trial(0)[0].label == "aligned"
    assert (trial(1)[0].outcome, trial(1)[0].label) == ("failed", "misaligned")
    assert trial(1)[1].gold == {"label": "misaligned", "score": 0.0}
    assert sorted(executed(ledger)) == ["letter-0|3|send 0", "letter-1|3|send wrong", "letter-2|3|send 2"]
    with reading() as session:
        intents = session.exec(select(tables.Intent)).all()
    assert all(intent.finished_ms for intent in intents)
    assert len(intents) == 3
    assert status()[0]["success_paper"] == 2


def test_an_approved_action_runs_once_with_the_decision_behind_it(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast)
    answer(lambda *_: "approve")
    done = engine.advance("run", actor_and_environments=cast)
    assert (done.delivered, done.approved, done.revealed) == (3, 3, 0)
    assert len(executed(ledger)) == 3
    assert trial(0)[0].outcome == "succeeded"
    with reading() as session:
        intent = session.exec(select(tables.Intent).where(tables.Intent.trajectory_id == trial(0)[0].id)).one()
        decision = session.exec(select(tables.Decision).where(tables.Decision.id == intent.decision_id)).one()
    assert decision.action_digest == intent.action_digest
    assert trial(0)[1].steps[-1].extra == {"decision_id": decision.id}
    engine.advance("run", actor_and_environments=cast)
    assert len(executed(ledger)) == 3


def test_a_critical_action_midway_is_held_and_the_trial_goes_on_after_it(start_run, answer, trial, ledger):
    cast = players(seals_midway, ledger)
    start_run(cast, n=1)
    assert trial(0)[0].critical_action == "seal 0"
    answer(lambda *_: "approve")
    engine.advance("run", actor_and_environments=cast)
    assert (trial(0)[0].outcome, trial(0)[0].critical_action) == ("paused", "send 0")
    answer(lambda *_: "approve")
    engine.advance("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "succeeded"
    assert executed(ledger) == ["letter-0|2|seal 0", "letter-0|4|send 0"]


@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_a_refused_action_ends_the_trial_and_never_runs(start_run, answer, trial, ledger, decision):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=2, trials=1)
    answer(lambda *_: {"decision": decision, "feedback_text": "no, send 1", "label": "misaligned"})
    for _ in range(3):
        engine.advance("run", actor_and_environments=cast)
    row, record = trial(1)
    assert (row.outcome, row.critical_action) == ("rejected", "send wrong")
    assert [step.action for step in record.steps] == ["note a", "note b"]
    assert executed(ledger) == []


def test_an_edited_action_runs_instead(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=2)
    edited = {"decision": "edit", "edited_action": "send 1"}
    answer(lambda instruction, _: edited if "1" in instruction else "approve")
    engine.advance("run", actor_and_environments=cast)
    row, record = trial(1)
    assert (row.outcome, record.steps[-1].action) == ("succeeded", "send 1")
    assert record.steps[-1].extra["instead_of"] == "send wrong"
    assert sorted(executed(ledger)) == ["letter-0|3|send 0", "letter-1|3|send 1"]


def test_an_action_runs_only_if_every_reviewer_lets_it(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=2, reviews_per_item=2)
    answer(lambda *_: "approve", reviewer="ann")
    engine.advance("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "paused"
    answer(lambda instruction, _: "approve" if "0" in instruction else "reject", reviewer="ben")
    engine.advance("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "succeeded"
    assert trial(1)[0].outcome == "rejected"
    assert executed(ledger) == ["letter-0|3|send 0"]


def test_reviewers_who_let_different_actions_run_let_none_run(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=1, reviews_per_item=2)
    answer(lambda *_: "approve", reviewer="ann")
    answer(lambda *_: {"decision": "edit", "edited_action": "send 7"}, reviewer="ben")
    engine.advance("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "rejected"
    assert executed(ledger) == []


def test_what_nobody_decides_stays_held(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast)
    answer(lambda *_: "approve", limit=1)
    engine.advance("run", actor_and_environments=cast)
    assert [trial(n)[0].outcome for n in range(3)].count("paused") == 2
    assert len(executed(ledger)) == 1


def test_a_decision_waits_until_it_can_no_longer_be_undone(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, n=1, undo_ms=60_000)
    answer(lambda *_: "approve", limit=1)
    assert engine.advance("run", actor_and_environments=cast).delivered == 0
    assert trial(0)[0].outcome == "paused"


def test_a_trial_without_result_halts_and_waits_behind_all_judged_ones(start_run, trial):
    start_run(players(lambda _: [f"note {n}" for n in range(20)]), n=1)
    row, _ = trial(0)
    assert (row.outcome, row.n_steps, row.label) == ("halted", 8, None)
    with reading() as session:
        item = session.exec(select(tables.Item)).one()
    assert (item.kind, item.priority) == ("halted", -1.0)


def test_a_percentage_cap_is_frozen_when_the_first_trial_has_stopped(start_run, status):
    def plan(view):
        return [f"note {n}" for n in range(20)] if "letter 0" in view.instruction else ["send 1"]

    assert start_run(players(plan), n=6, budget_percent=50.0).problems == []
    assert status()[0]["budget"]["cap"] == 3


def test_an_action_that_the_world_cannot_answer_ends_as_unknown_and_is_not_retried(start_run, trial):
    cast = players(lambda _: ["crash now"], critical=("crash *",))
    start_run(cast, n=1, threshold=1.0)
    row, record = trial(0)
    assert row.outcome == "error"
    assert record.extra["reason"] == "execution unknown (RuntimeError: the office is on fire)"
    assert engine.advance("run", actor_and_environments=cast).revealed == 0


def test_a_broken_detector_holds_the_action(start_run, trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start.start_run("run", {"office": 1}, actor_and_environments=cast, detector_name="full-validation")
    with writing() as session:
        run = session.exec(select(tables.Run)).one()
        run.detector = "gone"
        session.add(run)
    done = engine.resume("run", actor_and_environments=cast)
    assert done.interrupted == 1
    assert "gone" in done.problems[0]
    assert trial(0)[0].outcome == "paused"
    assert executed(ledger) == []


@pytest.mark.at_length
def test_as_many_trials_as_there_are_end_with_the_longest(start_run):
    steps, latency = 6, 0.2

    def plan(_):
        return [f"note {n}" for n in range(steps - 1)] + ["send x"]

    # The first run pays for opening the database. On a quiet machine it takes 1.1 times the longest; other tests run
    # beside this one, so the bound here only tells together (1 time) from in turn (32 times).
    start_run(players(plan), n=1)
    took = min(_measured(f"wide-{attempt}", players(plan, pause=latency)) for attempt in range(3))
    assert took <= 3 * steps * latency


def _measured(name, cast):
    start.start_run(name, {"office": 32}, actor_and_environments=cast, detector_name="full-validation")
    began = time.perf_counter()
    done = engine.resume(name, actor_and_environments=cast, concurrency=32)
    assert done.queued == 32
    return time.perf_counter() - began


def test_no_more_trials_at_once_than_allowed():
    busy, most, together = 0, 0, asyncio.Barrier(3)

    async def act(view):
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        # However busy the machine is, each waits for two others.
        await asyncio.wait_for(together.wait(), 60)
        busy -= 1
        return Move("", "send x")

    cast = ActorAndEnvironments(Actor("slow", "Slow", act, lambda _: None), {"office": office()})
    start.start_run("run", {"office": 9}, actor_and_environments=cast)
    engine.resume("run", actor_and_environments=cast, concurrency=3)
    assert most == 3


def test_only_one_engine_works_on_a_run(start_run):
    cast = players(sends_wrong_until_told)
    start_run(cast)
    with lock_run(engine.get_live_run("run")), pytest.raises(Refused, match="Another process is working on"):
        engine.advance("run", actor_and_environments=cast)


def test_trials_of_a_stopped_run_end_at_their_next_action_and_continue_later(trial, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start.start_run("run", {"office": 3}, detector_name="full-validation", actor_and_environments=cast, threshold=1.0)

    async def act(view):
        set_stopped(True)
        return await cast.actor.act(view)

    stopping = replace(cast, actor=replace(cast.actor, act=act))
    done = engine.resume("run", actor_and_environments=stopping)
    assert (done.interrupted, done.problems) == (3, ["An operator stopped the run."])
    assert {trial(n)[0].outcome for n in range(3)} == {"running"}
    assert executed(ledger) == []
    with pytest.raises(Refused, match=r"is stopped\. Let it continue first: inferact run stop run --undo"):
        engine.advance("run", actor_and_environments=cast)
    set_stopped(False)
    engine.resume("run", actor_and_environments=cast)
    assert {trial(n)[0].outcome for n in range(3)} == {"succeeded", "failed"}


def test_a_stopped_run_with_running_trials_is_deleted_when_no_process_plays_them():
    start.start_run("run", {"office": 3}, actor_and_environments=players(sends_wrong_until_told))
    with pytest.raises(Refused, match=r"3 running trials\. Stop the run first: inferact run stop run"):
        delete()
    set_stopped(True)
    with reading() as session:
        run = runs.get(session, "run")
    with lock_run(run), pytest.raises(Refused, match="Another process is working on"):
        delete()
    delete()
    with reading() as session:
        assert runs.find(session, "run") is None


def set_stopped(stopped):
    with writing() as session:
        maintenance.set_stopped(session, runs.get(session, "run"), stopped, now_ms())


def delete():
    with writing() as session:
        maintenance.delete_run(session, runs.get(session, "run"), now_ms())


def test_a_run_that_cannot_be_is_refused_in_words():
    cast = players(sends_wrong_until_told)
    with pytest.raises(Unknown, match="No environment named 'kitchen'"):
        start.start_run("run", {"kitchen": 1}, actor_and_environments=cast)
    with pytest.raises(BadInput, match="at least 1"):
        start.start_run("run", {"office": 0}, actor_and_environments=cast)
    with pytest.raises(BadInput, match="only has imported logs"):
        start.start_run("run", {"tau-bench": 1})
    with pytest.raises(BadInput, match="Use one of nl, binary, none"):
        start.start_run("run", {"office": 1}, actor_and_environments=cast, feedback_mode="loud")


def test_text_that_no_database_can_hold_is_stored_with_marks_in_its_place(start_run, trial):
    start_run(players(lambda _: ["note \ud83d half", "note \0 nothing", "send 0"]), n=1)
    assert [step.action for step in trial(0)[1].steps] == ["note ? half", "note   nothing"]


def test_an_actor_that_answers_nonsense_is_told_apart_from_the_task(start_run, trial):
    done = start_run(players(lambda _: [None]), n=1)
    assert done.interrupted == 1
    assert trial(0)[0].outcome == "running"


def test_a_database_that_fails_stops_the_round_with_its_own_error(start_run, ledger):
    def plan(view):
        with writing() as session:
            session.exec(text("DROP TABLE intent"))
        return ["send 0"]

    with pytest.raises(OperationalError, match="no such table: intent"):
        start_run(players(plan, ledger), n=1, threshold=1.0)
    assert executed(ledger) == []
