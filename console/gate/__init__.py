"""The gate: an agent asks before a critical action and gets a person's decision where a detector doubts it.

`Gate` is the door; `question` is what an agent asks, `answer` what it gets. `beginning` finds out whether the question
is known, `asking` judges and stores it, `waiting` looks for its answer and `handing` gives that out, once.
"""

from console.gate.client import Gate
from console.gate.types import GateDecision, Reason

__all__ = ["Gate", "GateDecision", "Reason"]
