"""How long a request waits for a person, and which thresholds judge it."""

import json
import threading

import pytest
from inferact_client.decision import Decision
from sqlalchemy import Engine, event

from console import runs
from console.auth import agents
from console.auth.audit_log import Door
from console.database import now_ms, reading, writing
from console.errors import BadInput, Refused, TooMany
from console.gate import Gate, GateDecision, Reason
from console.gate.checks import Wait, check_id_of_item
from console.gate.limits import refuse_run
from console.gate.policy import Policy, policy_store
from console.gate.policy.policy_store import PolicyVersion
from console.gate.policy.rules import PolicyMode, Ruling, Then
from console.gate.request import NOBODY, Asker, Ruled, Tightened, check_request
from console.gate.served_console import ServedConsole, _convert, _describe
from console.gate.submit import SubmitOptions
from console.runs import maintenance
from console.settings import settings
from console.trajectory import Step
from storage import tables
from storage.tables import RunKind

VERSION = PolicyVersion(1, 7, "default: ask", "ada", 0, own=True)


def ruled(**terms):
    return Ruled(VERSION, Ruling(Then.ASK, "rule 1", "pay", **terms))


@pytest.mark.parametrize(
    ("timeout_ms", "deadline_s", "waits_ms"),
    [
        (None, None, 1_800_000),
        (1_799_999, None, 1_799_999),
        (1_800_001, None, 1_800_001),
        (None, 0.0015, 2),
        (None, 259_200, 259_200_000),
        (500, 0.4, 400),
        (300, 0.4, 300),
        (0, 0.4, 0),
    ],
)
def test_agent_that_waits_can_shorten_the_deadline_of_the_rule(timeout_ms, deadline_s, waits_ms):
    options = SubmitOptions("sqlite://", "shop", timeout_ms=timeout_ms, begins=True)
    assert options.deadline_ms(10_000, ruled(deadline_s=deadline_s)) == 10_000 + waits_ms


def test_agent_that_comes_back_later_has_the_deadline_of_the_rule():
    for timeout_ms in (None, 300, 500):
        options = SubmitOptions("sqlite://", "shop", timeout_ms=timeout_ms)
        assert options.deadline_ms(10_000, ruled(deadline_s=0.4)) == 10_400
    assert SubmitOptions("sqlite://", "shop", timeout_ms=300).deadline_ms(10_000, ruled()) == 10_300


@pytest.mark.parametrize(("timeout_ms", "until_ms"), [(None, 50_000), (1_000, 11_000), (60_000, 50_000)])
def test_agent_waits_for_its_own_time_and_at_most_until_the_deadline(timeout_ms, until_ms):
    assert SubmitOptions("sqlite://", "shop", timeout_ms=timeout_ms).wait_until_ms(10_000, 50_000) == until_ms


@pytest.mark.parametrize(
    ("beats", "deadline_s", "begins", "timeout_ms", "ends"),
    [
        (True, None, False, None, True),
        (True, None, True, 5, True),
        (True, 60, False, None, False),
        (True, 60, False, 5, False),
        (True, 60, True, None, False),
        (True, 60, True, 5, True),
        (False, None, True, 5, False),
        (False, 60, True, 5, False),
    ],
)
def test_a_check_ends_without_heartbeats_unless_its_agent_can_come_back(beats, deadline_s, begins, timeout_ms, ends):
    options = SubmitOptions("sqlite://", "shop", timeout_ms=timeout_ms, begins=begins, beats=beats)
    assert options.beats_under(ruled(deadline_s=deadline_s)) is ends


def test_a_heartbeat_is_due_after_two_seconds_and_once_the_clock_was_set_back():
    wait = Wait("sqlite://", None, now_ms() + 60_000, beaten_ms=10_000)
    assert [wait.is_beat_due(at_ms) for at_ms in (9_999, 10_000, 11_999, 12_000)] == [True, False, False, True]


def test_a_wait_is_over_at_its_deadline_or_with_its_cancellation():
    wait, gone = Wait("sqlite://", None, now_ms() + 60_000), threading.Event()
    assert [wait.is_over(wait.deadline_ms + more_ms) for more_ms in (-1, 0)] == [False, True]
    cancellable = Wait("sqlite://", None, now_ms() + 60_000, gone)
    assert not cancellable.is_over(now_ms())
    gone.set()
    assert cancellable.is_over(now_ms())
    assert Wait("sqlite://", None, now_ms() - 1).is_over(0)


