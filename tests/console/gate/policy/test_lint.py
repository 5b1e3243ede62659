"""What `policy check` warns of: rules that another hides, that cannot be met, or that a wrong sign passes."""

import pytest

from console.auth import people
from console.auth.people import Role
from console.database import writing
from console.gate.policy import CheckFacts, Then, read_policy, ruling
from console.gate.policy.lint import list_known_people, list_warnings
from tests.console.web.test_handbook import fences

KNOWN = {"ada": {"reviewer", "admin", "group:finance"}, "bo": {"reviewer"}}


def warned(*rules, known=KNOWN, default="ask"):
    text = f"default: {default}\nrules:\n" + "".join(f"- {rule}\n" for rule in rules)
    return list_warnings(read_policy(text), known)


@pytest.mark.parametrize(
    ("allows", "denies"),
    [
        ("tool: get_*", "tool: '*_secret'"),
        ("tool: GET_*", "tool: get_secret"),
        ("tool: '*'", "pattern: 'drop_*'"),
        ("tool: get_order", "tool: shop.*"),
        ("tool: get_order", "tool: 'mcp__shop__*'"),
        ("pattern: 'refund_*(*'", "tool: refund_order"),
        ("pattern: refund.amount=1", "tool: refund"),
        ("tool: 'get_?'", "tool: '*_a'"),
        ("agent: bot, tool: get_*", "tool: get_x"),
        ("agent: bo*, tool: get_*", "agent: '*t', tool: get_x"),
    ],
)
def test_an_allow_before_a_deny_that_it_overlaps_is_named(allows, denies):
    found = warned(f"{{{allows}, then: allow, name: first}}", f"{{{denies}, then: deny, name: second}}")
    assert any(said.startswith("Rule 'first' allows (") and "before 'second' denies (" in said for said in found)
    swapped = warned(f"{{{denies}, then: deny}}", f"{{{allows}, then: allow}}")
    assert not any("before" in said and "denies" in said for said in swapped)


@pytest.mark.parametrize(
    ("allows", "denies"),
    [
        ("tool: [get_*, find_*]", "tool: drop_*"),
        ("tool: 'get_?'", "tool: get_xy"),
        ("agent: bot, tool: get_*", "agent: other, tool: get_x"),
        ("environment: shop, tool: get_*", "environment: bank, tool: get_x"),
        ("tool: shop.get_*", "tool: bank.*"),
    ],
)
def test_rules_that_share_no_tool_are_not(allows, denies):
    assert warned(f"{{{allows}, then: allow}}", f"{{{denies}, then: deny}}") == []


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{tool: pay, then: ask, reviews: 3, who: [Ada]}", "requires 3 reviews, but only 1 of its people"),
        ("{tool: pay, then: ask, reviews: 2, who: [Ada, ADA]}", "requires 2 reviews, but only 1 of its people"),
        ("{tool: pay, then: ask, reviews: 2, who: [admin]}", "requires 2 reviews, but only 1 of its people"),
        ("{tool: pay, then: ask, reviews: 3}", "requires 3 reviews, but only 2 people have access"),
        ("{tool: pay, then: ask, who: [Nobody]}", "names 'Nobody', who is not an enabled person, a role or a group"),
        ("{tool: pay, then: ask, who: ['group:board']}", "names 'group:board', who is not"),
        ("{tool: pay, then: ask, reviews: 2, who: ['group:finance']}", "requires 2 reviews, but only 1 of its people"),
        ("{tool: pay, then: ask, decisions: [reject]}", "offers only reject, so its actions never run"),
        ("{tool: pay, then: allow, when: 'task.matches(\"(\")'}", 'uses "(", an invalid regular expression'),
        ("{tool: pay, then: judge, when: args.amount <= 100}", "limits args.amount from above only"),
        ("{tool: pay, then: allow, when: '100 > args[\"amount\"]'}", "limits args.amount from above only"),
    ],
)
def test_a_rule_that_cannot_be_met_or_that_a_wrong_sign_passes_is_named(rule, said):
    (found,) = warned(rule)
    assert found.startswith("Rule 'rule 1' ")
    assert said in found


@pytest.mark.parametrize(
    "rule",
    [
        "{tool: pay, then: ask, reviews: 2, who: [Ada, reviewer]}",
        "{tool: pay, then: ask, reviews: 2, who: [Ada, 'group:finance', others]}",
        "{tool: pay, then: ask, who: ['role:admin']}",
        "{tool: pay, then: ask, decisions: [approve, reject]}",
        "{tool: pay, then: allow, when: 'task.matches(\"[(]\")'}",
        "{tool: pay, then: judge, when: 'args.amount >= 0 && args.amount <= 100'}",
        "{tool: pay, then: judge, when: '0 < args.amount && args.amount <= 100'}",
        "{tool: pay, then: ask, when: args.amount <= 100}",
        "{tool: pay, then: judge, when: args.amount <= args.most}",
    ],
)
def test_a_rule_that_can_be_met_is_not(rule):
    assert warned(rule) == []


def test_the_people_of_a_database_are_the_enabled_ones_with_their_roles_and_groups(data_dir):
    with writing() as session:
        for name, role in {"Ada": Role.ADMIN, "Bo": Role.REVIEWER, "Eve": Role.RESEARCHER}.items():
            people.add_person(session, name, [role], 0)
        people.change_group(session, "Finance", 0, add=["Ada", "Eve"])
        people.disable(session, people.get_person(session, "Eve"), 1)
        known = list_known_people(session)
    assert known == {"ada": {"admin", "reviewer", "group:finance"}, "bo": {"reviewer"}}


def test_without_a_database_only_what_the_file_says_counts():
    assert warned("{tool: pay, then: ask, who: [Nobody, admin], reviews: 2}", known=None) == []
    assert "requires 2 reviews" in warned("{tool: pay, then: ask, who: [Ada], reviews: 2}", known=None)[0]


def test_a_rule_behind_one_that_matches_every_action_is_named():
    assert warned("{tool: '*', then: ask}", "{tool: pay, then: deny}") == [
        "Rule 'rule 2' is never reached, since 'rule 1' before it matches every action."
    ]
    for narrowed in ("agent: bot", "when: args.amount > 5"):
        assert warned(f"{{tool: '*', {narrowed}, then: ask}}", "{tool: pay, then: deny}") == []


def test_the_policy_of_the_handbook_has_no_warning_and_judges_no_negative_amount():
    """It let a detector judge -5000 dollars before."""
    policy = read_policy(next(text for language, text in fences("developer") if language == "yaml"))
    assert list_warnings(policy) == []
    for amount, then in ((20, Then.JUDGE), (100, Then.JUDGE), (-5_000, Then.ASK), (999_999, Then.ASK)):
        facts = CheckFacts(f'refund_order({{"order": 12, "amount": {amount}}})', task="Refund order 12.")
        assert ruling(policy, facts).then is then
