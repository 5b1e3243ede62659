"""What an agent gets, answer by answer."""

import json
import logging
from dataclasses import replace
from functools import partial

import pytest

from console import runs
from console.database import now_ms, reading, review_queue
from console.errors import BadInput, Refused, Unknown
from console.gate import Gate, Reason, checks
from console.gate.request import NOBODY, Asker
from console.settings import settings
from console.trajectory import Step, from_json
from storage import tables
from storage.errors import AlreadyDelivered
from tests.postgres import BOTH_AT_LENGTH
from tests.sweeps import sweep

pytestmark = BOTH_AT_LENGTH

TASK = "Pay the March bill only."
STEPS = [("look[bills]", "two bills"), Step("the first is from March", "open[1]", "March, 20 dollars")]


def test_action_that_a_rule_allows_runs_and_is_only_counted(make_gate, stored):
    decision = make_gate().check(TASK, STEPS, "look[bill 2]")
    assert (decision.approved, decision.action, decision.reason) == (True, "look[bill 2]", Reason.NOT_CRITICAL)
    assert stored(tables.Ask) == stored(tables.Trajectory) == []
    assert [(row.tool, row.rule, row.checks) for row in stored(tables.Allowed)] == [("look", "default", 1)]


def test_action_that_is_not_flagged_runs_and_its_verdict_is_kept(make_gate, stored):
    gate = make_gate(detector="random", threshold=1.0)
    decision = gate.check(TASK, STEPS, "pay[1]", task_id="march")
    assert (decision.approved, decision.reason, decision.item_id) == (True, Reason.NOT_FLAGGED, None)
    assert 0 <= decision.score <= 1
    assert [(verdict.flagged, verdict.score) for verdict in stored(tables.Verdict)] == [(False, decision.score)]
    assert stored(tables.Item) == []
    assert [(intent.action, intent.finished_ms) for intent in stored(tables.Intent)] == [("pay[1]", None)]


def test_approved_action_runs_once(make_gate, person, meanwhile, items, stored):
    gate = make_gate()
    meanwhile(person().answer, "approve")
    decision = gate.check(TASK, STEPS, "pay[1]", task_id="march")
    assert (decision.approved, decision.action, decision.reason) == (True, "pay[1]", Reason.APPROVED)
    assert items() == ["delivered"]
    assert [intent.decision_id for intent in stored(tables.Intent)] == [decision.decision_id]
    again = gate.check(TASK, STEPS, "pay[1]", task_id="march")
    assert (again.approved, again.reason, again.decision_id) == (
        False,
        Reason.ALREADY_HANDED_OUT,
        decision.decision_id,
    )
    assert "given only once" in again.feedback


def test_rejection_comes_with_its_words_as_often_as_asked(make_gate, person, meanwhile, stored):
    gate = make_gate()
    meanwhile(person().answer, "reject", "That is the April bill.")
    decision = gate.check(TASK, STEPS, "pay[2]")
    assert (decision.approved, decision.feedback, decision.reason) == (
        False,
        "That is the April bill.",
        Reason.REJECTED,
    )
    assert gate.check(TASK, STEPS, "pay[2]") == decision
    assert stored(tables.Intent) == []
    assert [row.outcome for row in stored(tables.Trajectory)] == ["rejected"]


def test_bare_rejection_still_says_something(make_gate, person, meanwhile):
    meanwhile(person().answer, "reject")
    assert make_gate().check(TASK, STEPS, "pay[2]").feedback


def test_edited_action_replaces_the_agents(make_gate, person, meanwhile, stored):
    gate = make_gate()
    meanwhile(person().answer, "edit", "Only March.", edited_action='pay({"bill": 1})')
    decision = gate.check(TASK, STEPS, {"name": "pay", "arguments": {"bill": 2}})
    assert (decision.approved, decision.reason, decision.feedback) == (True, Reason.EDITED, "Only March.")
    assert (decision.call.name, decision.call.arguments) == ("pay", {"bill": 1})
    gate.done(decision, "paid")
    (body,) = stored(tables.TrajectoryBody)
    last = from_json(body.body).steps[-1]
    assert (last.action, last.observation) == ('pay({"bill": 1})', "paid")
    assert last.extra["instead_of"] == 'pay({"bill":2})'


def test_response_brings_words_and_runs_nothing(make_gate, person, meanwhile):
    meanwhile(person().answer, "respond", "Ask the user first.", label="misaligned")
    decision = make_gate().check(TASK, STEPS, "pay[2]")
    assert (decision.approved, decision.reason) == (False, Reason.RESPONDED)
    assert decision.feedback == "Ask the user first."


