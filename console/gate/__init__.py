"""The gate: an agent submits a critical action before running it; if a detector flags it, a person decides.

`client` holds `Gate`, which agents call, and `request` the request and its decision. `submit` judges and stores a new
request, `checks` waits for its decision, and `resolve` returns the decision until the action begins.
"""

from console.gate.client import Gate
from console.gate.request import GateDecision, Reason

__all__ = ["Gate", "GateDecision", "Reason"]
