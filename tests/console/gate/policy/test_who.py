"""Who decides: people, roles, groups, everyone but the one who asked, and more people after a time."""

import json

import pytest
from sqlmodel import select

from console.auth import agents, people
from console.auth.people import Role
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.gate import Reason
from console.gate.policy import CheckFacts, read_policy, ruling
from console.gate.request import Asker
from console.review.access import get_review_terms
from storage import tables
from tests.sweeps import sweep

TASK, STEPS = "Pay the March bill only.", [("look", "two bills")]


@pytest.fixture
def known(url):
    """Adds people and the group finance of Ada and Bob; a function that adds an agent of that owner."""
    with writing(url) as session:
        for name, role in {"Ada": "reviewer", "Bob": "researcher", "Cyd": "reviewer", "Root A": "admin"}.items():
            people.add_person(session, name, [Role(role)], 0)
        people.change_group(session, "finance", 0, add=["Ada", "Bob"])

    def agent(owner):
        with writing(url) as session:
            agents.add(session, "bot", 0, owner)
        return Asker(1, "bot")

    return agent


def ask(make_gate, who, known, owner="Ada", **more):
    terms = ", ".join([f"who: {who}", *(f"{name}: {value}" for name, value in more.items())])
    gate = make_gate(f"rules: [{{tool: pay, then: ask, {terms}}}]")
    return gate.ask_for(known(owner), TASK, STEPS, "pay({})")


def settle(url):
    """Ends the time in which decisions can be undone."""
    with writing(url) as session:
        for row in session.exec(select(tables.Decision)):
            row.deliverable_ms = 0


def may_decide(url, roles=None, at_ms=None):
    given = {"Ada": ["reviewer"], "Bob": ["researcher"], "Cyd": ["reviewer"], "Root A": ["admin"]} | (roles or {})
    with writing(url) as session:
        terms = get_review_terms(session, 1)
    return [name for name, roles in given.items() if terms.refusal("approve", name, {"reviewer", *roles}) is None]


@sweep(
    ("who", "owner", "may"),
    [
        ("[group:finance]", "Ada", ["Ada", "Bob"]),
        ("[group:FINANCE, Cyd]", "Ada", ["Ada", "Bob", "Cyd"]),
        ("['group:nobody in it']", "Ada", []),
        ("[role:admin]", "Ada", ["Root A"]),
        ("others", "Ada", ["Bob", "Cyd", "Root A"]),
        ("[others, group:finance]", "Ada", ["Bob"]),
        ("[group:finance, others]", "ada", ["Bob"]),
        ("others", "", ["Root A"]),
        ("[group:finance, others]", "", []),
        ("[group:finance, role:admin, others]", "", ["Root A"]),
    ],
    kept=4,
)
def test_rule_says_who_decides(make_gate, url, known, who, owner, may):
    ask(make_gate, who, known, owner)
    assert may_decide(url) == may


def test_refused_person_cannot_decide_and_another_can(make_gate, url, known, person):
    waiting = ask(make_gate, "others", known)
    with pytest.raises(Refused, match="in your name, so another person must decide"):
        person("Ada").answer("approve")
    review_of_ada = person("Ada").answer("escalate", note="not mine to say")
    assert review_of_ada.decision == "escalate"
    person("Bob").answer("approve")
    settle(url)
    assert waiting.look().reason is Reason.APPROVED


def test_in_process_the_agent_may_have_the_name_of_a_person(make_gate, url, known):
    gate = make_gate("rules: [{tool: pay, then: ask, who: others}]", agent="ada")
    gate.ask(TASK, STEPS, "pay({})")
    assert may_decide(url) == ["Bob", "Cyd", "Root A"]
    assert may_decide(url, {"Ada": ["admin"]}) == ["Bob", "Cyd", "Root A"]


def test_members_are_those_of_the_moment(make_gate, url, known):
    ask(make_gate, "[group:finance]", known)
    with writing(url) as session:
        people.change_group(session, "Finance", 0, add=["Cyd"], remove=["Bob"])
        assert people.list_groups(session) == {"finance": ["Ada", "Cyd"]}
    assert may_decide(url) == ["Ada", "Cyd"]


