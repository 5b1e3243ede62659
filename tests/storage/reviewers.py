"""Reviewers as processes of their own: they claim and answer as fast as they can until nothing is left, or are killed.

`python reviewers.py URL NAME [LEASE_MS]`; prints how many answers it gave. With a lease given, the reviewer is restless
as well: skips, releases, undoes and delivers in between, by its own seeded chance.
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from storage.errors import QueueRefusal
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


def restless(queue: Queue, name: str, lease_ms: int) -> int:
    """Answers, hesitates, gives back and takes back, until nothing waits; returns how many answers."""
    chance, answers = random.Random(name), 0
    while True:
        mine = queue.claim(**AT, reviewer=name, now_ms=now_ms(), lease_ms=lease_ms)
        if isinstance(mine, NoClaim):
            if mine.reason is NoClaimReason.EMPTY:
                return answers
            time.sleep(lease_ms / 4_000)
            continue
        try:
            answers += one_move(queue, name, mine, chance.random(), lease_ms)
        except QueueRefusal:
            # The lease ran out in between, which is what a short one is for.
            continue


def one_move(queue: Queue, name: str, mine: Claim, dice: float, lease_ms: int) -> int:
    """One thing that a reviewer does with a claim; returns 1 for an answer."""
    key = {"item_id": mine.item_id, "reviewer": name}
    if dice < 0.1:
        queue.skip(**key, token=mine.token, now_ms=now_ms())
        return 0
    if dice < 0.15:
        queue.release(**key, token=mine.token, now_ms=now_ms())
        return 0
    answer(queue, name, mine)
    if dice < 0.25:
        queue.undo(**key, now_ms=now_ms(), lease_ms=lease_ms)
        return 0
    queue.mark_delivered(decision_ids=queue.due(run_id=1, now_ms=now_ms())[:5], now_ms=now_ms())
    return 1


def answer(queue: Queue, name: str, mine: Claim) -> None:
    """Rejects the claimed item."""
    key = {"item_id": mine.item_id, "reviewer": name, "token": mine.token, "submit_key": mine.token}
    queue.decide(**key, now_ms=now_ms(), undo_ms=0, **ANSWER)


def main() -> None:
    """Reviews under the given name."""
    url, name, *lease = sys.argv[1:]
    queue = Queue(url)
    sys.stdout.write(str(restless(queue, name, int(lease[0])) if lease else steady(queue, name)))


if __name__ == "__main__":
    main()