def test_escalated_item_waits_for_another_reviewer(make_gate, person, meanwhile):
    def two_people():
        person("ann").answer("escalate")
        person("bob").answer("approve")

    meanwhile(two_people)
    assert make_gate().check(TASK, STEPS, "pay[1]").reason is Reason.APPROVED


@pytest.mark.at_length
def test_decision_counts_once_it_can_no_longer_be_undone(make_gate, person, meanwhile):
    gate = make_gate(undo_s=2.2)
    decided = []
    meanwhile(lambda: decided.append(person().answer("approve")))
    decision = gate.check(TASK, STEPS, "pay[1]", timeout_s=2)
    assert decision.approved
    assert decided[0].deliverable_ms - decided[0].decided_ms == 2_200


def test_result_is_the_next_step_and_the_next_question_goes_on_from_it(make_gate, person, meanwhile, stored):
    gate = make_gate()
    meanwhile(lambda: [person().answer("approve"), person().answer("reject")])
    first = gate.check(TASK, STEPS, "pay[1]", task_id="march")
    gate.done(first, "paid")
    gate.done(first, "paid once more")
    second = gate.check(TASK, [*STEPS, ("pay[1]", "paid"), ("look[rest]", "one bill")], "pay[2]", task_id="march")
    assert second.reason is Reason.REJECTED
    (trajectory,) = stored(tables.Trajectory)
    assert (trajectory.n_steps, trajectory.critical_action, trajectory.outcome) == (4, "pay[2]", "rejected")
    assert [item.step for item in stored(tables.Item)] == [2, 4]


def test_question_right_after_a_result_goes_on_in_the_same_trajectory(make_gate, stored):
    gate = make_gate(detector="random", threshold=1.0)
    gate.done(gate.check(TASK, STEPS, "pay[1]", task_id="march"), "paid")
    gate.check(TASK, [*STEPS, ("pay[1]", "paid")], "pay[2]", task_id="march")
    assert [(one.n_steps, one.critical_action) for one in stored(tables.Trajectory)] == [(3, "pay[2]")]


def test_agent_that_brings_no_result_goes_on_from_what_its_reviewers_made_of_each_action(make_gate, person, stored):
    gate = make_gate()

    def edited(steps, action, run_instead, task_id="march"):
        waiting = gate.ask(TASK, steps, action, task_id=task_id)
        person().answer("edit", edited_action=run_instead)
        return gate.begin(waiting.look())

    edited(STEPS, "pay[0]", "pay[none]", task_id="april")
    gate.done(edited(STEPS, "pay[1]", "pay[half]"), "paid")
    first = [*STEPS, ("pay[half]", "paid")]
    edited(first, "pay[2]", "pay[quarter]")
    gate.ask(TASK, [*first, ("pay[quarter]", "paid")], "pay[3]", task_id="march")
    assert [(one.n_steps, one.critical_action) for one in stored(tables.Trajectory)] == [(2, "pay[0]"), (4, "pay[3]")]
    gate.ask(TASK, [*first, ("pay[quarter]", "paid"), ("look[bills]", "none")], "pay[4]", task_id="march")
    assert len(stored(tables.Trajectory)) == 3


def test_other_branch_of_a_trial_leaves_what_reviewers_saw(make_gate, person, meanwhile, stored):
    gate = make_gate()
    meanwhile(lambda: [person().answer("reject"), person().answer("approve")])
    gate.check(TASK, STEPS, "pay[1]", task_id="march")
    gate.check(TASK, STEPS, "pay[2]", task_id="march")
    actions = [from_json(body.body).critical_action for body in stored(tables.TrajectoryBody)]
    assert actions == ["pay[1]", "pay[2]"]
    assert len(stored(tables.Task)) == 1


def test_changed_prefix_or_trial_asks_again(make_gate, person, meanwhile, items):
    gate = make_gate()
    meanwhile(lambda: [person().answer("approve") for _ in range(3)])
    gate.check(TASK, STEPS, "pay[1]", task_id="march")
    assert gate.check(TASK, STEPS[:1], "pay[1]", task_id="march").reason is Reason.APPROVED
    assert gate.check(TASK, STEPS, "pay[1]", task_id="march", trial=1).reason is Reason.APPROVED
    assert items() == ["delivered"] * 3


