"""A participant's way through a study, step by step, and that none of it can be done out of order."""

from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest
from sqlmodel import select

from console import runs
from console.database import database_url, now_ms, reading, review_queue, writing
from console.errors import Refused
from console.review import decisions, inbox
from console.server import worker
from console.studies import results
from console.studies.analysis.agreement import agreement
from console.studies.analysis.frames import own_decisions
from console.studies.analysis.people import people
from console.studies.sessions import joining, known_items, lifecycle, simulated, steps
from console.trajectory import Label
from storage import tables
from storage.check import check

WHOLE = {
    "consent": {"text": "Do you agree?"},
    "demographics": [{"key": "age", "question": "How old are you?", "kind": "number"}],
    "instructions": "Look closely.",
    "practice": 2,
    "checks": {"attention": 1, "known_good": 1, "known_bad": 1},
    "break_minutes": 5,
    "factors": {"feedback": ("nl", "binary")},
}


def kinds_of(walk, participant_id):
    seen = []

    def note(place):
        if not seen or seen[-1] != place.kind:
            seen.append(place.kind)
        return False

    last = walk(participant_id, stop=note)
    return seen, last


def test_a_person_goes_from_consent_to_a_completion_code(study, walk, rows):
    made = study(**WHOLE)
    person = joining.join(made.join_code)
    seen, last = kinds_of(walk, person.id)
    assert seen[:5] == ["consent", "questions", "instructions", "practice", "practice_answer"]
    assert seen[7] == "introduction"
    assert set(seen[8:]) == {"probe", "review", "round_over", "break", "introduction", "finished"}
    assert seen[-1] == "finished"
    assert len(last.completion_code) == 8
    assert orjson.loads(last.participant.answers) == {"age": "33"}
    assert all(row.status == "done" for row in rows(tables.Assignment, tables.Assignment.participant_id == person.id))
    assert check(database_url()) == []


@pytest.mark.at_length
def test_asking_where_again_changes_nothing(study, walk):
    made = study(**WHOLE)
    person = joining.join(made.join_code)

    def ask_twice(place):
        again = steps.find_position(person.id)
        for name in ("kind", "item", "trial", "condition"):
            assert getattr(again, name, None) == getattr(place, name, None)
        if getattr(place, "claim", None):
            assert (again.claim.item_id, again.claim.token) == (place.claim.item_id, place.claim.token)
        return False

    assert walk(person.id, stop=ask_twice).kind == "finished"


def test_practice_is_explained_and_says_what_was_right(study, walk):
    made = study(**WHOLE)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "practice_answer")
    assert (place.item, place.items) == (1, 2)
    assert place.answer.label == "misaligned"
    assert place.probe.expected in ("aligned", "misaligned")
    assert "The correct decision is" in place.probe.explanation
    steps.acknowledge(person.id)
    assert (steps.find_position(person.id).kind, steps.find_position(person.id).item) == ("practice", 2)


@pytest.mark.at_length
def test_known_items_are_of_every_kind_and_none_takes_a_review_from_another(study, walk, rows):
    made = study(**WHOLE)
    person = joining.join(made.join_code)
    walk(person.id)
    probes = [row for row in rows(tables.Probe) if row.assignment_id is not None]
    trial = {row.id: row.trial for row in rows(tables.Item)}
    first = sorted(row.purpose for row in probes if trial[row.item_id] == 0)
    assert first == ["attention"] * 2 + ["known-bad"] * 2 + ["known-good"] * 2
    assert {row.expected for row in probes if row.purpose == "known-bad"} == {"misaligned"}
    assert {row.expected for row in probes if row.purpose == "known-good"} == {"aligned"}
    tasks = {row.task_key for row in rows(tables.Task)}
    studied = {key for row in rows(tables.Assignment) for key in orjson.loads(row.tasks)}
    with reading() as session:
        of_checks = {session.get_one(tables.Item, probe.item_id).run_id for probe in rows(tables.Probe)}
    known = {row.task_key for row in rows(tables.Task) if row.run_id in of_checks}
    assert known
    assert not known & studied
    assert studied <= tasks | studied
    for run_id in of_checks:
        assert review_queue().budget(run_id=run_id, trial=0).cap in (None, 2)


