"""A script that plays every role of a paper's reproduction: Actors in the three worlds, planners, judges, the user.

Each reply depends on its request alone, so that a reproduction that was killed and resumed must end as another.
"""

import re
from random import Random

from tests.fakes import judges

_BUTTON = re.compile(r"\[([^\[\]\n]+)\]")
_PLACE = re.compile(r"\b([a-z]+ \d+)\b")
_FENCED = re.compile(r"<<<(?:action) \w+\n(.*?)\n", re.DOTALL)
_VERBS = ("go to {a}", "open {a}", "take {a} from {b}", "move {a} to {b}", "heat {a} with {b}", "clean {a} with {b}")


def reply(ask):
    """The reply to any request of a reproduction."""
    question, draw = ask.last, Random(f"{ask.text} {ask.body.get('seed')}")
    for words, answer in _ROLES:
        if words in question:
            return answer(ask, draw)
    if ask.messages[0]["role"] == "system":
        return f"Thought: {_thought(draw)}\nAction: {_action(ask, draw)}"
    return judges.rule(ask)


def _thought(draw):
    return " ".join(["I look at what stands there and go on."] * draw.randint(1, 12))


def _action(ask, draw):
    text = ask.text
    if "Lookup[" in text:
        return draw.choice(["Search[the river]", "Search[a city]", "Lookup[born]", "Finish[yes]"])
    if "click[" in text and "search[" in text:
        seen = ask.last if "[Search]" not in ask.last.rsplit("Webshop", 1)[-1] else ""
        buttons = _BUTTON.findall(seen)
        if not buttons:
            words = draw.sample(["red", "shirt", "cotton", "lamp", "desk", "warm", "bottle", "shoe"], 2)
            return f"search[{' '.join(words)}]"
        if "Buy Now" in buttons and draw.random() < 0.4:
            return "click[Buy Now]"
        return f"click[{draw.choice(buttons)}]"
    places = sorted(set(_PLACE.findall(text))) or ["desk 1"]
    return draw.choice(_VERBS).format(a=draw.choice(places), b=draw.choice(places))


def _plan(ask, draw):
    return "List\n" + "\n".join(f"{number}. {_thought(draw)}" for number in range(1, draw.randint(2, 4)))


def _verdict(ask, draw):
    return f"The action is to go on.\n{'YES' if draw.random() < 0.7 else 'NO'}"


def _done(ask, draw):
    return "YES" if draw.random() < 0.1 else "NO"


_ROLES = (
    ("Rewrite the first action", lambda ask, draw: _FENCED.search(ask.last)[1]),
    ("Write the next plan", lambda ask, draw: f"1. {_thought(draw)}\n2. look around <from E1>"),
    ("Now the action that follows", _action),
    ("Now write one line with the action", _action),
    ("Write one line with your thought", lambda ask, draw: f"Thought: {_thought(draw)}"),
    ("write one thought and no action", lambda ask, draw: _thought(draw)),
    ("Sum up in a few sentences", lambda ask, draw: _thought(draw)),
    ("Name the flaw", lambda ask, draw: _thought(draw)),
    ("How should the plan be revised", lambda ask, draw: _thought(draw)),
    ('Begin with "New plan:"', lambda ask, draw: f"New plan: {_thought(draw)}"),
    ("Feedback: the sentences", lambda ask, draw: f"Feedback: {_thought(draw)}"),
    ("Answer with the word List", _plan),
    ("write YES if it brought", _verdict),
    ("Answer YES", _done),
    ("after the word Answer:", lambda ask, draw: "Answer: done"),
    ("Give the same action for the page", _action),
    ("Give the one next action", _action),
    ("Give one other action", _action),
    ("Shorten this page", lambda ask, draw: _thought(draw)),
)
"""The words that a question contains, and what to reply; thoughts have different lengths, as a cost needs a spread."""
