"""Studies whose truth is known: answers drawn under logits with participants, their dealings with conditions, tasks."""

import numpy as np
import pandas as pd

PEOPLE, DEALINGS, TASKS = 0.5, 0.3, 1.0
"""Standard deviations in log odds: of participants, of a participant under a condition, of tasks."""


def study(draw, people, conditions, tasks=25, effect=0.0, between=False):
    """One row per answer; `effect` is added to the log odds of condition c1. Sets of tasks are rotated if within."""
    hard = draw.normal(0, TASKS, (1 if between else conditions, tasks))
    met = [
        (person, condition, 0 if between else (person + condition) % conditions)
        for person in range(people)
        for condition in ([person % conditions] if between else range(conditions))
    ]
    own, dealings = draw.normal(0, PEOPLE, people), draw.normal(0, DEALINGS, (people, conditions))
    logits = [own[p] + dealings[p, c] + hard[b] + effect * (c == 1) for p, c, b in met]
    right = draw.random((len(met), tasks)) < 1 / (1 + np.exp(-np.array(logits)))
    columns = {
        "participant": np.repeat([f"P{p:02}" for p, _, _ in met], tasks),
        "condition": np.repeat([f"c{c}" for _, c, _ in met], tasks),
        "task_id": [f"t{b}-{task}" for _, _, b in met for task in range(tasks)],
        "value": right.ravel().astype(int),
    }
    return pd.DataFrame(columns)


def differences(effect):
    """What c1 has more of than c0 over all participants and tasks there could be: in probability, and in log odds."""
    points, weights = np.polynomial.hermite_e.hermegauss(64)
    spread = points * (PEOPLE**2 + DEALINGS**2 + TASKS**2) ** 0.5
    first, second = (float((weights / (1 + np.exp(-(spread + more)))).sum() / weights.sum()) for more in (effect, 0.0))
    odds = first / (1 - first), second / (1 - second)
    return first - second, float(np.log(odds[0] / odds[1]))
