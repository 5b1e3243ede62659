"""A reviewer as a process of its own: reviewer.py URL RUN NAME; answers by the action alone until it is killed."""

import sys
import time
import zlib

from console import runs
from console.database import now_ms, reading, review_queue
from console.review import decisions
from storage.errors import StorageError
from storage.queue import Claim


def answer_to(action: str) -> decisions.ReviewDecision:
    """Approve, edit or reject, as the action's checksum says, with words that name the action."""
    kind = zlib.crc32(action.encode()) % 3
    if kind == 0:
        return decisions.ReviewDecision("approve")
    if kind == 1:
        return decisions.ReviewDecision(
            "edit", edited_action=f"{action[:-1]} in two parts]" if action.endswith("]") else f"{action} in two parts"
        )
    return decisions.ReviewDecision("reject", f"do not {action}")


def work(url: str, run_name: str, name: str) -> None:
    """Takes one item after the other; short leases let another reviewer take over after a crash."""
    queue = review_queue(url)
    while True:
        with reading(url) as session:
            run = runs.find(session, run_name)
            found = None
            if run is not None:
                session.expunge(run)
                run.lease_ms = 1_000
                found = decisions.claim_next_item(queue, session, run, name, now_ms())
        if run is None or not isinstance(found, Claim):
            time.sleep(0.01)
            continue
        try:
            run.undo_ms = 0
            decisions.submit(queue, run, found, name, answer_to(decisions.pending_action(found)), now_ms())
        except StorageError as refused:
            print(f"{name}: {refused}", file=sys.stderr)


if __name__ == "__main__":
    work(*sys.argv[1:])
