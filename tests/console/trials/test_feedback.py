"""What reviewers say reaches the next trial, and only tasks with feedback get one."""

import orjson
import pytest
from sqlmodel import col, select

from console import runs
from console.database import reading
from console.errors import Refused
from console.trajectory.checkpoints import Checkpoint, checkpoints
from console.trials import engine, replay
from storage import tables
from tests.console.trials.worlds import players, sends_wrong_until_told


def memories():
    with reading() as session:
        return session.exec(select(tables.Memory).order_by(col(tables.Memory.id))).all()


def judge_by_number(words):
    """Approves even letters; odd ones are refused with the words."""

    def choose(instruction, _):
        number = int(instruction.split()[-1].rstrip("."))
        return "approve" if number % 2 == 0 else {"decision": "reject", "feedback_text": words.format(number)}

    return choose


def test_words_reach_the_next_trial_as_they_are(start_run, answer, trial, status):
    cast = players(sends_wrong_until_told)
    start_run(cast)
    answer(judge_by_number("The user wants letter {} sent."))
    done = engine.advance("run", actor_and_environments=cast)
    assert (done.rejected, done.approved, done.revealed, done.carried_over) == (1, 2, 1, 2)
    (memory,) = memories()
    assert (memory.origin, memory.text, memory.trial) == ("words", "The user wants letter 1 sent.", 0)
    row, record = trial(1, 1)
    assert (row.outcome, row.critical_action) == ("paused", "send 1")
    assert record.memory == ("The user wants letter 1 sent.",)
    answer(lambda *_: "approve")
    engine.advance("run", actor_and_environments=cast)
    assert trial(1, 1)[0].outcome == "succeeded"
    assert [(entry["success_held"], entry["run_tasks"]) for entry in status()] == [(2, 3), (3, 3)]


def test_solved_tasks_are_carried_over_and_marked_so(start_run, answer, trial):
    cast = players(sends_wrong_until_told)
    start_run(cast)
    answer(judge_by_number("no"))
    engine.advance("run", actor_and_environments=cast)
    row, record = trial(0, 1)
    assert (row.outcome, row.label, row.carried_over) == ("succeeded", "aligned", True)
    assert (record.trial, record.carried_over) == (1, True)
    with reading() as session:
        items = session.exec(select(tables.Item).where(tables.Item.trajectory_id == row.id)).all()
    assert items == []


def test_a_bare_rejection_makes_the_actor_reflect_without_gold(start_run, answer, trial):
    seen = []

    async def reflect(reflection):
        seen.append(reflection)
        return f"Not {reflection.rejected_action}."

    cast = players(sends_wrong_until_told)
    cast = type(cast)(type(cast.actor)("planner", "Planner", cast.actor.act, reflect), cast.environments)
    start_run(cast, n=2, feedback_mode="binary")
    answer(judge_by_number(""))
    engine.advance("run", actor_and_environments=cast)
    (memory,) = memories()
    assert (memory.origin, memory.text) == ("reflection", "Not send wrong.")
    assert seen[0].rejected_action == "send wrong"
    assert [step.action for step in seen[0].steps] == ["note a", "note b"]
    assert trial(1, 1)[0].critical_action == "send 99"


def test_a_model_that_cannot_reflect_is_asked_again(start_run, answer, trial):
    calls = []

    async def reflect(reflection):
        calls.append(reflection)
        if len(calls) == 1:
            raise ConnectionError("no route")
        return "Think again."

    cast = players(sends_wrong_until_told)
    cast = type(cast)(type(cast.actor)("planner", "Planner", cast.actor.act, reflect), cast.environments)
    start_run(cast, n=2, feedback_mode="binary")
    answer(judge_by_number(""))
    assert "no route" in engine.advance("run", actor_and_environments=cast).problems[0]
    assert trial(1, 1) == (None, None)
    assert engine.advance("run", actor_and_environments=cast).revealed == 1
    assert trial(1, 1)[1].memory == ("Think again.",)


@pytest.mark.at_length
def test_the_actor_sees_the_last_three_memories_and_trials_end_at_their_number(start_run, answer, trial):
    cast = players(sends_wrong_until_told)
    start_run(cast, n=2, trials=6)
    for number in range(7):
        answer(lambda instruction, _, n=number: {"decision": "reject", "feedback_text": f"not good, time {n}{n}"})
        engine.advance("run", actor_and_environments=cast)
    assert trial(1, 5)[1].memory == ("not good, time 22", "not good, time 33", "not good, time 44")
    assert trial(1, 6) == (None, None)


