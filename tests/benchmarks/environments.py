"""Steps a second of the embedded environments in one process, playing their own oracles from reset to the end.

Usage: python tests/benchmarks/environments.py [--quick]
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from console.environments import ENVIRONMENTS  # noqa: E402
from tests.oracles import answering, shopping, tidying  # noqa: E402

ORACLES = {"webshop": shopping, "hotpotqa": answering, "alfworld": tidying}
GOAL = 10_000


def steps_a_second(name: str, count: int, seed: int) -> float:
    """Steps a second over `count` tasks, resets included, the making of the tasks left out."""
    environment = ENVIRONMENTS[name]
    played = [(environment.start(task), ORACLES[name](task)) for task in environment.tasks(seed, count)]
    started = time.perf_counter()
    steps = 0
    for world, actions in played:
        world.reset()
        for action in actions:
            world.step(action)
        steps += len(actions)
    return steps / (time.perf_counter() - started)


def main() -> None:
    """Prints the median of several rounds, each over tasks of its own seed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    rounds, count = (3, 100) if parser.parse_args().quick else (9, 400)
    figures = {}
    for name in ORACLES:
        steps_a_second(name, 10, 0)
        figures[name] = round(statistics.median(steps_a_second(name, count, seed) for seed in range(1, rounds + 1)))
        print(f"{name:9} {figures[name]:>9,} steps a second")
    goals = {name: [">=", GOAL] for name in ORACLES}
    met = all(figures[name] >= GOAL for name in ORACLES)
    print(json.dumps({"benchmark": "environments", "figures": figures, "goals": goals, "met": met}))


if __name__ == "__main__":
    main()
