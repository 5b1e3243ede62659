"""The stored policy decides, whatever the caller says; a person's terms are the rule's."""

import json

import pytest

from console import runs
from console.auth import agents, people
from console.auth.audit_log import Door
from console.auth.people import Role
from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused
from console.gate import Reason
from console.gate.checks import Wait
from console.gate.policy import policy_store
from console.gate.request import Asker
from console.review import decisions
from storage import tables
from storage.check import check
from tests.logs import purchase
from tests.sweeps import sweep

TASK, STEPS = "refund order 12", [("look", "order 12")]


@pytest.fixture
def policy(url):
    """A function that saves a common policy as the next version."""

    def save(text):
        with writing(url) as session:
            return policy_store.save(session, None, text, "ada", 0)

    return save


@pytest.mark.parametrize("critical", [["never"], [], ["pay*"]])
def test_callers_patterns_open_nothing(make_gate, critical):
    make_gate(policy=None, critical=["refund_*"]).open()
    second = make_gate(policy=None, critical=critical, detector="random", threshold=1.0)
    assert isinstance(second.ask(TASK, STEPS, "refund_order({})"), Wait)
    assert isinstance(second.ask(TASK, STEPS, "drop_database({})"), Wait)


@pytest.mark.parametrize("action", [
    'refund_order({"order":13,"amount":20})',
    "refund_order(order=13)",
    'refund_order({"order":12,"amount":999999})',
    'transfer({"amount":5000,"to":"mallory"})',
    "transfer(5000, mallory)",
    "drop_database({})",
])  # fmt: skip
def test_three_lines_without_a_policy_ask_about_what_nobody_asked_for(make_gate, action):
    gate = make_gate(policy=None, detector="rules", critical=[])
    assert isinstance(gate.ask(TASK, [], action, task_id="ticket-4711"), Wait)


@pytest.mark.parametrize("action", ["get_a.drop_database({})", "mcp__find_shop__refund_order({})"])
def test_rule_that_allows_a_tool_lets_no_other_run_behind_a_namespace_of_its_name(make_gate, policy, url, action):
    policy("rules:\n- {tool: [get_*, find_*], then: allow}")
    gate = make_gate(policy=None)
    assert gate.check(TASK, STEPS, "mcp__shop__get_order({})").approved
    assert isinstance(gate.ask(TASK, STEPS, action), Wait)
    with reading(url) as session:
        counted = policy_store.count_by_tool(session, runs.get(session, "shop-bot"))
    tool = action.partition("(")[0].replace("__", ".").rpartition(".")[2]
    rows = {(row["tool"], row["allowed"], row["asked"]) for row in counted}
    assert rows == {(tool, 0, 1), ("get_order", 1, 0)}


def test_new_run_name_goes_by_the_common_policy(make_gate, policy):
    policy("rules:\n- {tool: refund_order, then: deny, because: Refunds are off.}")
    gate = make_gate(policy=None, run="never heard of", critical=["never"])
    decision = gate.check(TASK, STEPS, "refund_order({})")
    assert (decision.approved, decision.reason) == (False, Reason.DENIED)
    assert "Refunds are off." in decision.feedback


@pytest.mark.parametrize("action", ["mcp__shop__refund_order({})", "refund_order({", 'pay({"a":{"b":1}})', "now pay"])
def test_what_no_pattern_matches_asks_a_person(make_gate, action):
    gate = make_gate(policy=None, critical=["refund_order"], detector="random", threshold=1.0)
    assert isinstance(gate.ask(TASK, STEPS, action), Wait)


def test_policy_counts_from_the_next_check_on_and_stands_with_it(make_gate, policy, stored):
    gate = make_gate(policy=None, url=make_gate(policy="default: allow").open())
    assert gate.check(TASK, STEPS, "look({})").approved
    policy("rules:\n- {tool: look, then: ask, name: eyes}")
    assert isinstance(gate.ask(TASK, STEPS, "look({})"), Wait)
    assert [(ask.policy_version, ask.rule, ask.tool) for ask in stored(tables.Ask)] == [(2, "eyes", "look")]
    assert [row.checks for row in stored(tables.Allowed)] == [1]


