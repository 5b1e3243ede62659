"""Reviewers as processes of their own: they claim and answer as fast as they can until nothing is left.

`python reviewers.py URL NAME`; prints how many answers it gave.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from storage.queue import Claim, NoClaim, NoClaimReason, Queue

AT = {"run_id": 1, "trial": 0}
ANSWER = {
    "decision": "reject",
    "label": "misaligned",
    "feedback_type": "nl",
    "feedback_text": "ask for the size",
    "edited_action": None,
    "action_digest": "digest",
    "annotator_kind": "human",
}
DONE = (NoClaimReason.EMPTY, NoClaimReason.BUDGET_SPENT)


def now_ms() -> int:
    """The wall clock, as leases need one that all processes share."""
    return time.time_ns() // 1_000_000


def steady(queue: Queue, name: str) -> int:
    """Answers whatever comes until nothing waits or the budget is spent; returns how many answers."""
    answers = 0
    while True:
        mine = queue.claim(**AT, reviewer=name, now_ms=now_ms(), lease_ms=600_000)
        if isinstance(mine, NoClaim):
            if mine.reason in DONE:
                return answers
            continue
        answer(queue, name, mine)
        answers += 1


def answer(queue: Queue, name: str, mine: Claim) -> None:
    """Rejects the claimed item."""
    key = {"item_id": mine.item_id, "reviewer": name, "token": mine.token, "submit_key": mine.token}
    queue.decide(**key, now_ms=now_ms(), undo_ms=0, **ANSWER)


def main() -> None:
    """Reviews under the given name."""
    url, name = sys.argv[1:]
    sys.stdout.write(str(steady(Queue(url), name)))


if __name__ == "__main__":
    main()
