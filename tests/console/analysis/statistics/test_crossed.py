"""Participants and tasks both random: closed forms of balanced designs, a worked vector, and what is refused."""

import numpy as np
import pytest

from console.analysis.statistics.crossed import AnswerTable, CrossedPlan
from console.analysis.statistics.estimates import estimate_difference

APART = {"c1": 1.0, "c0": -1.0}


def plan(person, task, condition, names=("c0", "c1")):
    return CrossedPlan(AnswerTable(*map(np.asarray, (person, task, condition)), names))


def sets_in_rotation(people, tasks):
    """Two conditions, each on half of the tasks; the halves swap with every participant."""
    person, task = np.repeat(range(people), tasks), np.tile(range(tasks), people)
    return person, task, ((task >= tasks // 2) == (person % 2 == 0)).astype(int)


def test_the_worked_vector():
    y = np.array([int(digit) for digit in "10110100110111010011100010010111"], float)
    found = plan(*sets_in_rotation(4, 8)).fit(y[:, None], APART)
    assert found.value == pytest.approx([-0.25])
    parts = [found.of_people[0], found.of_tasks[0], found.of_error[0]]
    assert parts == pytest.approx([0.0078125, 0.041666666667, 0.028645833333])
    assert (found.df_people, found.df_tasks, found.df_error) == pytest.approx((2, 6, 12))
    assert (found.variance[0], found.df[0]) == pytest.approx((0.041666666667, 6)), "the floor applies"


def test_the_same_tasks_in_both_conditions_are_quasi_f():
    rng, people, tasks = np.random.default_rng(2), 9, 12
    y = rng.normal(size=(people, tasks, 2)) + rng.normal(size=(people, 1, 2)) + rng.normal(size=(1, tasks, 2))
    y = y / 10 + 0.5
    person, task, condition = (axis.ravel() for axis in np.indices(y.shape))
    found = plan(person, task, condition).fit(y.reshape(-1, 1), APART)
    apart = y[:, :, 1] - y[:, :, 0]
    rest = apart - apart.mean(1, keepdims=True) - apart.mean(0) + apart.mean()
    df = (people - 1) * (tasks - 1)
    parts = [
        apart.mean(1).var(ddof=1) / people,
        apart.mean(0).var(ddof=1) / tasks,
        (rest**2).sum() / df / people / tasks,
    ]
    assert [found.of_people[0], found.of_tasks[0], found.of_error[0]] == pytest.approx(parts)
    assert (found.df_people, found.df_tasks, found.df_error) == pytest.approx((people - 1, tasks - 1, df))
    variance = parts[0] + parts[1] - parts[2]
    assert found.variance == pytest.approx([variance])
    f = variance**2 / (parts[0] ** 2 / (people - 1) + parts[1] ** 2 / (tasks - 1) + parts[2] ** 2 / df)
    assert found.df == pytest.approx([f])


def test_between_groups_the_variance_over_people_is_welchs():
    rng, people, tasks = np.random.default_rng(3), 18, 25
    person, task = (axis.ravel() for axis in np.indices((people, tasks)))
    condition = (person >= 6).astype(int)
    y = (rng.random(person.size) < 0.5).astype(float)
    found = plan(person, task, condition).fit(y[:, None], APART)
    means = y.reshape(people, tasks).mean(1)
    welch = estimate_difference(means[6:], means[:6])
    assert found.value == pytest.approx([welch.value])
    assert found.of_people == pytest.approx([welch.error**2])
    assert found.df_people == pytest.approx(welch.df)
    groups = y.reshape(people, tasks)
    apart = groups[6:].mean(0) - groups[:6].mean(0)
    assert found.of_tasks == pytest.approx([apart.var(ddof=1) / tasks])


def test_uneven_data_are_the_dense_formula():
    """CR2 with whole matrices, as Bell and McCaffrey write it."""
    rng = np.random.default_rng(4)
    person, task, condition = sets_in_rotation(9, 20)
    kept = rng.random(person.size) < 0.7
    person, task, condition = (each[kept] for each in (person, task, condition))
    y = rng.random(person.size)
    columns = np.hstack([np.eye(9)[person], np.eye(20)[task], np.eye(2)[condition]])
    hat = columns @ np.linalg.pinv(columns)
    loads = columns @ np.linalg.pinv(columns.T @ columns) @ np.r_[np.zeros(29), -1, 1]
    rest = y - hat @ y
    rows = []
    for each in range(9):
        mine = np.flatnonzero(person == each)
        values, vectors = np.linalg.eigh(np.eye(len(mine)) - hat[np.ix_(mine, mine)])
        root = vectors @ np.diag(np.where(values > 1e-8, np.maximum(values, 1e-8) ** -0.5, 0)) @ vectors.T
        rows.append((root @ loads[mine]) @ (np.eye(len(y)) - hat)[mine])
    gram = np.array(rows) @ np.array(rows).T
    found = plan(person, task, condition).fit(y[:, None], APART)
    assert found.value == pytest.approx([loads @ y])
    assert found.of_people == pytest.approx([sum((row @ rest) ** 2 for row in rows)])
    assert found.df_people == pytest.approx(np.trace(gram) ** 2 / (gram**2).sum())


def nested(people):
    """Each condition has tasks of its own, for everybody the same."""
    person, task = np.repeat(range(people), 20), np.tile(range(20), people)
    return person, task, (task >= 10).astype(int)


def groups_of(first, second, tasks):
    person, task = np.repeat(range(first + second), tasks), np.tile(range(tasks), first + second)
    return person, task, (person >= first).astype(int)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (sets_in_rotation(4, 8), ""),
        (sets_in_rotation(3, 20), "3 participants with answers on both sides of the contrast are fewer than 5"),
        (sets_in_rotation(8, 6), "6 tasks are fewer than 8"),
        (groups_of(6, 6, 8), ""),
        (groups_of(5, 12, 25), "a group of 5 participants is smaller than 6"),
    ],
)
def test_designs_without_a_claim_over_tasks_are_refused(pattern, why):
    y = np.random.default_rng(0).random((len(pattern[0]), 1))
    assert plan(*pattern).fit(y, APART).refused == why