def test_memory_is_never_in_a_checkpoint(start_run, answer, trial):
    cast = players(sends_wrong_until_told)
    start_run(cast, n=2)
    answer(lambda *_: {"decision": "reject", "feedback_text": "CANARY 1"})
    engine.advance("run", actor_and_environments=cast)
    record = trial(1, 1)[1]
    assert record.memory == ("CANARY 1",)
    seen = checkpoints(record, ["send *"])
    assert seen
    assert all("CANARY" not in str({name: getattr(one, name) for name in Checkpoint.__slots__}) for one in seen)


def test_without_feedback_a_failed_trial_gets_no_next_one(start_run, trial):
    cast = players(sends_wrong_until_told)
    start_run(cast, threshold=1.0)
    engine.advance("run", actor_and_environments=cast)
    assert trial(1, 0)[0].outcome == "failed"
    assert trial(1, 1) == (None, None)


def test_a_halted_trial_learns_from_a_response(start_run, answer, trial):
    cast = players(lambda view: ["send 1"] if view.memory else [f"note {n}" for n in range(20)])
    start_run(cast, n=1)
    answer(lambda _, kind: {"decision": "respond", "feedback_text": "Just send it."} if kind == "halted" else "reject")
    engine.advance("run", actor_and_environments=cast)
    assert trial(0, 0)[0].outcome == "halted"
    assert trial(0, 1)[0].critical_action == "send 1"


def test_the_arm_without_inspections_retries_unsolved_tasks_with_empty_memory(start_run, trial, status, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, feedback_mode="none", budget_percent=50.0)
    done = engine.advance("run", actor_and_environments=cast)
    assert (done.revealed, done.carried_over) == (1, 2)
    assert (trial(1, 1)[0].outcome, trial(1, 1)[1].memory) == ("failed", ())
    with reading() as session:
        assert session.exec(select(tables.Item)).all() == []
        assert session.exec(select(tables.Verdict)).all() == []
    assert [entry["success_paper"] for entry in status()] == [2, 2]
    assert [entry["budget"]["cap"] for entry in status()] == [None, None]
    engine.advance("run", actor_and_environments=cast)
    assert engine.advance("run", actor_and_environments=cast).revealed == 0


def test_release_runs_what_nobody_decided_and_counts_it_apart(start_run, answer, trial, status, ledger):
    cast = players(sends_wrong_until_told, ledger)
    start_run(cast, budget_cap=1, concurrency=1)
    answer(lambda *_: "reject")
    engine.advance("run", actor_and_environments=cast)
    assert status()[0]["success_paper"] is None
    done = engine.release_undecided("run", trial=0, actor_and_environments=cast)
    assert done.released == 2
    assert len(ledger.read_text().splitlines()) == 2
    assert trial(2, 0)[0].released_by == "simulation"
    first = status()[0]
    assert (first["success_held"], first["success_paper"], first["paused"]) == (0, 1, 0)
    assert first["budget"]["used"] == 1
    assert engine.release_undecided("run", trial=0, actor_and_environments=cast).released == 0
    assert trial(0, 1)[0].outcome == "paused"
    assert trial(2, 1)[0].released_by == "simulation"


def test_release_refuses_a_world_that_cannot_be_rebuilt(start_run):
    cast = players(sends_wrong_until_told, replayable=False)
    start_run(cast)
    with pytest.raises(Refused, match="never run without a decision"):
        engine.release_undecided("run", actor_and_environments=cast)


def test_the_lineage_leads_from_the_decision_to_what_changed(start_run, answer, trial):
    cast = players(sends_wrong_until_told)
    start_run(cast)
    answer(judge_by_number("Send {}"))
    engine.advance("run", actor_and_environments=cast)
    with reading() as session:
        history = replay.list_lineage(session, runs.get(session, "run"), trial(1)[0].task_id)
    first, second = history
    assert first["outcome"] == "rejected"
    assert first["pending"] == "send wrong"
    assert second["memory"][0]["decision_id"] == first["decisions"][0]["decision_id"]
    assert (second["memory"][0]["text"], second["memory"][0]["origin"]) == ("Send 1", "words")
    assert (second["actions"], second["pending"]) == (["note a", "note b"], "send 1")
    assert orjson.dumps(history)