def test_unflagged_action_of_an_unnamed_task_is_asked_about_once_the_policy_says_so(make_gate, policy):
    gate = make_gate(policy="default: judge", detector="random", threshold=1.0)
    assert gate.check(TASK, STEPS, "look({})").reason is Reason.NOT_FLAGGED
    policy("default: ask")
    assert isinstance(gate.ask(TASK, STEPS, "look({})"), Wait)


def test_stored_policy_that_cannot_be_read_asks_about_everything(make_gate, url):
    gate = make_gate(policy="default: allow")
    assert gate.check(TASK, STEPS, "look({})").approved
    with writing(url) as session:
        session.get_one(tables.Policy, 1).text = "rules of: [a later console"
    assert isinstance(gate.ask(TASK, STEPS, "look({})"), Wait)


def test_rule_of_an_environment_holds_where_the_run_is_of_that_one(make_gate):
    policy = "default: allow\nrules:\n- {environment: webshop, then: deny}"
    shop = make_gate(policy, run="shop", environment="webshop")
    assert shop.check(TASK, STEPS, "look").reason is Reason.DENIED
    assert make_gate(policy, run="other").check(TASK, STEPS, "look").approved


def test_version_says_whether_it_is_the_runs_own(make_gate, policy, url):
    policy("default: deny")
    make_gate(policy=None).open()
    with writing(url) as session:
        run = runs.get(session, "shop-bot")
        assert not policy_store.effective_version(session, run).own
        policy_store.save(session, run, "default: ask", "ada", 0)
        assert policy_store.effective_version(session, run).own
        assert [version.own for version in policy_store.list_versions(session, run)] == [True]
        assert [version.own for version in policy_store.list_versions(session, None)] == [False]


def test_denied_action_is_stored_once_and_never_runs(make_gate, stored):
    gate = make_gate(policy="default: deny")
    for _ in range(2):
        assert gate.check(TASK, STEPS, "pay[1]", task_id="a").reason is Reason.DENIED
    assert [(ask.answer, ask.item_id) for ask in stored(tables.Ask)] == [("denied", None)]
    assert stored(tables.Intent) == stored(tables.Item) == []


def test_question_that_waits_is_denied_once_the_policy_says_so(make_gate, policy):
    gate = make_gate(policy="default: ask")
    assert isinstance(gate.ask(TASK, STEPS, "pay[1]", task_id="a"), Wait)
    policy("default: deny")
    assert gate.ask(TASK, STEPS, "pay[1]", task_id="a").reason is Reason.DENIED


def test_caller_can_lower_the_threshold_and_not_raise_it(make_gate):
    make_gate(detector="random", threshold=0.0).open()
    assert isinstance(make_gate(detector="random", threshold=1.0).ask(TASK, STEPS, "pay[1]"), Wait)
    make_gate(run="lax", detector="random", threshold=1.0).open()
    assert isinstance(make_gate(run="lax", detector="random", threshold=0.0).ask(TASK, STEPS, "pay[1]"), Wait)


LAX = [{"detector": "random", "threshold": 1.0}, {"detector": "rules", "threshold": 1.0}]


@pytest.mark.parametrize("named", LAX)
@pytest.mark.parametrize("text", ["default: judge", None])
def test_detector_and_threshold_of_the_first_gate_open_nothing(make_gate, stored, text, named):
    gate = make_gate(policy=text, critical=["*"], environment="webshop", **named)
    dear, fair = purchase(0, wrong=True), purchase(0, wrong=False)
    answer = gate.ask(dear.instruction, dear.steps[:-1], dear.critical_action, task_id="a")
    assert isinstance(answer, Wait)
    (item,), verdicts = stored(tables.Item), stored(tables.Verdict)
    assert [(row.detector, row.flagged) for row in verdicts if row.id == item.verdict_id] == [("rules", True)]
    assert answer.withdraw().score == verdicts[0].score > 0.5
    assert gate.ask(fair.instruction, fair.steps[:-1], fair.critical_action, task_id="b").reason is Reason.NOT_FLAGGED


