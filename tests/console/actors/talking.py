"""A model by script: it tells each question of the planning Actors by its form, and gives the next reply for it."""

import asyncio
import re
from collections import defaultdict

from console.actors.move import Actor
from console.llm import LLM, ClientOptions

KINDS = {
    "plan": r"Answer with the word List",
    "action": r"Give the one next action for this subtask",
    "remedy": r"what would you do instead, in the same place",
    "align": r"beginning with \"The action is to\"",
    "completed": r"Is the whole task done\?",
    "subtask": r"Is this subtask done\?",
    "answer": r"Give its answer, as short as it can be, after",
    "map": r"the element may have another id",
    "summary": r"Shorten this page",
    "formalizer": r"Rewrite the first action in it",
    "wording": r"Now the action that follows from this thought",
    "thought": r"write one thought and no action",
    "sum up": r"Sum up in a few sentences",
    "flaw": r"the flaw",
    "revision": r"How should the plan be revised",
    "update": r"Write the next plan",
}
ALWAYS = {
    "plan": "List\n1. find it\n2. take it",
    "align": "The action is to look.\nYES",
    "completed": "NO",
    "subtask": "NO",
    "answer": "Answer: done",
}


class Scripted:
    """The replies of each kind in turn, the last one for ever; `asked` are the kinds in the order of the questions."""

    def __init__(self, **replies):
        self.replies = {kind.replace("_", " "): list(given) for kind, given in replies.items()}
        self.asked, self.given, self.texts = [], defaultdict(int), []

    def __call__(self, ask):
        kind = next(kind for kind, form in KINDS.items() if re.search(form, ask.last))
        self.asked.append(kind)
        self.texts.append(ask.text)
        replies = self.replies.get(kind) or [ALWAYS[kind]]
        reply = replies[min(self.given[kind], len(replies) - 1)]
        self.given[kind] += 1
        return reply(ask) if callable(reply) else reply

    def count(self, kind):
        return self.asked.count(kind)


def acting(module, endpoint, caps=None):
    """The Actor of that module, which asks the endpoint and keeps no reply."""
    carry = getattr(module, "carry", lambda steps: {})
    return Actor(module.__name__.rpartition(".")[2], "Test", *_functions(module, endpoint), "", caps or {}, carry)


def _functions(module, endpoint):
    async def act(view):
        async with LLM("test", ClientOptions(base_url=endpoint.url)) as llm:
            return await module.act(llm, view)

    async def reflect(reflection):
        return f"I was refused: {reflection.rejected_action}"

    return act, reflect


def run(make, endpoint):
    """What a coroutine function of a model gives."""

    async def made():
        async with LLM("test", ClientOptions(base_url=endpoint.url)) as llm:
            return await make(llm)

    return asyncio.run(made())
