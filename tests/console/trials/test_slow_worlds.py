"""Worlds that are slow, away or hung: other trials go on, and nothing runs twice or without being known."""

import threading
from collections import Counter
from dataclasses import replace

import pytest
from sqlmodel import select

from console.database import reading
from console.environments.environment import TaskSpec, WorldUnavailable
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.console.trials.worlds import Office, actor, office, players, seals_midway, sends_wrong_until_told

PATIENCE_S = 20.0


def named(environment, name):
    """The environment under another name, with tasks of its own."""

    def tasks(seed, count):
        return [TaskSpec(f"{name}-{n}", name, f"Send letter {n}.", {"answer": str(n)}) for n in range(count)]

    return replace(environment, name=name, tasks=tasks)


def start_both(slow, fast, counts, concurrency):
    """Plays a run in both environments, without inspections."""
    cast = ActorAndEnvironments(actor(seals_midway), {"slow": named(slow, "slow"), "fast": named(fast, "fast")})
    start.start_run("run", counts, actor_and_environments=cast, feedback_mode="none", trials=1)
    return engine.resume("run", actor_and_environments=cast, concurrency=concurrency)


def outcomes():
    """The outcomes of all trials by the first word of the task's key."""
    record, task = tables.Trajectory, tables.Task
    with reading() as session:
        found = session.exec(select(task.task_key, record.outcome).join(task, task.id == record.task_id)).all()
    return Counter((key.split("-")[0], outcome) for key, outcome in found)


def test_fast_trials_end_while_a_slow_world_still_thinks(data_dir):
    ended, all_fast = [], threading.Event()

    class Slow(Office):
        def step(self, action):
            assert all_fast.wait(PATIENCE_S), "the fast trials wait for the slow world"
            return super().step(action)

    class Fast(Office):
        def step(self, action):
            result = super().step(action)
            if result[2]:
                ended.append(action)
            if len(ended) == 6:
                all_fast.set()
            return result

    slow = office(start=lambda task: Slow(task, None))
    done = start_both(slow, office(start=lambda task: Fast(task, None)), {"slow": 1, "fast": 6}, 2)
    assert not done.problems
    assert outcomes() == {("slow", "succeeded"): 1, ("fast", "succeeded"): 6}


def test_a_world_that_sets_itself_up_slowly_holds_up_nobody(data_dir):
    ended = threading.Event()

    class Slow(Office):
        def reset(self, **options):
            assert ended.wait(PATIENCE_S), "the fast trial waits for the slow world"
            return super().reset(**options)

    class Fast(Office):
        def step(self, action):
            result = super().step(action)
            if result[2]:
                ended.set()
            return result

    slow = office(start=lambda task: Slow(task, None))
    start_both(slow, office(start=lambda task: Fast(task, None)), {"slow": 1, "fast": 1}, 2)
    assert outcomes() == {("slow", "succeeded"): 1, ("fast", "succeeded"): 1}


def test_an_environment_limits_its_worlds_and_leaves_the_other_places_to_others(data_dir):
    """Four slow trials and two places for them: with four places in all, two are left for the fast trials."""
    open_worlds, most, gate = set(), [], threading.Event()
    lock, ended = threading.Lock(), []

    class Slow(Office):
        def reset(self, **options):
            with lock:
                open_worlds.add(id(self))
                most.append(len(open_worlds))
            assert gate.wait(PATIENCE_S), "slow trials took every place"
            return super().reset(**options)

        def close(self):
            with lock:
                open_worlds.discard(id(self))

    class Fast(Office):
        def step(self, action):
            result = super().step(action)
            if result[2]:
                ended.append(action)
            if len(ended) == 3:
                gate.set()
            return result

    slow = office(start=lambda task: Slow(task, None), most_worlds=2)
    start_both(slow, office(start=lambda task: Fast(task, None)), {"slow": 4, "fast": 3}, 4)
    assert max(most) == 2
    assert outcomes() == {("slow", "succeeded"): 4, ("fast", "succeeded"): 3}


def failing(ledger, words, failure, times=1):
    """An office that fails at an action that begins with these words, so many times."""
    left = [times]

    class Failing(Office):
        def step(self, action):
            if action.startswith(words) and left[0]:
                left[0] -= 1
                raise failure
            return super().step(action)

    return {"start": lambda task: Failing(task, ledger)}