def test_a_threshold_is_for_the_detector_that_it_is_named_with(make_gate):
    gate = make_gate(detector="random", threshold=0.05)
    asked = [gate.ask(TASK, STEPS, f"pay[{n}]", task_id=f"{n}") for n in range(60)]
    let_run = [answer for answer in asked if not isinstance(answer, Wait)]
    assert let_run
    assert all(answer.score <= 0.05 for answer in let_run)


def test_a_later_gate_s_detector_counts_where_it_flags(make_gate):
    make_gate(detector="random", threshold=1.0).open()
    assert isinstance(make_gate(detector="full-validation").ask(TASK, STEPS, "pay[12]", task_id="a"), Wait)
    assert (
        make_gate(detector="random", threshold=1.0).ask(TASK, STEPS, "pay[12]", task_id="b").reason
        is Reason.NOT_FLAGGED
    )


@pytest.mark.parametrize("named", LAX)
def test_a_run_that_an_agent_names_over_http_asks_about_everything(make_gate, stored, named):
    """It has no common policy; whoever has the database open may bring patterns, an agent with a token may not."""
    gate = make_gate(policy=None, run="never heard of", critical=["*"], **named)
    for number in range(2):
        assert isinstance(gate.ask_for(Asker(None, "api"), TASK, STEPS, "look[1]", task_id=f"t{number}"), Wait)
    (policy,) = stored(tables.Policy)
    assert (policy.author, policy.text) == ("the console's default", "default: ask\nrules: []\n")


def test_terms_of_the_rule_bind_reviewers(make_gate, person, stored):
    text = "rules:\n- {tool: pay, then: ask, reviews: 2, decisions: [approve, reject], who: [ann, bob], deadline: 60}"
    make_gate(policy=text).ask(TASK, STEPS, "pay({})", timeout_s=3600)
    (item,), (ask,) = stored(tables.Item), stored(tables.Ask)
    assert item.reviews_required == 2
    assert ask.deadline_ms - ask.asked_ms == 60_000
    with pytest.raises(Refused, match="accepts decisions by ann, bob, not by eve"):
        person("eve").answer("approve")


@pytest.mark.parametrize(("decision", "offered"), [("edit", "approve, reject"), ("approve", "reject")])
def test_decision_that_the_rule_does_not_offer_is_refused(make_gate, person, decision, offered):
    make_gate(policy=f"rules:\n- {{tool: pay, then: ask, decisions: [{offered}]}}").ask(TASK, STEPS, "pay({})")
    with pytest.raises(Refused, match=f"offers .*reject, not {decision}"):
        person("ann").answer(decision, edited_action="pay[2]" if decision == "edit" else None)


@pytest.mark.parametrize(("who", "roles", "may"), [
    (["researcher"], {"reviewer"}, False),
    (["researcher"], {"reviewer", "researcher"}, True),
    (["ann"], {"reviewer"}, True),
    (["bob", "admin"], {"reviewer", "researcher"}, False),
])  # fmt: skip
def test_who_may_decide_is_a_name_or_a_role(make_gate, person, url, who, roles, may):
    make_gate(policy=f"rules:\n- {{tool: pay, then: ask, who: [{', '.join(who)}]}}").ask(TASK, STEPS, "pay({})")
    run, claim = person("ann").claim()
    answered = (review_queue(url), run, claim, "ann", decisions.ReviewDecision("approve"), now_ms())
    if may:
        assert decisions.submit(*answered, roles=roles).decision == "approve"
    else:
        with pytest.raises(Refused, match=f"accepts decisions by {', '.join(who)}, not by ann"):
            decisions.submit(*answered, roles=roles)
    with reading(url) as session:
        refusal = decisions.get_review_terms(session, claim.item_id).refusal("escalate", "ann", roles)
    assert refusal is None


@pytest.mark.parametrize(("doors", "door", "may"), [
    ("browser", "browser", True),
    ("browser", "cli", False),
    ("[cli, python]", "browser", False),
    ("[cli, python]", "python", True),
])  # fmt: skip
def test_a_rule_says_by_which_doors_a_decision_comes_in(make_gate, person, doors, door, may):
    wait = make_gate(policy=f"rules:\n- {{tool: pay, then: ask, doors: {doors}}}").ask(TASK, STEPS, "pay({})")
    if may:
        person("ann").answer("approve", door=Door(door))
        assert wait.look().approved
        return
    with pytest.raises(Refused, match=f"accepts decisions through .*, not through {door}"):
        person("ann").answer("approve", door=Door(door))
    assert person("ann").answer("escalate", door=Door(door)).decision == "escalate"


