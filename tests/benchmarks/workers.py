"""How much faster two workers of `inferact detect --engine dask` judge than one, with a detector that needs no model.

`python tests/benchmarks/workers.py [TRAJECTORIES] [TURNS]` judges the same file with one worker process and with two,
the order changing from turn to turn. Each worker is limited to .4 of a core by a control group (which needs root), so
that the scheduler and the command have room on a machine of two cores. The time counts from the end of the cluster's
start, which is stated apart, to the written file: the workers' imports, the splitting and the results are in it.
"""

import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

GOAL = "2 workers / 1, each .4 core"


def main():
    # A spawned worker imports this file before it counts as started, so nothing of the console is imported at the top.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.at_home import at_home
    from tests.benchmarks.measure import median_of, report
    from tests.logs import purchase, write_log

    number, turns = (int(text) for text in [*sys.argv[1:], *("20000", "3")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder) / "data"):
        log = write_log(Path(folder) / "log.jsonl", *(purchase(n, wrong=n % 3 == 0) for n in range(number)))
        took = {1: [], 2: []}
        for turn in range(turns):
            for workers in (1, 2) if turn % 2 == 0 else (2, 1):
                started, seconds, spent = judge(log, workers, Path(folder) / "out.parquet", number)
                took[workers].append(seconds)
                print(
                    f"{workers} workers: start {started:.1f} s, then {seconds:.1f} s; "
                    f"the command itself used {spent:.1f} s of processor"
                )
    ratios = [one / two for one, two in zip(took[1], took[2], strict=True)]
    report("workers", {GOAL: median_of(ratios)}, {GOAL: (">=", 1.7)})


def judge(log, workers, out, number):
    """The seconds of a new cluster's start, of the judging, and of processor time of this process for the judging."""
    from console.detection import distributed_judging
    from console.detection.detectors.shared.model_clients import ModelOptions
    from tests.benchmarks.load import share_of_a_core

    task = distributed_judging.JudgingTask(("rules",), ("click[Buy Now]",), ModelOptions())
    started = time.perf_counter()
    with distributed_judging.open_client(None, workers) as client, ExitStack() as stack:
        for process in client.run(os.getpid).values():
            stack.enter_context(share_of_a_core(process, f"inferact-worker-{process}"))
        ready, spent = time.perf_counter(), time.process_time()
        parts = distributed_judging.split_files([log], workers)
        done = distributed_judging.judge_files(parts, task, out, client, workers)
        seconds, spent = time.perf_counter() - ready, time.process_time() - spent
        assert sum(row["judged"] for row in done.rows) == number
        stack.close()
        client.cluster.close()
    return ready - started, seconds, spent


if __name__ == "__main__":
    main()