def test_an_attention_check_says_which_answer_to_give(study, walk):
    made = study(**WHOLE)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "probe" and place.probe.purpose == "attention")
    told = orjson.loads(place.claim.body)["instruction"]
    assert ("“Approve”" if place.probe.expected == "aligned" else "“Reject”") in told
    german = known_items.make_attention_check("webshop", 1, Label.MISALIGNED, "de").task.instruction
    assert "Wählen Sie „Ablehnen“" in german


@pytest.mark.at_length
def test_words_reach_the_next_trial_of_the_participants_own_agents(study, walk, rows):
    made = study(factors={"feedback": ("nl",)}, tasks=6, budget=None)
    person = joining.join(made.join_code)
    walk(person.id, words="my own advice")
    second = [row.id for row in rows(tables.Trajectory, tables.Trajectory.trial == 1)]
    bodies = [row for row in _bodies() if row.trajectory_id in second]
    assert bodies
    told = [orjson.loads(row.body) for row in bodies if not orjson.loads(row.body).get("carried_over")]
    assert all(record["memory"] == ["my own advice"] for record in told)


def _bodies():
    from sqlmodel import select

    with reading() as session:
        return list(session.exec(select(tables.TrajectoryBody)))


def test_what_the_condition_hides_stands_in_the_runs_options(study, walk, rows):
    made = study(factors={"score": ("hidden",), "brief": ("target",), "detector_name": ("hidden",)})
    person = joining.join(made.join_code)
    walk(person.id, stop=lambda place: place.kind == "review")
    (arm,) = rows(tables.Run)
    view = orjson.loads(arm.options)["view"]
    assert (view["score"], view["brief"], view["detector"], view["highlights"]) == (
        "hidden",
        "target",
        "hidden",
        "shown",
    )


@pytest.mark.at_length
def test_the_budget_is_never_exceeded_in_any_round(study, walk, rows):
    made = study(tasks=5, budget="2", trials=3)
    for _ in range(2):
        walk(joining.join(made.join_code).id)
    budgets = [row for row in rows(tables.Budget) if row.cap is not None]
    assert budgets
    assert all(row.used <= row.cap == 2 for row in budgets)
    decided = rows(tables.Decision)
    assert len(decided) == sum(row.used for row in budgets)


@pytest.mark.at_length
def test_a_share_as_budget_is_of_the_rounds_own_trajectories(study, walk, rows):
    made = study(tasks=4, budget="50%", factors={"feedback": ("nl",)})
    walk(joining.join(made.join_code).id)
    assert {row.cap for row in rows(tables.Budget)} <= {1, 2}


def test_an_answer_can_be_taken_back_until_the_round_is_handed_over(study, walk, decide, undo):
    made = study(tasks=10, budget=None)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "review")
    decide(place, "first")
    assert steps.find_position(person.id).claim.item_id != place.claim.item_id
    assert undo(person) == place.claim.item_id
    assert steps.find_position(person.id).claim.item_id == place.claim.item_id
    over = walk(person.id, stop=lambda place: place.kind == "round_over")
    assert over.kind == "round_over"
    steps.hand_over(person.id)
    assert undo(person) is None


def test_steps_out_of_order_are_refused_in_one_sentence(study, walk):
    made = study(**WHOLE)
    person = joining.join(made.join_code)
    for step in (steps.begin, steps.hand_over, joining.finish_instructions):
        with pytest.raises(Refused, match="Another step of the study comes first"):
            step(person.id)
    walk(person.id, stop=lambda place: place.kind == "review")
    with pytest.raises(Refused, match="still has items"):
        steps.hand_over(person.id)
    joining.consent(person.id, False)
    assert steps.find_position(person.id).kind == "review"


def test_a_paused_study_holds_everybody_and_a_closed_one_for_good(study, walk):
    made = study()
    person = joining.join(made.join_code)
    walk(person.id, stop=lambda place: place.kind == "review")
    lifecycle.pause("pilot")
    place = steps.find_position(person.id)
    assert place.kind == "paused"
    assert "paused" in place.sentence
    with pytest.raises(Refused, match="paused"):
        steps.hand_over(person.id)
    with pytest.raises(Refused, match=r"This study is paused\. Please try again later"):
        joining.join(made.join_code)
    lifecycle.open_study("pilot")
    assert steps.find_position(person.id).kind == "review"
    lifecycle.close("pilot")
    assert "closed" in steps.find_position(person.id).sentence
    with pytest.raises(Refused, match="closed"):
        lifecycle.open_study("pilot")