def test_denied_question_leaves_the_queue_and_gives_its_unit_back(make_gate, person, policy, items, url):
    gate = make_gate(policy="default: ask", budget=5)
    waiting = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    run, _ = person("ann").claim()
    held = review_queue(url).budget(run_id=run.id, trial=0)
    policy("default: deny")
    assert gate.ask(TASK, STEPS, "pay[1]", task_id="a").reason is Reason.DENIED
    assert items() == ["cancelled"]
    assert (held.used, review_queue(url).budget(run_id=run.id, trial=0).used) == (1, 0)
    assert waiting.look().approved is False
    assert check(url) == []


def test_rejection_of_another_agent_or_another_task_is_not_repeated(make_gate, person):
    """What one agent was told is neither an answer to another nor to another task, trial or action."""
    gate = make_gate()
    ask = (TASK, STEPS, "pay[2]")
    gate.ask(*ask, task_id="march")
    person().answer("reject", "That is the April bill.")
    gate.ask(*ask, task_id="march").look()
    assert gate.ask(TASK, [*STEPS, ("think", "more")], "pay[2]", task_id="march").reason is Reason.ALREADY_REJECTED
    for other in (("pay[3]", "march", TASK), ("pay[2]", "april", TASK), ("pay[2]", "march", "another task")):
        action, task_id, task = other
        assert isinstance(gate.ask(task, [*STEPS, ("think", "more")], action, task_id=task_id), Wait)
    assert isinstance(gate.ask(TASK, [*STEPS, ("think", "more")], "pay[2]"), Wait)
    with writing(gate.open()) as session:
        agents.add(session, "other bot", now_ms())
    asker = Asker(1, "other bot")
    assert isinstance(gate.ask_for(asker, TASK, [*STEPS, ("think", "more")], "pay[2]", task_id="march"), Wait)


def test_rejected_action_sent_again_in_its_task_is_answered_from_the_rejection(make_gate, person, meanwhile, items):
    gate = make_gate()
    meanwhile(person().answer, "reject", "That is the April bill.")
    first = gate.check(TASK, STEPS, "pay[2]", task_id="march")
    again = gate.check(TASK, [*STEPS, ("think", "once more")], "pay[2]", task_id="march")
    assert (again.approved, again.reason, again.decision_id) == (False, Reason.ALREADY_REJECTED, first.decision_id)
    assert "already rejected" in again.feedback
    assert "That is the April bill." in again.feedback
    assert items() == ["delivered"]
    assert isinstance(gate.ask(TASK, STEPS, "pay[2]", task_id="april"), Wait)


def test_rejection_is_repeated_for_a_question_that_nobody_answered_before_too(make_gate, person, items, policy):
    gate = make_gate()
    assert gate.ask(TASK, STEPS, "pay[2]", task_id="march", timeout_s=0).look().reason is Reason.TIMEOUT
    wait = gate.ask(TASK, [*STEPS, ("think", "once more")], "pay[2]", task_id="march")
    person().answer("reject", "That is the April bill.")
    assert wait.look().reason is Reason.REJECTED
    assert gate.ask(TASK, STEPS, "pay[2]", task_id="march").reason is Reason.ALREADY_REJECTED
    assert items() == ["expired", "delivered"]
    # What the policy denies by now is the policy's word, and stands in its counts.
    policy("default: deny")
    assert gate.ask(TASK, STEPS, "pay[2]", task_id="march").reason is Reason.DENIED


def test_approval_that_has_not_begun_is_not_repeated_under_a_rule_that_denies_by_now(make_gate, person, policy):
    gate = make_gate(policy="default: ask")
    wait = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    person().answer("approve")
    assert wait.look().approved
    policy("default: deny")
    assert gate.ask(TASK, STEPS, "pay[1]", task_id="a").reason is Reason.DENIED


