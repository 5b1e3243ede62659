"""A policy: ordered rules that allow an action, let a detector judge it, ask a person, or deny it.

`rules` evaluates policies, `expression` evaluates their conditions in CEL, and `yaml_file` reads and writes policies.
`policy_store` stores their versions, and `replay` tests a policy on recorded checks.
"""

from console.gate.policy.rules import CheckFacts, Policy, Rule, Ruling, Then, ruling
from console.gate.policy.yaml_file import from_patterns, read_policy

__all__ = ["CheckFacts", "Policy", "Rule", "Ruling", "Then", "from_patterns", "read_policy", "ruling"]