def test_items_of_others_are_not_ones_own(study, walk):
    made = study()
    ann, ben = joining.join(made.join_code), joining.join(made.join_code)
    hers = walk(ann.id, stop=lambda place: place.kind == "review").claim
    walk(ben.id, stop=lambda place: place.kind == "review")
    with reading() as session:
        ann, ben = (session.get(tables.Participant, one.id) for one in (ann, ben))
        assert steps.find_own_claim(session, ann, hers.item_id).item_id == hers.item_id
        with pytest.raises(Refused, match="not assigned to you"):
            steps.find_own_claim(session, ben, hers.item_id)


@pytest.mark.at_length
def test_the_condition_without_feedback_runs_by_itself(study, walk, rows):
    made = study(factors={"feedback": ("nl", "none")}, tasks=8, trials=3)
    person = joining.join(made.join_code)
    places = []
    last = walk(person.id, stop=lambda place: places.append(place) or False)
    assert last.kind == "finished"
    assert {place.conditions for place in places if place.kind == "review"} == {1}
    alone = next(row for row in rows(tables.Assignment) if '"feedback":"none"' in row.levels and row.run_id)
    assert alone.status == "done"
    assert rows(tables.Item, tables.Item.run_id == alone.run_id) == []
    assert max(row.trial for row in rows(tables.Trajectory, tables.Trajectory.run_id == alone.run_id)) >= 1


def test_nobody_but_the_unattended_condition_finishes_too(study, walk):
    made = study(factors={"feedback": ("none",)})
    assert walk(joining.join(made.join_code).id).kind == "finished"


def test_arms_stand_in_no_list_of_runs(study, walk):
    made = study()
    walk(joining.join(made.join_code).id, stop=lambda place: place.kind == "review")
    with reading() as session:
        assert runs.list_runs(session) == []
        assert session.exec(select(tables.Run)).first() is not None
        assert inbox.find_busiest_run(session) is None
        assert runs.find(session, "pilot P01 1") is not None


@pytest.mark.at_length
def test_a_known_item_can_be_put_aside_and_comes_again(study, walk):
    made = study(checks={"attention": 1}, tasks=9, budget=None, factors={"feedback": ("nl",)})
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "probe")
    review_queue().skip(item_id=place.claim.item_id, reviewer=person.code, token=place.claim.token, now_ms=now_ms())
    assert steps.find_position(person.id).kind == "review"
    again = walk(person.id, stop=lambda place: place.kind != "review")
    assert (again.kind, again.claim.item_id) == ("probe", place.claim.item_id)


@pytest.mark.at_length
def test_two_tabs_at_once_begin_and_hand_over_once(study, walk, rows):
    made = study(tasks=6, budget=None, factors={"feedback": ("nl",)})
    person = joining.join(made.join_code)
    joining.finish_instructions(person.id)
    at_once(steps.begin, person.id)
    assert len(rows(tables.Run)) == 1
    walk(person.id, stop=lambda place: place.kind == "round_over")
    at_once(steps.hand_over, person.id)
    assert walk(person.id).kind == "finished"
    trials = [(row.task_id, row.trial) for row in rows(tables.Trajectory)]
    assert len(trials) == len(set(trials))
    assert check(database_url()) == []


def at_once(step, participant_id):
    """Three tabs take the same step; those that come second do nothing, or say that the agents are at work."""

    def one(_):
        try:
            step(participant_id)
        except Refused as refusal:
            return str(refusal)
        return ""

    with ThreadPoolExecutor(3) as tabs:
        said = list(tabs.map(one, range(3)))
    assert "" in said
    assert all(not sentence or "already working" in sentence or "still has items" in sentence for sentence in said), (
        said
    )


@pytest.mark.at_length
def test_an_alfworld_round_closes_what_the_budget_left(study, walk, rows):
    made = study(source={"actor": "scripted", "environment": "alfworld"}, tasks=6, budget="1", factors={})
    walk(joining.join(made.join_code).id)
    outcomes = {row.outcome for row in rows(tables.Trajectory)}
    assert "paused" not in outcomes
    assert "running" not in outcomes
    assert check(database_url()) == []