def test_what_only_a_detector_passed_is_asked_about_under_a_rule_that_asks_by_now(make_gate, policy):
    gate = make_gate(policy="default: judge", detector="random", threshold=1.0)
    for text, reason in (("default: judge", Reason.NOT_FLAGGED), ("default: deny", Reason.DENIED)):
        policy("default: judge")
        assert gate.ask(TASK, STEPS, "look({})", task_id=text).reason is Reason.NOT_FLAGGED
        policy(text)
        assert gate.ask(TASK, STEPS, "look({})", task_id=text).reason is reason
    policy("default: ask")
    assert isinstance(gate.ask(TASK, STEPS, "look({})", task_id="default: judge"), Wait)


def test_rejection_stays_the_answer_under_a_rule_that_denies_by_now(make_gate, person, policy):
    gate = make_gate(policy="default: ask")
    wait = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    person().answer("reject", "Not this one.")
    rejected = wait.look()
    policy("default: deny")
    assert gate.ask(TASK, STEPS, "pay[1]", task_id="a") == rejected
    assert (rejected.reason, rejected.feedback) == (Reason.REJECTED, "Not this one.")


def test_rule_that_allows_by_now_and_shadow_count_more_than_what_was_said_before(make_gate, person, policy):
    gate = make_gate(policy="default: ask")
    wait = gate.ask(TASK, STEPS, "look[1]", task_id="a")
    person().answer("reject")
    assert wait.look().reason is Reason.REJECTED
    for text, reason in (("default: allow", Reason.NOT_CRITICAL), ("mode: shadow", Reason.SHADOW)):
        policy(text)
        assert gate.check(TASK, STEPS, "look[1]", task_id="a").reason is reason


def test_shadow_records_and_never_blocks(make_gate, stored):
    gate = make_gate(policy="{mode: shadow, default: deny}")
    for _ in range(2):
        decision = gate.check(TASK, STEPS, "pay({})", task_id="a")
        assert (decision.approved, decision.reason) == (True, Reason.SHADOW)
    assert "ruling would be deny" in decision.feedback
    assert [(ask.answer, ask.rule) for ask in stored(tables.Ask)] == [("shadow", "default")]


def test_shadow_records_what_was_asked_about_before_it_too(make_gate, policy, stored, items):
    gate = make_gate(policy="default: ask")
    assert gate.ask(TASK, STEPS, "look[1]", task_id="a", timeout_s=0).look().reason is Reason.TIMEOUT
    gate.ask(TASK, STEPS, "look[2]", task_id="a")
    policy("mode: shadow")
    for place in (1, 2):
        assert gate.check(TASK, STEPS, f"look[{place}]", task_id="a").reason is Reason.SHADOW
    assert [ask.answer for ask in stored(tables.Ask)] == ["timeout", None, "shadow", "shadow"]
    assert items() == ["expired", "cancelled"]
    policy("default: ask")
    assert gate.ask(TASK, STEPS, "look[2]", task_id="a").look() is None


@pytest.mark.at_length
def test_rollout_leaves_the_other_tasks_to_the_version_before(make_gate, policy):
    gate = make_gate(policy="default: allow")
    policy("{default: deny, rollout: 30%}")
    reasons = [gate.check(TASK, STEPS, "look[1]", task_id=f"task {number}").reason for number in range(60)]
    again = [gate.check(TASK, STEPS, "look[1]", task_id=f"task {number}").reason for number in range(60)]
    assert 6 < reasons.count(Reason.DENIED) < 32
    assert reasons == again


def test_go_ahead_that_has_not_begun_does_not_outlive_a_stricter_policy(make_gate, policy, stored):
    gate = make_gate(policy="default: judge", detector="random", threshold=1.0)
    unflagged = gate.ask(TASK, STEPS, "look({})", task_id="a")
    assert unflagged.reason is Reason.NOT_FLAGGED
    policy("default: ask")
    begun = gate.begin(unflagged)
    assert (begun.approved, begun.reason) == (False, Reason.DENIED)
    assert "Submit the action again" in begun.feedback
    policy("default: judge")
    assert gate.begin(unflagged).approved
    assert len(stored(tables.Intent)) == 1


