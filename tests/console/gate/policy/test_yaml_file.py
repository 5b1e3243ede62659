"""What cannot be meant is refused when a policy is saved, with its line."""

import pytest

from console.errors import BadInput
from console.gate.policy import from_patterns, read_policy
from console.gate.policy.rules import Policy, PolicyMode, Rule, Then
from console.gate.policy.yaml_file import check_pattern


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: x", "line 1, column 1: rules: must be a list"),
        (
            "rules:\n- then: alow",
            "line 2, column 3: rules.1..then: must be 'allow', 'judge', 'ask' or 'deny',",
        ),
        ("default: ask\nrule: []", "line 2, column 1: rule: unknown field. Did you mean rules"),
        ("rules:\n- then: ask\n  tol: x", "line 3, column 3: rules.1..tol: unknown field. Did you mean tool"),
        ("rules:\n- then: ask\n  then: deny", "line 3, column 3: invalid YAML, duplicate key 'then'"),
        ("rules:\n- then: ask\n  when: arg.x > 1", "line 3, column 3: rules.1..when: 'arg' is not a variable"),
        (
            "rules:\n- then: ask\n  when: args.x ** 2 > 1",
            "line 3, column 3: rules.1..when: The condition is not valid (1:9",
        ),
        (
            "rules:\n- then: ask\n  when: upper(tool) == 'x'",
            "line 3, column 3: rules.1..when: 'upper' is not a supported function",
        ),
        ("rules:\n- then: ask\n  when: 1 == 1", "line 3, column 3: rules.1..when: The condition uses no fact"),
        ("rules:\n- then: ask\n  when: args.l.exists(x, args.l.exists(y, x == y))", "within another loop"),
        ("rules:\n- then: ask\n  when: args.l.map(x, args.l) == []", "'map' is not a supported function"),
        ('rules:\n- then: ask\n  when: "args.l.all(x, // )\\n args.l.all(y, x == y))"', "Comments, raw and"),
        ("rules:\n- then: ask\n  when: args.l.all(x, r'\\' != '(' && args.l.all(y, y != '1'))", "Comments, raw and"),
        ("rules:\n- then: ask\n  when: args.l.all(x, x + x + x + x + x + x > 1)", "more than 4 plus signs"),
        (f"rules:\n- then: ask\n  when: args.x == '{'x' * 1_000}'", "1,0.. characters"),
        ("rules:\n- then: ask\n- then: deny", "line 3, column 3: rules.2.: this rule is never reached"),
        ("rules:\n- {then: allow, reviews: 2}", "reviews: applies only to rules that may ask"),
        ("rules:\n- {then: ask, reviews: 0}", "reviews: must be a whole number from 1 to 20"),
        ("rules:\n- {then: ask, deadline: soon}", "deadline: must be a time such as 90"),
        ("rules:\n- {then: ask, decisions: [maybe]}", "'maybe' is not a valid decision"),
        ("rules:\n- {then: ask, tool: 'a b'}", "'a b' is not a valid tool name"),
        ("rules:\n- {then: ask, tool: []}", "the list is empty"),
        ("rules:\n- {then: ask, pattern: '>100'}", "is empty or contains a comparison"),
        ("rules:\n- {then: ask, pattern: '[2-9]??'}", "is empty or contains a comparison"),
        ("a: &x 1\nb: *x", "alias"),
        ("x: [", "line 1, column 5: invalid YAML"),
        ("", "The policy: expected `field: value` lines; write at least `default: ask`."),
        ("default: !!python/object:os.system ask\nx: 1", "line 2, column 1: x: unknown field"),
        ("rollout: much", "rollout: must be a share"),
    ],
)
def test_policy_that_cannot_be_meant_is_refused_with_its_line(text, said):
    with pytest.raises(BadInput, match=said.replace("*", r"\*").replace("(", r"\(")):
        read_policy(text)