LIMITED = "{default: ask, rules: [{tool: look, then: %s, limit: {count: 9, per: day}}]}"


@pytest.mark.parametrize(
    ("policy", "ask", "synchronous"),
    [
        ("default: allow", Gate.check, 1),
        (LIMITED % "allow", Gate.check, 2),
        ("default: ask", Gate.ask, 2),
        ("default: deny", Gate.check, 2),
        ("default: judge", Gate.ask, 1),
        ("default: judge", Gate.check, 2),
        (LIMITED % "judge", Gate.ask, 2),
    ],
)
def test_what_a_check_rests_on_survives_a_power_cut(make_gate, policy, ask, synchronous):
    gate, found = make_gate(policy, detector="random", threshold=1.0, critical=[]), []
    gate.open()

    def note(connection):
        found.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())

    event.listen(Engine, "commit", note)
    try:
        ask(gate, "Pay the bills.", [("look", "bills")], "look({})", task_id="a")
    finally:
        event.remove(Engine, "commit", note)
    # 1 survives a killed process, 2 a power cut; the last of several commits is the one of the check.
    assert found[-1] == synchronous


@pytest.mark.parametrize(("run", "rule", "caller", "most"), [(3, 1, 2, 3), (1, 3, 2, 3), (1, 2, 3, 3), (1, 1, 1, 1)])
def test_the_strictest_says_how_many_look(run, rule, caller, most):
    found = Ruled(VERSION, Ruling(Then.ASK, "rule 1", reviews=rule), Tightened(reviews=caller))
    assert found.reviews(tables.Run(reviews_per_item=run)) == most


@pytest.mark.parametrize(
    ("then", "flagged", "asks"),
    [(Then.ASK, 0, True), (Then.ASK, 1, True), (Then.JUDGE, 1, True), (Then.JUDGE, 0, False)],
)
def test_a_person_looks_where_a_rule_or_a_detector_says_so(then, flagged, asks):
    assert Ruled(VERSION, Ruling(then, "rule 1")).asks({"flagged": flagged}) is asks


def test_a_ruling_brings_its_columns_and_its_terms():
    assert ruled().columns == {"policy_version": 7, "rule": "rule 1", "tool": "pay"}
    assert json.loads(ruled().terms()) == {"doors": ["browser", "python"]}
    assert json.loads(ruled(doors=("browser",)).terms()) == {"doors": ["browser"]}
    stated = {"decisions": ("edit", "reject"), "who": (), "doors": ("cli",)}
    assert json.loads(ruled(**stated).terms()) == {name: list(words) for name, words in stated.items()}


@pytest.mark.parametrize(
    ("of_run", "of_caller", "flagged"),
    [(0.0, None, True), (1.0, None, False), (1.0, 0.0, True), (0.0, 1.0, True), (1.0, 1.0, False)],
)
def test_the_lowest_threshold_that_is_named_judges(make_gate, stored, of_run, of_caller, flagged):
    make_gate(detector="random", threshold=of_run).open()
    answer = make_gate(detector="random", threshold=of_caller).ask("refund order 12", [("look", "order 12")], "pay[12]")
    (verdict,) = stored(tables.Verdict)
    assert verdict.flagged is flagged
    assert hasattr(answer, "look") is flagged


def test_run_that_was_deleted_is_not_made_again_under_an_open_gate(make_gate, url):
    gate = make_gate()
    assert gate.ask("Pay the bill.", [], "look[1]").approved
    with writing(url) as session:
        maintenance.delete_run(session, runs.get(session, "shop-bot"), now_ms())
    with pytest.raises(Refused, match=r"Run 'shop-bot' was deleted since this gate opened it\. Create the gate again"):
        gate.ask("Pay the bill.", [], "look[1]")
    assert make_gate().ask("Pay the bill.", [], "look[1]").approved


def test_run_that_no_policy_is_there_for_asks_about_everything(make_gate, url):
    with writing(url) as session:
        run = runs.create(session, "bare", RunKind.GATE, 0, critical='["pay*"]', detector="random", threshold=1.0)
        session.expunge(run)
    waiting = make_gate(policy=None, run="bare").ask("Pay the bill.", [], "look[1]", task_id="march")
    assert isinstance(waiting, Wait)
    with reading(url) as session:
        (version,) = policy_store.list_versions(session, run)
    assert (version.author, version.policy) == (policy_store.BY_NOBODY, Policy())