def test_unflagged_action_of_a_named_task_is_let_run_once(make_gate):
    gate = make_gate(detector="random", threshold=1.0)
    assert gate.check(TASK, STEPS, "pay[1]", task_id="march").approved
    assert gate.check(TASK, STEPS, "pay[1]", task_id="march").reason is Reason.ALREADY_HANDED_OUT
    assert gate.check(TASK, STEPS, "pay[2]").approved
    assert gate.check(TASK, STEPS, "pay[2]").approved


def test_agent_that_asks_again_without_a_result_ends_as_unknown_until_one_comes(make_gate, stored):
    gate = make_gate(detector="random", threshold=1.0)
    decision = gate.check(TASK, STEPS, "pay[1]", task_id="march")
    for _ in range(2):
        again = gate.check(TASK, STEPS, "pay[1]", task_id="march")
        assert again.reason is Reason.ALREADY_HANDED_OUT
    assert [row.outcome for row in stored(tables.Trajectory)] == ["error"]
    (body,) = stored(tables.TrajectoryBody)
    assert from_json(body.body).extra["reason"] == "execution unknown"
    (event,) = [event for event in stored(tables.Event) if event.kind == "gate: execution unknown"]
    assert json.loads(event.detail) == {"trajectory_id": 1, "intent_id": decision.intent_id, "action": "pay[1]"}
    gate.done(decision, "paid")
    gate.check(TASK, STEPS, "pay[1]", task_id="march")
    assert [row.outcome for row in stored(tables.Trajectory)] == ["running"]
    (body,) = stored(tables.TrajectoryBody)
    record = from_json(body.body)
    assert (record.steps[-1].action, record.steps[-1].observation) == ("pay[1]", "paid")
    assert "reason" not in record.extra


def test_agent_that_found_out_that_its_action_ran_goes_on(make_gate, stored):
    gate = make_gate(detector="random", threshold=1.0)
    for _ in range(2):
        gate.check(TASK, STEPS, "pay[1]", task_id="march")
    assert gate.check(TASK, [*STEPS, ("pay[1]", "paid")], "pay[2]", task_id="march").approved
    (body,) = stored(tables.TrajectoryBody)
    record = from_json(body.body)
    assert (record.outcome, record.critical_action, len(record.steps)) == ("running", "pay[2]", len(STEPS) + 1)
    assert "reason" not in record.extra


def test_go_ahead_is_fetched_again_until_it_begins(make_gate, person, stored):
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    person().answer("edit", "Only half.", edited_action="pay[half]")
    first = waiting.look()
    assert (first.approved, first.action, first.reason, first.intent_id) == (True, "pay[half]", Reason.EDITED, None)
    again = [
        gate.ask(TASK, STEPS, "pay[1]", task_id="march"),
        waiting.look(),
        make_gate().ask(TASK, STEPS, "pay[1]", task_id="march"),
    ]
    assert again == [first] * 3
    assert stored(tables.Intent) == []
    begun = gate.begin(first)
    assert (begun.approved, begun.action, begun.feedback) == (True, "pay[half]", "Only half.")
    assert [intent.id for intent in stored(tables.Intent)] == [begun.intent_id]
    assert gate.begin(first).reason is Reason.ALREADY_HANDED_OUT
    assert waiting.look().reason is Reason.ALREADY_HANDED_OUT
    assert [row.outcome for row in stored(tables.Trajectory)] == ["error"]


def test_check_of_an_agent_that_died_before_it_began_gets_the_go_ahead_again(make_gate, person):
    gate = make_gate()
    waiting = gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    person().answer("approve")
    waiting.look()
    assert make_gate().check(TASK, STEPS, "pay[1]", task_id="march").approved
    assert not make_gate().check(TASK, STEPS, "pay[1]", task_id="march").approved


def test_answer_is_handed_out_neither_before_its_undo_time_is_over_nor_to_another_item(make_gate, person, url, items):
    gate = make_gate(undo_s=3_600)
    first, second = (gate.ask(TASK, STEPS, action, task_id=action) for action in ("pay[1]", "pay[2]"))
    person().answer("approve")
    assert (first.look(), second.look(), items()) == (None, None, ["decided", "pending"])
    review_queue(url).undo(item_id=first.check.ask.item_id, reviewer="ann", now_ms=now_ms(), lease_ms=60_000)
    assert (first.look(), second.look(), items()) == (None, None, ["claimed", "pending"])
    person().answer("reject")
    person().claim()
    decision = first.look()
    assert (decision.reason, decision.item_id) == (Reason.REJECTED, first.check.ask.item_id)
    assert (second.look(), items()) == (None, ["delivered", "claimed"])