def test_a_world_that_is_away_leaves_the_trial_to_be_taken_up(start_run, trial, ledger):
    away = failing(ledger, "note b", WorldUnavailable("connection refused", is_sent=False))
    cast = players(sends_wrong_until_told, ledger, **away)
    done = start_run(cast, n=1, threshold=1.0)
    assert (done.interrupted, done.problems) == (1, ["Office is unavailable (connection refused)."])
    assert (trial(0)[0].outcome, trial(0)[0].n_steps) == ("running", 1)
    engine.resume("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "succeeded"
    assert ledger.read_text().splitlines() == ["letter-0|3|send 0"]


def intents():
    with reading() as session:
        return [(one.action, one.finished_ms is not None) for one in session.exec(select(tables.Intent)).all()]


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "not flagged"])
def test_a_critical_action_that_never_left_is_paused_and_runs_once_later(start_run, answer, trial, ledger, approved):
    away = failing(ledger, "send", WorldUnavailable("connection refused", is_sent=False))
    cast = players(sends_wrong_until_told, ledger, **away)
    done = start_run(cast, n=1, threshold=0.5 if approved else 1.0)
    if approved:
        answer(lambda *_: "approve")
        done = engine.advance("run", actor_and_environments=cast)
    assert done.interrupted == 1
    assert (trial(0)[0].outcome, trial(0)[0].critical_action) == ("paused", "send 0")
    assert intents() == []
    engine.advance("run", actor_and_environments=cast)
    assert trial(0)[0].outcome == "succeeded"
    assert intents() == [("send 0", True)]
    assert ledger.read_text().splitlines() == ["letter-0|3|send 0"]


def test_an_edited_action_that_never_left_is_held_as_the_agent_made_it(start_run, answer, trial, ledger):
    away = failing(ledger, "send", WorldUnavailable("connection refused", is_sent=False))
    cast = players(sends_wrong_until_told, ledger, **away)
    start_run(cast, n=2)
    answer(lambda instruction, _: {"decision": "edit", "edited_action": "send 1"} if "1" in instruction else "reject")
    engine.advance("run", actor_and_environments=cast)
    assert (trial(1)[0].outcome, trial(1)[0].critical_action) == ("paused", "send wrong")
    engine.advance("run", actor_and_environments=cast)
    assert (trial(1)[0].outcome, trial(1)[1].steps[-1].extra["instead_of"]) == ("succeeded", "send wrong")
    assert ledger.read_text().splitlines() == ["letter-1|3|send 1"]


def test_a_critical_action_that_may_have_run_is_never_repeated(start_run, answer, trial, ledger):
    cast = players(sends_wrong_until_told, ledger, **failing(ledger, "send", WorldUnavailable("connection reset")))
    start_run(cast, n=1)
    answer(lambda *_: "approve")
    for _ in range(2):
        engine.advance("run", actor_and_environments=cast)
    row, record = trial(0)
    assert (row.outcome, record.extra["reason"]) == ("error", "execution unknown (connection reset)")
    assert ledger.read_text() == ""


@pytest.mark.parametrize(("words", "outcome"), [("note b", "running"), ("send", "error")])
def test_a_world_that_never_answers_is_left_after_its_time(start_run, trial, ledger, words, outcome):
    released = threading.Event()

    class Hung(Office):
        def step(self, action):
            if action.startswith(words):
                released.wait(PATIENCE_S)
            return super().step(action)

    hung = players(sends_wrong_until_told, ledger, start=lambda task: Hung(task, None), action_timeout_s=0.2)
    start_run(hung, n=2, threshold=1.0)
    released.set()
    assert {trial(number)[0].outcome for number in (0, 1)} == {outcome}
    if outcome == "error":
        assert trial(0)[1].extra["reason"] == "execution unknown (no response within 0.2 s)"


def test_every_world_is_closed_once_and_called_from_one_thread(start_run, answer, trial, ledger):
    calls, closed = {}, Counter()

    class Kept(Office):
        def reset(self, **options):
            calls.setdefault(id(self), (self, set()))[1].add(threading.get_ident())
            return super().reset(**options)

        def step(self, action):
            calls[id(self)][1].add(threading.get_ident())
            return super().step(action)

        def close(self):
            calls[id(self)][1].add(threading.get_ident())
            closed[id(self)] += 1

    cast = players(sends_wrong_until_told, ledger, start=lambda task: Kept(task, ledger))
    start_run(cast, n=3)
    assert list(closed.values()) == [1, 1, 1]
    answer(lambda instruction, _: "approve" if "0" in instruction else "reject")
    engine.advance("run", actor_and_environments=cast)
    # Three worlds were held, one was approved and restored, two were tried again.
    assert list(closed.values()) == [1] * 6
    assert all(len(threads) == 1 for _, threads in calls.values())
    assert threading.get_ident() not in {one for _, threads in calls.values() for one in threads}
