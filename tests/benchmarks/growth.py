"""What the audit chain and the allowed checks take on disk, and what pruning gives back while the chain stays sound.

`python tests/benchmarks/growth.py [--quick]`; the last line is the result as JSON. An agent asks about actions that
the policy allows at once, and a reviewer decides as many items. Then the allowed checks are pruned as the worker
prunes them, and the reviewed run is deleted: its events are erased, their links stay, an earlier head is still found.
At last the audit log of all runs is pruned: the links go too, and a checkpoint proves what stays.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sqlalchemy import text

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.gate.request import Asker
from console.review import decisions
from console.runs import erasure, maintenance
from storage.check import chain_end, check, seal_chains
from storage.engine import reading as reading_of
from storage.queue import Claim
from tests.at_home import at_home
from tests.benchmarks.measure import report
from tests.logs import purchase, write_log

ALLOWED, CHAIN = ("allowed_check",), ("event", "event_link")
RUN, FLAGS_ALL = "reviewed", ("--method", "rules", "--threshold", "0")
AGENT = Asker(None, "agent")
GOALS = {
    "problems": ("<=", 0),
    "allowed checks left": ("<=", 0),
}


def main() -> None:
    """Prints the figures and whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100 actions of a kind instead of 2,000")
    actions = 100 if parser.parse_args().quick else 2_000
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder) / "data") as data:
        data.mkdir()
        figures = grow(data, f"sqlite:///{data / 'console.db'}", actions)
    sys.exit(not report("growth", figures, GOALS))


def grow(data: Path, url: str, actions: int) -> dict[str, float]:
    """The figures of so many actions of each kind."""
    gate = Gate("open", url=url, undo_s=0)
    gate.open()
    log = data / "log.jsonl"
    write_log(log, *(purchase(number, wrong=True) for number in range(actions)))
    for command in (("trajectory", "import", str(log), "--run", RUN), ("detect", RUN, *FLAGS_ALL)):
        subprocess.run([sys.executable, "-m", "console.cli", *command], check=True, capture_output=True)
    with writing() as session:
        policy_store.save(session, runs.get(session, "open"), "{default: allow}", "ada", now_ms())
    sizes = [size(url)]
    for number in range(actions):
        gate.ask_for(AGENT, "look at the shop", [], f"look({number})", task_id=f"t{number}")
    sizes.append(size(url))
    decide_all()
    seal_chains(url)
    sizes.append(size(url))
    head, started = chain_end(url), time.perf_counter()
    problems = check(url)
    took = time.perf_counter() - started
    with writing() as session:
        policy_store.prune_allowed(session, now_ms() + 1)
        maintenance.delete_run(session, runs.get(session, RUN), now_ms())
    problems += check(url, [head])
    seal_chains(url)
    pruned, links = size(url), count(url, "event_link")
    with writing() as session:
        later = now_ms() + 2 * 86_400_000
        cuts, _ = erasure.plan_audit(session, "1d", later)
        erasure.prune_audit(session, cuts, "1d", later)
    problems += check(url, [head])
    last = size(url)
    allowed, chain = (sum(one[name] for name in names) for one, names in ((sizes[1], ALLOWED), (sizes[2], CHAIN)))
    before = sum(sizes[1][name] for name in CHAIN)
    print(f"{links} links, {count(url, 'event')} events; tables in bytes: {sizes[0]}, {sizes[1]}, {sizes[2]}, {pruned}")
    return {
        "bytes of an allowed check": round((allowed - sum(sizes[0][name] for name in ALLOWED)) / actions),
        "bytes of the chain for a decision": round((chain - before) / actions),
        "share of the chain left after the erasure": round(sum(pruned[name] for name in CHAIN) / chain, 3),
        "share of the chain left after the pruning": round(sum(last[name] for name in CHAIN) / chain, 3),
        "allowed checks left": count(url, "allowed_check"),
        "seconds of a check for 10,000 links": round(10_000 * took / links, 2),
        "problems": len(problems),
    }


def decide_all() -> None:
    """One reviewer rejects every item of the imported run."""
    queue = review_queue()
    with reading() as session:
        run = runs.get(session, RUN)
        while isinstance(claim := decisions.claim_next_item(queue, session, run, "ann", now_ms()), Claim):
            decisions.submit(queue, run, claim, "ann", decisions.ReviewDecision("reject", "dearer"), now_ms())


def size(url: str) -> dict[str, int]:
    """Bytes of each table of the chain and of the allowed checks, with its indexes."""
    sums = "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_master WHERE tbl_name = :name)"
    with reading_of(url) as session:
        return {name: session.connection().execute(text(sums), {"name": name}).scalar_one() for name in ALLOWED + CHAIN}


def count(url: str, table: str) -> int:
    """Return the number of rows of a table."""
    with reading_of(url) as session:
        return int(session.connection().execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


if __name__ == "__main__":
    main()