@pytest.mark.parametrize(("then", "approved"), [("deny", False), ("ask", True), ("judge", True)])
def test_what_a_person_lets_run_is_denied_where_a_rule_says_so_by_then(make_gate, person, policy, then, approved):
    gate = make_gate(policy="default: ask")
    wait = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    person().answer("approve", "Go on.")
    policy(f"default: {then}")
    decision = wait.look()
    assert (decision.approved, decision.reason) == (approved, Reason.APPROVED if approved else Reason.DENIED)
    assert "Go on." in decision.feedback
    assert gate.begin(decision).approved is approved


def test_go_ahead_of_a_person_does_not_begin_once_a_rule_denies_it(make_gate, person, policy, stored):
    gate = make_gate(policy="default: ask")
    wait = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    person().answer("approve")
    decision = wait.look()
    assert decision.approved
    policy("default: deny")
    assert gate.begin(decision).reason is Reason.DENIED
    policy("{default: deny, mode: shadow}")
    assert gate.begin(decision).approved
    assert len(stored(tables.Intent)) == 1


def test_edit_to_a_tool_that_a_rule_denies_does_not_run(make_gate, person, stored):
    gate = make_gate(policy="rules:\n- {tool: drop, then: deny}")
    wait = gate.ask(TASK, STEPS, "pay[1]", task_id="a")
    person().answer("edit", "Rather drop it.", edited_action="drop[1]", allow_other_tool=True)
    decision = wait.look()
    assert (decision.approved, decision.reason) == (False, Reason.DENIED)
    assert "Rather drop it." in decision.feedback
    assert stored(tables.Intent) == []
    (event,) = [row for row in stored(tables.Event) if row.kind == "gate: denied"]
    assert json.loads(event.detail) == {"item_id": decision.item_id, "let run": False, "action": "drop[1]"}


@sweep(("terms", "runs_it"), [
    ("who: [boss]", False),
    ("who: [admin]", False),
    ("who: [researcher]", True),
    ("who: [ann]", True),
    ("reviews: 2", False),
    ("decisions: [approve, reject]", False),
    ("doors: [browser, cli]", False),
    ("doors: python", True),
    ("deadline: 60", True),
])  # fmt: skip
def test_edit_runs_only_where_those_who_made_it_may_decide_on_what_it_says(make_gate, person, url, terms, runs_it):
    gate = make_gate(policy=f"rules:\n- {{tool: pay, when: args.amount > 100, then: ask, {terms}}}")
    with writing(url) as session:
        people.add_person(session, "ann", [Role.RESEARCHER], 0)
    wait = gate.ask(TASK, STEPS, 'pay({"amount":50})', task_id="a")
    person("ann").answer("edit", "Rather more.", edited_action='pay({"amount":5000})', door=Door.PYTHON)
    decision = wait.look()
    assert (decision.approved, decision.reason) == (runs_it, Reason.EDITED if runs_it else Reason.DENIED)
    assert ("requires other reviewers or entry points for the reviewers' edit" in decision.feedback) is not runs_it
    assert "Rather more." in decision.feedback
    assert gate.ask(TASK, STEPS, 'pay({"amount":5000})', task_id="a").look() is None


def test_edit_to_what_a_rule_allows_runs(make_gate, person):
    gate = make_gate(policy="rules:\n- {tool: look, then: allow}")
    wait = gate.ask(TASK, STEPS, "pay({})", task_id="a")
    person().answer("edit", edited_action="look({})", allow_other_tool=True)
    assert wait.look().approved


def test_agent_that_asks_in_another_run_is_asked_about_where_its_rules_name_their_agents(make_gate, url):
    gate = make_gate(policy="rules:\n- {agent: support-bot, tool: look, then: allow}")
    with writing(url) as session:
        tokens = [agents.add(session, name, 0) for name in ("support-bot", "other-bot")]
        known = [agents.find_by_token(session, token) for token in tokens]
    own, other = (gate.ask_for(Asker(one.id, one.name), TASK, STEPS, "look({})", task_id="a") for one in known)
    assert own.reason is Reason.NOT_CRITICAL
    assert other.look() is None
