"""Steps of the embedded environments while the calibrated loop runs once, playing their own oracles to the end.

Usage: python tests/benchmarks/environments.py [--quick]
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from console.environments import ENVIRONMENTS  # noqa: E402
from tests.benchmarks.measure import median_of, report, run_loop, spend  # noqa: E402
from tests.oracles import answering, shopping, tidying  # noqa: E402

ORACLES = {"webshop": shopping, "hotpotqa": answering, "alfworld": tidying}
GOAL = 50
"""Steps while the loop runs once: 10,000 a second where it takes 5 ms."""


def play(name: str, count: int, seed: int) -> tuple[Callable[[], None], int]:
    """Return what plays `count` tasks from reset to the end, and how many steps that is."""
    environment = ENVIRONMENTS[name]
    played = [(environment.start(task), ORACLES[name](task)) for task in environment.tasks(seed, count)]

    def run() -> None:
        for world, actions in played:
            world.reset()
            for action in actions:
                world.step(action)

    return run, sum(len(actions) for _, actions in played)


def main() -> None:
    """Print the median of several rounds, each over tasks of its own seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    rounds, count = (9, 40) if parser.parse_args().quick else (31, 100)
    figures = {}
    for name in ORACLES:
        play(name, 10, 0)[0]()
        rates = []
        for seed in range(1, rounds + 1):
            run, steps = play(name, count, seed)
            loop = spend(run_loop).processor
            rates.append(steps * loop / spend(run).processor)
        figures[name] = median_of(rates)
    sys.exit(not report("environments", figures, {name: [">=", GOAL] for name in ORACLES}))


if __name__ == "__main__":
    main()