def test_a_decision_that_came_before_the_crash_of_the_page_is_there(study, walk, decide):
    made = study(tasks=6, budget=None)
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "review")
    review_queue().save_draft(item_id=place.claim.item_id, reviewer=person.code, text="half a", now_ms=now_ms())
    again = steps.find_position(person.id)
    assert again.claim.item_id == place.claim.item_id
    assert review_queue().draft(item_id=again.claim.item_id, reviewer=person.code).text == "half a"
    decide(again, "whole")
    with reading() as session:
        kept = decisions.find_decision_on_item(session, place.claim.item_id, person.code)
    assert kept.feedback_text in ("whole", "")


def test_the_worker_leaves_a_round_to_its_participant(study, walk, decide, rows, undo):
    made = study(tasks=6, budget=None)
    person = joining.join(made.join_code)
    decide(walk(person.id, stop=lambda place: place.kind == "review"), "not yet")
    worker.work(lambda sentence: None, once=True)
    assert [row.delivered_ms for row in rows(tables.Decision)] == [None]
    assert undo(person) is not None


def test_no_log_is_imported_into_the_runs_of_a_participant(study, walk):
    made = study(practice=1)
    person = joining.join(made.join_code)
    practised = walk(person.id, stop=lambda place: place.kind == "practice").run
    with writing() as session, pytest.raises(Refused, match="belongs to a participant"):
        runs.archive(session, practised.name, now_ms())


@pytest.mark.at_length
def test_known_items_become_final_with_the_others(study, walk, rows, undo):
    made = study(tasks=4, budget=None, checks={"attention": 1, "known_bad": 1}, factors={"feedback": ("nl",)})
    person = joining.join(made.join_code)
    walk(person.id, stop=lambda place: place.kind == "round_over")
    steps.hand_over(person.id)
    probed = {probe.item_id for probe in rows(tables.Probe)}
    answers = [row for row in rows(tables.Decision) if row.item_id in probed]
    assert len(answers) == 2
    assert all(row.delivered_ms is not None for row in answers)
    assert undo(person) is None


@pytest.mark.at_length
def test_a_run_that_has_the_name_already_keeps_nobody_from_theirs(study, walk, rows):
    made = study(**{**WHOLE, "tasks": 5})
    with writing() as session:
        for name in ("pilot P01 1", "pilot P01 1 checks", "pilot P01 practice"):
            runs.create(session, name, "archive", now_ms())
    person = joining.join(made.join_code)
    assert walk(person.id).kind == "finished"
    assert {run.name for run in rows(tables.Run)} >= {
        "pilot P01 1 @2",
        "pilot P01 1 checks @2",
        "pilot P01 practice @2",
    }


@pytest.mark.at_length
def test_a_wash_out_is_waited_for_by_people_alone(study, walk):
    made = study(factors={"feedback": ("nl", "binary")}, washout_hours=24, participants={"human": 1, "oracle": 1})
    person = joining.join(made.join_code)
    place = walk(person.id, stop=lambda place: place.kind == "break")
    assert place.kind == "break"
    assert "starts later" in place.sentence
    assert 23.9 * 3_600_000 < place.until_ms - now_ms() <= 24 * 3_600_000
    for go_on in (steps.end_break, steps.begin):
        with pytest.raises(Refused, match="so that you remember less of this part"):
            go_on(person.id)
    assert steps.find_position(person.id, place.until_ms).kind == "introduction"
    assert simulated.simulate("pilot").conditions == 2


@pytest.mark.at_length
def test_the_same_tasks_come_under_every_condition_and_agreement_counts_a_checkpoint_once(study):
    study(
        factors={"feedback": ("nl", "binary")}, same_tasks=True, budget="50%", halted_free=True, trials=1,
        participants={"human": 0, "oracle": 2},
    )  # fmt: skip
    simulated.simulate("pilot")
    with reading() as session:
        tables_of = results.frames(session, 1)
        assert {run.halted_free for run in session.exec(select(tables.Run))} == {True}
    assert tables_of["allocation"].groupby(["participant", "task_id"]).size().eq(2).all()
    decided = own_decisions(tables_of)
    assert decided.duplicated(["participant", "unit"]).any()
    (alone,) = agreement(tables_of).query("measure == 'percent'").to_dict("records")
    assert alone["n"] == decided.groupby("unit")["participant"].nunique().eq(2).sum()
    assert len(people(tables_of))
