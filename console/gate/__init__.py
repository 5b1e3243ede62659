"""The gate: an agent asks before a critical action and gets a person's decision where a detector doubts it.

`client` holds `Gate`, what an agent calls; `run_spec` is the run behind it, `request` what it asks and `types` what it
gets. `submit` judges and stores a request unless it is known, `wait` looks for its answer, `resolve` hands that out
until it begins, once.
"""

from console.gate.client import Gate
from console.gate.types import GateDecision, Reason

__all__ = ["Gate", "GateDecision", "Reason"]
