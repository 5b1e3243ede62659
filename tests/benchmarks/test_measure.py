"""How benchmarks measure: pairs, medians with intervals, and goals that are missed only beyond their interval."""

import json
import os
import random
import subprocess
import sys
import time

import pytest

from tests.benchmarks.measure import (
    Figure,
    Spent,
    compare,
    is_missed,
    median_of,
    processor_s,
    ratio_of_quantiles,
    report,
    spend,
)


def count_to(number):
    return lambda: sum(range(number))


def test_twice_the_work_is_told_from_the_same_work():
    # Counting leaves no garbage, and a worker's whole heap takes long to search.
    same = compare(count_to(50_000), count_to(50_000), 41, collect=False).computing()
    twice = compare(count_to(100_000), count_to(50_000), 41, collect=False).computing()
    assert same.low < 1.15
    assert same.high > 0.85
    assert twice.low > 1.5


def test_waiting_is_told_apart_from_computing():
    pairs = compare(lambda: time.sleep(0.02), count_to(100_000), 9, collect=False)
    assert pairs.computing().value < 0.7 < 1 < pairs.elapsed().value
    assert "of it waiting" in pairs.describe("sleep")


def test_the_sides_take_turns_in_going_first():
    order = []
    compare(lambda: order.append("ours"), lambda: order.append("floor"), 3, warm_up=1, collect=False)
    assert order == ["floor", "ours", "ours", "floor", "floor", "ours", "ours", "floor"]


def test_the_interval_of_a_median_holds_it_95_times_in_100():
    draw = random.Random(3)
    held = 0
    for _ in range(2_000):
        figure = median_of([draw.lognormvariate(0, 1) for _ in range(21)])
        held += figure.low <= 1.0 <= figure.high
    assert 0.94 <= held / 2_000 <= 0.99


def test_the_ratio_of_quantiles_holds_the_true_one():
    draw = random.Random(5)
    floor = [draw.lognormvariate(0, 0.2) for _ in range(400)]
    figure = ratio_of_quantiles([1.2 * draw.lognormvariate(0, 0.2) for _ in range(400)], floor, 0.95)
    assert figure.low < 1.2 < figure.high
    assert figure.high - figure.low < 0.4


@pytest.mark.parametrize(
    ("sign", "goal", "missed"),
    [
        ("<=", 1.0, True),
        ("<=", 1.15, False),
        ("<=", 1.3, False),
        (">=", 1.0, False),
        (">=", 1.25, False),
        (">=", 1.31, True),
    ],
)
def test_a_goal_is_missed_only_if_the_whole_interval_lies_beyond_it(sign, goal, missed):
    assert is_missed(Figure(1.2, 1.1, 1.3, 9), sign, goal) is missed


def test_the_report_ends_with_one_line_of_json(capsys):
    assert not report("sample", {"slow": Figure(2.0, 1.9, 2.1, 5), "lost": 0}, {"slow": ["<=", 1.0], "lost": ["<=", 0]})
    *_, last = capsys.readouterr().out.splitlines()
    assert json.loads(last) == {
        "benchmark": "sample",
        "figures": {"slow": 2.0, "lost": 0},
        "intervals": {"slow": [1.9, 2.1]},
        "goals": {"slow": ["<=", 1.0], "lost": ["<=", 0]},
        "met": False,
    }


def test_the_processor_time_of_another_process_is_counted():
    spent = spend(lambda: sum(range(1_000_000)), server=os.getpid())
    assert spent.processor > 0.01


def test_the_processor_time_of_a_process_holds_that_of_threads_that_have_ended():
    code = """if True:
        import threading, time
        one = threading.Thread(target=lambda: sum(range(5_000_000)))
        one.start()
        one.join()
        print(time.process_time(), flush=True)
        input()
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        told = float(other.stdout.readline())
        assert told <= processor_s(other.pid) < told + 0.05
        other.communicate("\n")


def test_waiting_for_a_processor_is_told_apart_from_working():
    busy = Spent(wall=1.4, processor=0.1, queued=0.3, share=0.25)
    assert busy.undisturbed(least=1.0) == pytest.approx(1.1)
    assert Spent(1.1, 0.1, 0.0, 1.0).undisturbed(least=1.0) == pytest.approx(1.1)