def test_person_who_is_no_member_cannot_be_removed(url, known):
    with (
        writing(url) as session,
        pytest.raises(BadInput, match=r"Cyd is not a member of group finance. Name a member: Ada"),
    ):
        people.change_group(session, "finance", 0, remove=["Cyd"])


@pytest.mark.parametrize(
    ("who", "to", "before", "after"),
    [
        ("[group:finance]", "[role:admin]", ["Ada", "Bob"], ["Ada", "Bob", "Root A"]),
        ("[Cyd]", "[group:finance]", ["Cyd"], ["Ada", "Bob", "Cyd"]),
        ("[Cyd, others]", "[group:finance]", ["Cyd"], ["Bob", "Cyd"]),
        ("others", "[role:admin]", ["Bob", "Cyd", "Root A"], ["Bob", "Cyd", "Root A"]),
    ],
)
def test_after_a_time_more_people_may_decide_and_never_fewer(make_gate, url, known, who, to, before, after):
    widen = f"{{after: 10m, to: {to}}}"
    ask(make_gate, who, known, widen=widen)
    assert may_decide(url) == before
    with writing(url) as session:
        item = session.get_one(tables.Item, 1)
        terms = json.loads(item.terms)
        assert terms["widen"]["from_ms"] - session.get_one(tables.Ask, 1).asked_ms == 600_000
        terms["widen"]["from_ms"] = now_ms()
        item.terms = json.dumps(terms)
    assert may_decide(url) == after


@pytest.mark.parametrize(
    ("first", "second", "who", "widen"),
    [
        ("who: [a, b]", "who: [b, c]", ("b",), None),
        ("who: [a, others]", "who: [a]", ("a", "others"), None),
        ("who: others", "who: [a]", ("a", "others"), None),
        ("who: others", "reviews: 2", ("others",), None),
        ("who: [a]", "who: [b]", (), None),
        ("who: [a], widen: {after: 5, to: [c]}", "who: [a]", ("a",), None),
        ("who: [a], widen: {after: 5, to: [c, d]}", "who: [a], widen: {after: 9, to: [d]}", ("a",), (9, ("d",))),
    ],
)
def test_several_calls_are_decided_by_the_people_of_all(first, second, who, widen):
    policy = read_policy(f"rules: [{{tool: one, then: ask, {first}}}, {{tool: two, then: ask, {second}}}]")
    found = ruling(policy, CheckFacts("one()\ntwo()"))
    assert found.who == who
    assert widen == (found.widen and (found.widen.after_s, found.widen.to))


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ("who: ['group:']", "'group:' has no name. Write group:NAME"),
        ("who: ['role:boss']", "'role:boss' is not a role"),
        ("widen: {after: 600, to: [Ada]}", "widen: needs `who`"),
        ("who: Ada, widen: {after: soon, to: [Ada]}", "after: must be a time"),
        ("who: Ada, widen: {after: 8d, to: [Ada]}", "at most 7d"),
        ("who: Ada, widen: {to: [Ada]}", "after"),
    ],
)
def test_people_that_cannot_be_meant_are_refused(terms, said):
    with pytest.raises(BadInput, match=said.replace("(", r"\(")):
        read_policy(f"rules: [{{then: ask, {terms}}}]")


def test_edit_is_not_approved_by_the_one_who_asked(make_gate, url, known, person):
    rules = "[{tool: pay, when: args.amount > 10, then: ask, who: others}, {tool: pay, then: ask}]"
    waiting = make_gate(f"rules: {rules}").ask_for(known("Ada"), TASK, STEPS, 'pay({"amount": 5})')
    person("Ada").answer("edit", edited_action='pay({"amount": 50})')
    settle(url)
    decision = waiting.look()
    assert (decision.approved, decision.reason) == (False, Reason.DENIED)