def test_a_set_of_tasks_that_one_person_alone_had_in_its_condition_supports_no_claim():
    """Five people have both conditions, but only the first has them so: the fit leaves that person no residual."""
    person, task, _ = sets_in_rotation(5, 20)
    condition = ((task >= 10) == (person == 0)).astype(int)
    y = np.random.default_rng(0).random((len(person), 1))
    assert plan(person, task, condition).fit(y, APART).refused == "part of the contrast rests on one participant alone"
    again = np.r_[person, np.full(20, 5)], np.r_[task, task[:20]], np.r_[condition, condition[:20]]
    assert not plan(*again).fit(np.r_[y, y[:20] ** 2], APART).refused


def test_tasks_of_one_condition_alone_support_no_estimate():
    pattern = nested(8)
    assert plan(*pattern).fit(np.ones((len(pattern[0]), 1)), APART) is None


def test_without_variation_there_is_no_test():
    pattern = groups_of(6, 6, 8)
    found = plan(*pattern).fit(np.ones((len(pattern[0]), 1)), APART)
    assert np.isnan(found.p_value).all()


@pytest.mark.parametrize(("share", "factor"), [(0.05, 1.08), (0.5, 1.0), (0.96, 1.08)])
def test_answers_near_an_end_of_the_scale_have_a_wider_interval(share, factor):
    pattern = groups_of(12, 12, 25)
    y = (np.random.default_rng(6).random(len(pattern[0])) < share).astype(float)
    found = plan(*pattern).fit(y[:, None], APART)
    parts = found.of_people + found.of_tasks - found.of_error
    assert found.variance == pytest.approx(np.maximum(parts, np.maximum(found.of_people, found.of_tasks)) * factor**2)
    assert found.rare == [factor > 1]
