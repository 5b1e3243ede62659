"""HotPotQA: search and look up pages, then answer."""

from console.environments.facts import Environment

HOTPOTQA = Environment("hotpotqa", "HotPotQA", critical=("Finish[*]",))
