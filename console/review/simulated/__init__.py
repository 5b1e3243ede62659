"""Simulated reviewers: the behaviour of somebody who knows the gold, more or less, in what it decides and says.

A new reviewer is one file here and one line in REVIEWERS; what is wrong in an environment is one file in faults/ and
its wordings in prompts/feedback/.
"""

from console.errors import Unknown
from console.review.simulated.model_user import MODEL_USER
from console.review.simulated.noisy import NOISY
from console.review.simulated.oracle import ORACLE
from console.review.simulated.orders import INSPECTION_ORDERS
from console.review.simulated.reviewer import Noise, ReviewCase, Reviewer, SimulatedAnswer

REVIEWERS: dict[str, Reviewer] = {
    "oracle": ORACLE,
    "noisy": NOISY,
    "model-user": MODEL_USER,
}

__all__ = ["INSPECTION_ORDERS", "REVIEWERS", "Noise", "ReviewCase", "Reviewer", "SimulatedAnswer", "reviewer"]


def reviewer(name: str) -> Reviewer:
    """The simulated reviewer of that name; raises Unknown, naming those there are."""
    if name not in REVIEWERS:
        raise Unknown("simulated reviewer", name, REVIEWERS)
    return REVIEWERS[name]