@pytest.mark.parametrize(
    ("policy", "answer", "is_answered", "has_item", "may_run"),
    [
        ("rules: [{name: r, tool: look, then: ask}]", None, False, True, False),
        ("rules: [{name: r, tool: look, then: judge}]", "not_flagged", True, False, True),
        ("rules: [{name: r, tool: look, then: deny}]", "denied", True, False, False),
        ("{mode: shadow, rules: [{name: r, tool: look, then: deny}]}", "shadow", True, False, False),
    ],
)
def test_a_check_is_stored_with_all_that_was_asked_and_answered(
    make_gate, stored, policy, answer, is_answered, has_item, may_run
):
    gate, began_ms = make_gate(policy, detector="random", threshold=1.0, critical=[], agent="bot"), now_ms()
    gate.ask("Pay the bills.", [("look", "bills")], "look({})", task_id="a")
    (ask,), (trajectory,) = stored(tables.Ask), stored(tables.Trajectory)
    at_ms = ask.asked_ms
    assert began_ms <= at_ms <= now_ms()
    request = check_request("Pay the bills.", [("look", "bills")], "look({})", task_id="a")
    is_judged = answer not in ("denied", "shadow")
    assert ask.model_dump(exclude={"token"}) == {
        **{"id": 1, "run_id": 1, "trajectory_id": trajectory.id, "digest": request.digest, "step": 1},
        **{"item_id": 1 if has_item else None, "agent_id": None, "asker": "bot", "decision_id": None},
        **{"asked_ms": at_ms, "heartbeat_ms": at_ms, "deadline_ms": at_ms + 1_800_000 if is_judged else None},
        **{"answer": answer, "answered_ms": at_ms if is_answered else None, "beats": is_judged},
        **{"action": "look({})" if may_run else None, "policy_version": 1, "rule": "r", "tool": "look"},
    }


@pytest.mark.parametrize(("mode", "outcome"), [("enforce", "rejected"), ("shadow", "running")])
def test_a_denied_action_is_a_rejected_trial_and_a_watched_one_goes_on(make_gate, stored, mode, outcome):
    make_gate(f"{{default: deny, mode: {mode}}}").check("Pay the bill.", [], "pay[1]")
    (trajectory,) = stored(tables.Trajectory)
    assert trajectory.outcome == outcome


def test_an_approval_of_a_person_stays_valid_under_a_rule_that_asks(make_gate, person, meanwhile):
    gate = make_gate()
    meanwhile(person("Ada").answer, "approve", "as agreed")
    waiting = gate.ask("Pay the bill.", [], "pay[1]", task_id="march")
    while (decision := waiting.look()) is None:
        pass
    assert decision.approved
    with writing(waiting.url) as session:
        policy_store.save(session, None, "default: ask", "ada", now_ms())
    again = gate.ask("Pay the bill.", [], "pay[1]", task_id="march")
    assert (again.approved, again.reason) == (True, decision.reason)


def test_only_an_agents_own_gate_runs_of_the_last_day_count(url, monkeypatch):
    monkeypatch.setenv("INFERACT_AGENT_RUNS", "1")
    settings.cache_clear()
    at_ms, day_ms = now_ms(), 86_400_000

    def create(session, name, kind=RunKind.GATE, actor="bot", ago_ms=0):
        runs.create(session, name, kind, at_ms - ago_ms, actor=actor)
        session.flush()

    with writing(url) as session:
        create(session, "live", RunKind.LIVE)
        create(session, "other", actor="other")
        create(session, "yesterday", ago_ms=day_ms)
        refuse_run(session, "bot", at_ms)
        create(session, "today", ago_ms=day_ms - 1)
        with pytest.raises(TooMany, match="has created 1 runs within a day"):
            refuse_run(session, "bot", at_ms)


def test_only_an_agents_own_checks_that_still_wait_count(make_gate, url, monkeypatch):
    monkeypatch.setenv("INFERACT_AGENT_WAITING", "1")
    settings.cache_clear()
    gate = make_gate("default: ask")
    with writing(url) as session:
        for name in ("bot", "other"):
            agents.add(session, name, now_ms())

    def ask(number, asker=None, **options):
        return gate.ask_for(
            asker or Asker(1, "bot"), "Pay the bill.", [], f"pay[{number}]", task_id=f"t{number}", **options
        )

    for number in range(2):
        ask(number, NOBODY)
    waiting = ask(2)
    with pytest.raises(TooMany, match="1 checks of this agent are pending"):
        ask(3)
    assert ask(2).check.ask.token == waiting.check.ask.token
    ask(3, Asker(2, "other"))
    waiting.withdraw()
    ask(4, timeout_s=0)
    ask(5)
    with pytest.raises(TooMany):
        ask(6)


