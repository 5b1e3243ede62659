"""How much faster two workers of `inferact detect --engine dask` judge than one, with a detector that needs no model.

`python tests/benchmarks/workers.py [TRAJECTORIES]` judges the same file with one and with two worker processes, three
times each in turn, and prints the median of each and their ratio. A worker has one thread.
"""

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from console.detection import distributed_judging
from console.detection.detectors.shared.model_clients import ModelOptions
from tests.at_home import at_home
from tests.logs import purchase, write_log


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    with tempfile.TemporaryDirectory() as folder, at_home(Path(folder) / "data"):
        log = write_log(Path(folder) / "log.jsonl", *(purchase(n, wrong=n % 3 == 0) for n in range(number)))
        task = distributed_judging.JudgingTask(("rules",), ("click[Buy Now]",), ModelOptions())
        clients = {workers: distributed_judging.open_client(None, workers) for workers in (1, 2)}
        parts = distributed_judging.split_files([log], 2)
        took = {1: [], 2: []}
        for turn in range(4):
            for workers, client in clients.items():
                started = time.perf_counter()
                done = distributed_judging.judge_files(parts, task, Path(folder) / "out.parquet", client, workers)
                assert sum(row["judged"] for row in done.rows) == number
                # The first turn imports the detectors.
                took[workers] += [time.perf_counter() - started] * (turn > 0)
        for client in clients.values():
            client.cluster.close()
            client.close()
        one, two = (median(took[workers]) for workers in (1, 2))
        print(f"{number} trajectories, {len(parts)} partitions: 1 worker {one:.2f} s, 2 workers {two:.2f} s")
        print(f"2 workers are {one / two:.2f} times as fast; goal 1.7")


if __name__ == "__main__":
    main()