def test_fetched_decision_can_no_longer_be_undone(make_gate, person, url):
    waiting = make_gate().ask(TASK, STEPS, "pay[1]", task_id="march")
    decision = person().answer("approve")
    waiting.look()
    with pytest.raises(AlreadyDelivered):
        review_queue(url).undo(item_id=decision.item_id, reviewer="ann", now_ms=now_ms(), lease_ms=1)


def test_unflagged_action_that_is_asked_about_begins_once(make_gate, stored, url):
    gate = make_gate(detector="random", threshold=1.0)
    first, again = (gate.ask(TASK, STEPS, "pay[1]", task_id="march") for _ in range(2))
    assert (first.approved, again.approved, first.check_id, first.score) == (True, True, again.check_id, again.score)
    at = checks.check_id(first.check_id)
    assert checks.open_wait(url, at, NOBODY, beats=False) == again
    for asked in (partial(checks.open_wait, beats=False), checks.begin_check):
        with pytest.raises(Unknown):
            asked(url, at, Asker(1))
    assert stored(tables.Intent) == []
    assert [gate.begin(one).approved for one in (first, again)] == [True, False]
    assert checks.open_wait(url, at, NOBODY, beats=False).reason is Reason.ALREADY_HANDED_OUT


def test_check_without_an_answer_to_repeat_is_not_there(make_gate, stored, url):
    make_gate("{default: deny}").ask(TASK, STEPS, "pay[1]", task_id="march")
    (ask,) = stored(tables.Ask)
    with pytest.raises(Unknown, match="check"):
        checks.open_wait(url, checks.check_id(ask.token), NOBODY, beats=False)


def test_go_ahead_of_an_agent_that_went_on_as_if_it_had_run_does_not_begin(make_gate):
    gate = make_gate(detector="random", threshold=1.0)
    first = gate.ask(TASK, STEPS, "pay[1]", task_id="march")
    gate.ask(TASK, [*STEPS, ("pay[1]", "paid")], "pay[2]", task_id="march")
    assert gate.begin(first).reason is Reason.ALREADY_HANDED_OUT


def test_decision_that_lets_nothing_run_does_not_begin(make_gate, person, meanwhile, stored):
    gate = make_gate()
    meanwhile(person().answer, "reject")
    rejected = gate.check(TASK, STEPS, "pay[1]")
    assert gate.begin(rejected) == rejected
    with pytest.raises(Refused, match="no approval"):
        gate.begin(replace(rejected, approved=True))
    assert stored(tables.Intent) == []


def test_check_ids_are_random_and_one_for_a_check(make_gate, stored):
    gate = make_gate()
    for number in range(20):
        gate.ask(TASK, STEPS, f"pay[{number}]", task_id="march")
        gate.ask(TASK, STEPS, f"pay[{number}]", task_id="march")
    tokens = {ask.token for ask in stored(tables.Ask)}
    assert len(tokens) == 20
    assert {len(token) for token in tokens} == {32}
    assert len({token[:4] for token in tokens}) > 15


def test_without_patterns_every_checked_action_is_critical(make_gate, person, meanwhile):
    meanwhile(person().answer, "reject")
    assert make_gate(policy=None, critical=()).check(TASK, STEPS, "anything").reason is Reason.REJECTED


def test_a_gate_without_patterns_asks_about_every_action(make_gate, person, meanwhile):
    gate = make_gate(policy=None, critical=(), environment="webshop", detector="random", threshold=1.0)
    meanwhile(person().answer, "reject")
    assert gate.check(TASK, STEPS, "click[Buy Now]").reason is Reason.REJECTED


def test_run_is_made_by_the_agent_that_asked_first(make_gate, stored):
    make_gate(agent="support-bot").open()
    made = {event.kind: (event.actor, event.door) for event in stored(tables.Event)}
    assert made["run created"] == ("support-bot", "python")


def test_second_gate_of_a_run_keeps_the_stored_settings(make_gate, caplog, stored):
    make_gate(budget=3).open()
    with caplog.at_level(logging.WARNING):
        make_gate(budget=3).open()
        assert caplog.messages == []
        make_gate(budget=9).open()
    (message,) = caplog.messages
    assert "budget_cap" in message
    assert [run.budget_cap for run in stored(tables.Run)] == [3]


def test_run_of_another_kind_is_refused(make_gate, url):
    from console import runs
    from console.database import writing

    with writing(url) as session:
        runs.archive(session, "logs", 1)
    with pytest.raises(Refused, match="archive"):
        make_gate(run="logs").check(TASK, STEPS, "pay[1]")