@pytest.mark.parametrize(
    ("written", "most", "beyond", "said"),
    [
        ("rules:\n- {{then: ask, reviews: {}}}", 20, 21, "from 1 to 20"),
        ("rules:\n- {{then: ask, reviews: {}}}", 1, 0, "from 1 to 20"),
        ("rules:\n- {{then: ask, deadline: {}}}", 604_800, 604_800.5, "at most 7d"),
        ("rules:\n- {{then: ask, deadline: {}}}", "7d", "8d", "at most 7d"),
        ("rules:\n- {{then: ask, deadline: {}}}", 0.5, 0, "more than 0"),
        ("rollout: {}%", 100, 101, "rollout: must be a share"),
        ("rollout: {}%", 0.5, 0, "rollout: must be a share"),
        ("rules:\n- {{then: ask, because: {}}}", "x" * 2_000, "x" * 2_001, "at most 2,000 characters"),
        ("rules:\n- then: ask\n  when: args.x == '{}'", "x" * 988, "x" * 989, "1,001 characters"),
        ("rules:\n- then: ask\n  when: args.l.all(x, x{} > 1)", " + x" * 4, " + x" * 5, "more than 4 plus signs"),
        ("default: ask\n#{}", "x" * 65_522, "x" * 65_523, "65,537 characters"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_policy_may_say_the_most_that_it_may_and_no_more(written, most, beyond, said):
    read_policy(written.format(most))
    with pytest.raises(BadInput, match=said):
        read_policy(written.format(beyond))


def test_policy_has_two_hundred_rules_at_most():
    rules = ["rules:", *(f"- {{tool: tool_{number}, then: deny}}" for number in range(200))]
    assert len(read_policy("\n".join(rules)).rules) == 200
    with pytest.raises(BadInput, match="there are 201 rules, and the limit is 200"):
        read_policy("\n".join([*rules, "- {tool: one_more, then: deny}"]))


def test_patterns_become_rules_that_judge_and_everything_else_asks():
    policy = read_policy(from_patterns(["refund_*", "click[Buy Now]", "pay\"'é: x"]))
    assert [rule.pattern for rule in policy.rules] == [("refund_*",), ("click[Buy Now]",), ("pay\"'é: x",)]
    assert {rule.then for rule in policy.rules} == {"judge"}
    assert policy.default == "ask"


def test_every_field_of_a_policy_is_read():
    text = """
mode: shadow
default: judge
rollout: 12.5 %
rules:
- name: big
  tool: [pay, refund_*]
  pattern: "pay*"
  agent: bot
  environment: [shop, bank]
  when: args.amount > 100
  then: ask
  because: |
    Money
    leaves.
  reviews: 2
  decisions: [approve, reject]
  deadline: 1.5
  who: [admin, Ada]
  doors: [browser, cli]
- {tool: look, then: allow}
"""
    big = Rule(
        name="big",
        then=Then.ASK,
        tool=("pay", "refund_*"),
        pattern=("pay*",),
        agent=("bot",),
        environment=("shop", "bank"),
        when="args.amount > 100",
        because="Money\nleaves.",
        reviews=2,
        decisions=("approve", "reject"),
        deadline_s=1.5,
        who=("admin", "Ada"),
        doors=("browser", "cli"),
    )
    look = Rule(name="rule 2", then=Then.ALLOW, tool=("look",))
    assert read_policy(text) == Policy((big, look), Then.JUDGE, PolicyMode.SHADOW, 0.125)
    assert read_policy("mode: enforce") == Policy()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("default: ask\nrules:\n- tool: x", "line 3, column 3: rules[1].then: is missing. Add this field."),
        (
            "rules:\n- {name: a, tool: x, then: ask}\n- {name: a, then: ask}",
            "line 3, column 3: rules[2]: the name 'a'",
        ),
        (
            "rules:\n- {tool: x, then: ask}\n- {name: rule 1, then: ask}",
            "line 3, column 3: rules[2]: the name 'rule 1'",
        ),
        (
            "rules:\n- {name: default, then: ask}",
            "line 2, column 3: rules[1]: the name 'default' is taken",
        ),
        ("rules:\n- then: ask\n  because:", "line 3, column 3: rules[1].because: must be text, not nothing."),
        ("rules:\n- then: ask\n  because: ' '", "line 3, column 3: rules[1].because: must not be empty."),
        ("rules:\n- then: ask\n  because: [x]", "line 3, column 3: rules[1].because: must be text, not a list."),
        (
            'rules:\n- then: ask\n  because: "\\e[31m"',
            "line 3, column 3: rules[1].because: must have at most 2,000",
        ),
        ("rules:\n- ask", "line 2, column 3: rules[1]: must be fields, one per line, not 'ask'."),
        ("- then: ask", "The policy: expected `field: value` lines; write at least `default: ask`."),
        ("[a]: ask", "line 1, column 1: "),
        ("mode: loose", "line 1, column 1: mode: must be 'enforce' or 'shadow', not 'loose'."),
        ("default: [ask]", "line 1, column 1: default: must be 'allow', 'judge', 'ask' or 'deny', not a list."),
        (
            "rules:\n- then: deny\n  who: ada",
            "line 3, column 3: rules[1].who: applies only to rules that may ask a person",
        ),
        (
            "rules:\n- then: ask\n  doors: api",
            "line 3, column 3: rules[1].doors: 'api' is not a valid entry point. Use browser,",
        ),
        (
            "rules:\n- then: deny\n  doors: cli",
            "line 3, column 3: rules[1].doors: applies only to rules that may ask a person. Remove this field",
        ),
        (
            "rules:\n- then: ask\n  reviews: 1.0",
            "line 3, column 3: rules[1].reviews: must be a whole number",
        ),
        (
            "rules:\n- then: ask\n  reviews: '2'",
            "line 3, column 3: rules[1].reviews: must be a whole number",
        ),
        (
            "rules:\n- then: ask\n  reviews: -1",
            "line 3, column 3: rules[1].reviews: must be a whole number",
        ),
        (
            "rules:\n- then: ask\n  deadline: '5'",
            "line 3, column 3: rules[1].deadline: must be a time",
        ),
        (
            "rules:\n- then: ask\n  deadline: 1:30",
            "line 3, column 3: rules[1].deadline: must be a time",
        ),
        (
            "rules:\n- then: ask\n  deadline: .inf",
            "line 3, column 3: rules[1].deadline: must be a time",
        ),
        ("rollout: 0.5", "line 1, column 1: rollout: must be a share of the tasks, such as 25%."),
        ("rollout: [5%]", "line 1, column 1: rollout: must be a share of the tasks, such as 25%."),
        ("default: ask\n\tx: 1", "line 2, column 1: invalid YAML, "),
        ("default: ask\n---\ndefault: deny", "invalid YAML, but found another document"),
    ],
)
def test_refusal_is_the_whole_sentence_with_its_line(text, said):
    with pytest.raises(BadInput) as refusal:
        read_policy(text)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "  ", "> 5", "!x", "<x", "=x", "^x", "a == b", "x[a-z]", "x[!a-z]"),
        *("a >= 5", "pay.amount<=b", "*amount != 5", "pay.amount > 100", "a<.5 ", "a > -1_000"),
    ],
)
def test_pattern_that_would_match_its_own_signs_only_is_refused(pattern):
    with pytest.raises(BadInput, match="is empty or contains a comparison"):
        check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("pay*", "click[Buy Now]", "a > b", "x[-]", "pay?", "a=b"),
        *("click[Next >]", "click[< 5]", "cat > 1.txt", "pip install x>=2", "run a > 5", "a >"),
    ],
)
def test_pattern_of_a_word_is_taken(pattern):
    check_pattern(pattern)


def test_patterns_are_written_once_each_and_blank_ones_not():
    assert from_patterns(["pay*", " ", "pay*", "a"]) == (
        "default: ask\nrules:\n- pattern: pay*\n  then: judge\n- pattern: a\n  then: judge\n"
    )