def test_the_words_of_reasons_and_outcomes_are_those_that_agents_and_policies_read():
    assert [str(one) for one in Reason] == [
        *("not_critical", "not_flagged", "approved", "edited", "shadow", "denied", "already_rejected", "rejected"),
        *("responded", "timeout", "budget_spent", "cancelled", "already_handed_out", "unreachable"),
        *("detector_failed", "void"),
    ]
    assert [[str(one) for one in kind] for kind in (Then, PolicyMode, Door)] == [
        ["allow", "judge", "ask", "deny"],
        ["enforce", "shadow"],
        ["browser", "cli", "api", "python", "import"],
    ]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        *[("budget", 0, 2**31 - 1), ("reviews_per_item", 1, 2**31 - 1), ("threshold", 0, 1)],
        *[(seconds, 0, 2**31 - 1) for seconds in ("timeout_s", "poll_s", "undo_s")],
    ],
)
def test_a_number_of_a_gate_is_within_its_bounds(name, least, most):
    for given in (least, most):
        Gate("shop-bot", **{name: given})
    for wrong in (least - 1, most + 1, True, "1"):
        with pytest.raises(BadInput, match=f"{name} is {wrong!r}. Use a number from {least} to {most}, or None"):
            Gate("shop-bot", **{name: wrong})


def test_a_gate_on_a_served_console_says_what_it_cannot_do():
    served = Gate("shop-bot", url="http://127.0.0.1:9/", token="agent-token")
    assert served.open() == "http://127.0.0.1:9"
    with pytest.raises(BadInput, match="A served console cannot return a `Wait`"):
        served.ask("Pay the bill.", [], "pay[1]")
    with pytest.raises(BadInput, match="A token works only with a served console"):
        Gate("shop-bot", url="sqlite:///console.db", token="agent-token")


@pytest.mark.parametrize(
    ("timeout_s", "undo_s", "longest_s"),
    [(None, None, 1_806), (3, None, 4), (60, 0, 61), (60, 10, 71), (0, 10, 0)],
)
def test_a_gate_leaves_a_person_the_whole_time_and_the_undo_besides(timeout_s, undo_s, longest_s):
    served = ServedConsole("http://127.0.0.1:9", "agent-token", {"run": "shop-bot", "undo_s": undo_s})
    assert served._deadline_s(timeout_s) == longest_s


@pytest.mark.parametrize("task_id", ["march", None])
def test_a_served_console_is_told_the_whole_request(task_id):
    steps = [Step("think", "look[bills]", "two bills")]
    schema = {"type": "object"}
    request = check_request("Pay the bill.", steps, "pay({})", task_id=task_id, trial=2, tool_schema=schema)
    assert _describe(request) == {
        "task": "Pay the bill.",
        "task_id": task_id,
        "trial": 2,
        "steps": [{"thought": "think", "action": "look[bills]", "observation": "two bills"}],
        "action": "pay({})",
        "tool_schema": schema,
    }


def test_the_decision_of_a_served_console_is_the_gate_s():
    edited = Decision(True, "pay({})", "Less.", "edited", None, "c" * 32, 4, 5, 0.25)
    found = GateDecision(True, "pay({})", "Less.", Reason.EDITED, 4, 5, 0.25, check_id="c" * 32)
    assert _convert(edited) == found
    away = Decision(False, "pay({})", reason="refused")
    assert _convert(away) == GateDecision(False, "pay({})", away.message, Reason.UNREACHABLE)


def test_the_id_of_an_item_is_that_of_its_latest_check(make_gate, url):
    waiting = make_gate().ask("Pay the bill.", [], "pay[1]")
    with writing(url) as session:
        ask = session.get_one(tables.Ask, 1)
        assert check_id_of_item(session, ask.item_id) == waiting.check.ask.token
        session.add(tables.Ask(**ask.model_dump(exclude={"id"}) | {"digest": "later", "token": "f" * 32}))
        session.flush()
        assert check_id_of_item(session, ask.item_id) == "f" * 32
        assert check_id_of_item(session, ask.item_id + 1) is None