def test_gate_without_a_url_uses_the_settings(person, meanwhile):
    gate = Gate("shop-bot", "random", ["pay*"], threshold=1.0)
    assert gate.check(TASK, STEPS, "pay[1]").approved
    assert gate.open() == settings().database_url
    with reading() as session:
        assert runs.get(session, "shop-bot").undo_ms == 5_000


@sweep(
    ("changes", "said"),
    [
        ({"threshold": float("nan")}, "threshold is nan. Use a number from 0 to 1"),
        ({"threshold": 1.01}, "threshold is 1.01"),
        ({"threshold": True}, "threshold is True"),
        ({"critical": [">100"]}, "is empty or contains a comparison"),
        ({"critical": ["!x"]}, "is empty or contains a comparison"),
        ({"critical": ["[2-9]??"]}, "is empty or contains a comparison"),
        ({"critical": ["pay*"] * 201}, "critical has 201 patterns. Give at most 200"),
        ({"budget": -1}, "budget is -1"),
        ({"reviews_per_item": 0}, "reviews_per_item is 0"),
        ({"timeout_s": float("nan")}, "timeout_s is nan"),
        ({"poll_s": -1}, "poll_s is -1"),
        ({"critical": "pay*"}, "is a single string"),
        ({"detector": "oracle-of-delphi"}, "No detector named"),
        ({"run": "a/b"}, "is not a valid run name"),
    ],
    kept=4,
)
def test_wrong_setting_is_refused_in_one_sentence(make_gate, changes, said):
    with pytest.raises(BadInput, match=said):
        make_gate(**changes)


def test_result_of_an_action_that_was_not_let_run_is_refused(make_gate):
    gate = make_gate()
    with pytest.raises(BadInput, match="did not allow the action"):
        gate.done(gate.check(TASK, STEPS, "look"), "x")


@pytest.mark.parametrize(
    "edit", ['refund_order({"amount":45,"order":', "please just give 30 euro, thanks", "drop_database(...)"]
)
def test_edit_that_cannot_be_run_never_reaches_the_agent(make_gate, person, items, edit):
    gate = make_gate(critical=["refund_*"])
    waiting = gate.ask(TASK, STEPS, {"name": "refund_order", "arguments": {"amount": 45, "order": 12}})
    with pytest.raises(BadInput, match="line 1, column"):
        person().answer("edit", edited_action=edit, allow_other_tool=True)
    assert waiting.look() is None
    assert items() == ["claimed"]


def test_edit_fits_the_schema_that_the_agent_sent(make_gate, person, stored):
    gate = make_gate()
    schema = {"type": "object", "properties": {"bill": {"type": "integer"}, "note": {"type": "string"}}}
    waiting = gate.ask(TASK, STEPS, {"name": "pay", "arguments": {"bill": 2}}, task_id="march", tool_schema=schema)
    with pytest.raises(BadInput, match="does not match the schema of pay at note"):
        person().answer("edit", edited_action='pay({"bill": 1, "note": 3})')
    person().answer("edit", edited_action='pay({"bill": 1, "note": "March"})')
    decision = waiting.look()
    assert (decision.approved, decision.edited) == (True, True)
    with pytest.raises(BadInput, match="not a valid JSON schema"):
        gate.ask(TASK, STEPS, "pay[1]", tool_schema={"type": "nonsense"})


def test_approval_is_no_edit(make_gate, person):
    waiting = make_gate().ask(TASK, STEPS, "pay[1]")
    person().answer("approve")
    assert waiting.look().edited is False


def test_other_settings_of_a_run_that_is_there_are_said_once(make_gate, caplog):
    make_gate(run="said once").open()
    for _ in range(3):
        make_gate(run="said once", detector="rules").open()
    assert [record.getMessage() for record in caplog.records if "said once" in record.getMessage()] == [
        "Run 'said once' was started with other settings (detector); the stored ones apply."
    ]


def test_schema_of_a_tool_does_not_outlive_its_question(make_gate, stored):
    gate = make_gate()
    schema = {"type": "object", "properties": {"bill": {"type": "integer"}}}
    gate.ask(TASK, STEPS, 'pay({"bill":1})', task_id="march", tool_schema=schema)
    (body,) = stored(tables.TrajectoryBody)
    assert list(from_json(body.body).extra.values()) == [schema]
    gate.ask(TASK, [*STEPS, ('pay({"bill":1})', "paid")], "pay[2]", task_id="march")
    (body,) = stored(tables.TrajectoryBody)
    assert from_json(body.body).extra == {}
