"""Simulated reviewers: what somebody who knows the gold, more or less, would decide and say.

A new reviewer is one file here and one line in REVIEWERS; what is wrong in an environment is one file in faults/ and
its wordings in prompts/feedback/.
"""

from console.errors import Unknown
from console.reviewers.noisy import NOISY
from console.reviewers.opinion import Case, Noise, Opinion, Reviewer
from console.reviewers.oracle import ORACLE
from console.reviewers.policies import POLICIES

REVIEWERS: dict[str, Reviewer] = {
    "oracle": ORACLE,
    "noisy": NOISY,
}

__all__ = ["POLICIES", "REVIEWERS", "Case", "Noise", "Opinion", "Reviewer", "reviewer"]


def reviewer(name: str) -> Reviewer:
    """The simulated reviewer of that name; raises Unknown, naming those there are."""
    if name not in REVIEWERS:
        raise Unknown("simulated reviewer", name, REVIEWERS)
    return REVIEWERS[name]
