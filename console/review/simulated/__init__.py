"""Simulated reviewers: they decide by the gold target with stated error rates, and write feedback.

A new reviewer is one file here and one line in REVIEWERS. The faults of an environment are one function in faults.py
and its wordings in prompts/feedback/.
"""

from console.errors import Unknown
from console.review.simulated.model_user import MODEL_USER
from console.review.simulated.oracle import NOISY, ORACLE
from console.review.simulated.orders import INSPECTION_ORDERS
from console.review.simulated.reviewer import Noise, ReviewCase, Reviewer, SimulatedAnswer

REVIEWERS: dict[str, Reviewer] = {
    "oracle": ORACLE,
    "noisy": NOISY,
    "model-user": MODEL_USER,
}


def get_reviewer(name: str) -> Reviewer:
    """Return the simulated reviewer with this name; raise Unknown, with all names, if it does not exist."""
    if name not in REVIEWERS:
        raise Unknown("simulated reviewer", name, REVIEWERS)
    return REVIEWERS[name]
