"""Ten thousand drawn names and policies against a model that is written after the handbook's text alone.

The model shares no code with the console: a rule that loosens is for the tool's own last name, or for a name with the
same separators, part by part; a rule that tightens is for the whole name and for every part of it that follows a
separator. Two underscores separate as well, except that a rule that loosens must hold in both readings.
"""

import random
import re
import unicodedata

import pytest

from console.gate.policy import CheckFacts, Policy, Rule, Then, ruling

STRICTER = ["allow", "judge", "ask", "deny"]
WORDS = ["get_a", "find_shop", "drop_database", "refund_order", "get", "order", "shop", "a", "b_c", "functions"]
SEPARATORS = [".", "/", ":"]


def parts(name, always=False):
    """The parts of a name and the separators between them; `__` separates behind the prefix of an MCP server."""
    found, separators, rest, is_mcp = [""], [], name, always
    at_start = True
    while rest:
        is_mcp = is_mcp or (at_start and rest.lower().startswith("mcp__"))
        here = next((one for one in (*SEPARATORS, *(["__"] if is_mcp else [])) if rest.startswith(one)), None)
        at_start = here is not None
        if here:
            separators.append(here)
            found.append("")
        else:
            found[-1] += rest[0]
        rest = rest[len(here or "x") :]
    return found, separators


def like(text, glob):
    """Whether the whole text is like the glob: `*` is any text, `?` one sign, case does not matter."""
    if not glob:
        return not text
    if glob[0] == "*":
        return like(text, glob[1:]) or (bool(text) and like(text[1:], glob))
    return bool(text) and (glob[0] == "?" or glob[0].lower() == text[0].lower()) and like(text[1:], glob[1:])


def loosened(name, glob):
    def holds(always):
        (named, between), (wanted, given) = parts(name, always), parts(glob, always)
        if not given:
            return like(named[-1], wanted[0])
        return between == given and all(map(like, named, wanted))

    return holds(False) and holds(True)


def tightened(name, glob):
    named, between = parts(name)
    pieces = [piece for pair in zip(named, [*between, ""], strict=True) for piece in pair]
    ends = ["".join(pieces[at:]) for at in range(0, len(pieces), 2)]
    ends += [end[at:] for end in ends for at in range(2, len(end)) if end[at - 2 : at] == "__"]
    return any(like(end, glob) for end in ends)


def said(name, default, rules):
    """What the model says: the first rule counts; an earlier `judge` rule that names a part of the tool tightens it."""
    name, stricter = unicodedata.normalize("NFKC", name), []
    for glob, then in rules:
        if (loosened if then in ("allow", "judge") else tightened)(name, glob):
            return max([then, *stricter], key=STRICTER.index)
        if then == "judge" and tightened(name, glob):
            stricter.append("judge")
    return max([default, *stricter], key=STRICTER.index)


def draw_name(rng):
    words = rng.choices(WORDS, k=rng.choice([1, 1, 2, 2, 3]))
    prefix = rng.choice(["", "", "mcp__", "functions.mcp__"])
    name = (
        prefix
        + words[0]
        + "".join(
            rng.choice([*SEPARATORS, "__", "__"] if not prefix else ["__", "__", *SEPARATORS]) + word
            for word in words[1:]
        )
    )
    return rng.choice([name, name, name, name.upper(), name.replace("g", "\uff47")])


def draw_glob(rng):
    glob = rng.choice([draw_name(rng), rng.choice(WORDS)])
    for _ in range(rng.choice([0, 1, 1, 2])):
        start = rng.randrange(len(glob) + 1)
        glob = glob[:start] + rng.choice(["*", "*", "?"]) + glob[rng.randrange(start, len(glob) + 1) :]
    return unicodedata.normalize("NFKC", glob)


@pytest.mark.parametrize("drawn", [400, pytest.param(10_000, marks=pytest.mark.at_length)])
def test_the_policy_agrees_with_the_handbook_on_drawn_names_and_policies(drawn):
    rng, differing, seen = random.Random(23), [], dict.fromkeys(STRICTER, 0)
    passed_by_namespace = 0
    for _ in range(drawn):
        name, default = draw_name(rng), rng.choice(STRICTER)
        rules = [(draw_glob(rng), rng.choice(STRICTER)) for _ in range(rng.choice([1, 2, 3, 4]))]
        # Half of the policies are about parts of this very name, so that rules match.
        if rng.random() < 0.5:
            named = re.sub("[a-z]+$", "*", rng.choice(parts(unicodedata.normalize("NFKC", name))[0])) or "*"
            rules.insert(rng.randrange(len(rules) + 1), (named, rng.choice(STRICTER)))
        if any(then == "allow" for _, then in rules) and any(parts(name)[1]):
            passed_by_namespace += 1
        policy = Policy(tuple(Rule(glob, Then(then), tool=(glob,)) for glob, then in rules), Then(default))
        found, expected = str(ruling(policy, CheckFacts(f"{name}({{}})")).then), said(name, default, rules)
        seen[expected] += 1
        if found != expected:
            differing.append((name, default, rules, found, expected))
    assert differing == []
    assert min(seen.values()) > drawn / 20
    assert passed_by_namespace > drawn / 5


def test_the_model_knows_the_three_that_came_through():
    rules = [("get_*", "allow"), ("find_*", "allow")]
    for name in ("get_a.drop_database", "get_x.refund_order", "mcp__find_shop__refund_order"):
        assert said(name, "ask", rules) == "ask"
    assert said("get_shop__drop_database", "ask", rules) == "ask"
    assert said("shop__drop_database", "allow", [("drop_database", "deny")]) == "deny"
    assert said("mcp__shop__get_order", "ask", rules) == "allow"
