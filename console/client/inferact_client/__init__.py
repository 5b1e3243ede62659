"""The agent's side of InferAct Console: ask before a critical action runs, and run the action only with an approval.

`gate` holds `Gate`, which agents call. `steps` converts the messages of other libraries, and `adapters` connects
agents' frameworks. This package requires httpx and works without the console.
"""

from inferact_client.decision import Check, Decision
from inferact_client.errors import CheckRefused, ClientError, ConsoleAway
from inferact_client.gate import Gate

__all__ = ["Check", "CheckRefused", "ClientError", "ConsoleAway", "Decision", "Gate"]
