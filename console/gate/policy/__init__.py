"""A policy: the console's ordered rules about what an agent may do at once, what is judged, asked about or denied.

`rules` holds and evaluates it, `expression` its conditions in CEL, `tool_calls` reads the calls that it speaks of,
`yaml_file` reads and writes it, `policy_store` keeps its versions, and `replay` tries it on checks that were recorded.
"""

from console.gate.policy.rules import CheckFacts, Policy, Rule, Ruling, Then, ruling
from console.gate.policy.yaml_file import from_patterns, read_policy

__all__ = ["CheckFacts", "Policy", "Rule", "Ruling", "Then", "from_patterns", "read_policy", "ruling"]
