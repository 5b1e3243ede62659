"""The gate: an agent submits a critical action before running it; if a detector flags it, a person decides.

`client` holds `Gate`, which agents call, `request` the request and `types` the decision. `submit` judges and stores a
new request, `checks` waits for its decision, and `resolve` returns the decision until the action begins.
"""

from console.gate.client import Gate
from console.gate.types import GateDecision, Reason

__all__ = ["Gate", "GateDecision", "Reason"]
