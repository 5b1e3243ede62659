"""What each part of the report says in sentences, for people and for simulated reviewers apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from console.sayings import outcomes, reviewers

Tables = Mapping[str, pd.DataFrame]

Said = tuple[str, str]
"""Of whom or what a sentence is, empty for all of it, and the sentence."""

_Sentence = Callable[[pd.DataFrame], str]


def success(there: Tables) -> Iterator[Said]:
    """Which condition solved most."""
    table = there["success"]
    yield from _by(table[table["count"] == "undecided run"], "reviewers", outcomes.of_success)


def differences(there: Tables) -> Iterator[Said]:
    """How many pairs of conditions differ, for each measure."""
    table = there["differences"]
    for (who, measure), rows in table.groupby(["reviewers", "measure"], sort=False):
        yield f"{who}, {measure}", outcomes.of_differences(rows)


def agreement(there: Tables) -> Iterator[Said]:
    """How far reviewers agree beyond chance."""
    yield from _by(there["agreement"], "reviewers", outcomes.of_agreement)


def pace(there: Tables) -> Iterator[Said]:
    """How long a decision takes."""
    yield from _by(there["pace"], "reviewers", reviewers.of_pace)


def reliance(there: Tables) -> Iterator[Said]:
    """Overrides, automation bias, rubber stamping."""
    yield from _by(there["override-by-score"], "reviewers", reviewers.of_overrides)
    yield from _by(there["automation-bias"], "reviewers", reviewers.of_bias)
    yield from _by(there["rubber-stamping"], "reviewers", reviewers.of_stamping)


def words(there: Tables) -> Iterator[Said]:
    """Whether longer and more specific words go with success."""
    yield from _by(there["feedback"], "reviewers", reviewers.of_words)


def people(there: Tables) -> Iterator[Said]:
    """People beside simulated reviewers."""
    if len(there["people"]):
        yield "", reviewers.of_people(there["people"])


def oversight(there: Tables) -> Iterator[Said]:
    """How each condition's budget was used."""
    yield from _by(there["burn-down"], "condition", reviewers.of_burn_down)


def _by(table: pd.DataFrame, column: str, sentence: _Sentence) -> Iterator[Said]:
    for name, rows in table.groupby(column, sort=False):
        yield str(name), sentence(rows)
