"""The gate: an agent asks before a critical action and gets a person's decision where a detector doubts it.

`Gate` is the door; `question` is what an agent asks, `answer` what it gets, `asking` judges and stores a question,
`handing` gives its answer out once, `waiting` looks again and again, `openai_tools` lives in console.integrations.
"""

from console.gate.answer import GateDecision, Reason
from console.gate.door import Gate

__all__ = ["Gate", "GateDecision", "Reason"]
