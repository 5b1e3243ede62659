"""Run options: further settings of a run, stored as one JSON object in its column `options`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from console.errors import BadInput
from storage import tables

Costs = Mapping[str, float | str]
"""The cost of a wrong action by pattern: an amount, or `price`, the last price that the agent saw."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run; the JSON keys are the fields' names, and options at their defaults may be missing.

    `view` controls a reviewer's page: score, explanation, detector, highlights and earlier are `shown` or `hidden`,
    brief is `none` or `target`, and `alias` is the displayed name of the detector. Only runs of studies have a view;
    parts missing from the view are shown.
    `costs` are the stated costs of wrong actions (`console.runs.costs`); if no costs are stated, items rank by score.
    `reasons` are the reasons that reviewers can select, instead of the environment's reasons.
    `goes_on`: the agents start the next trial automatically when the reviewers are done, as in the demo.
    `budget_frozen`: the percentage budget of a live run no longer changes, because trial 0 has stopped.
    `playing`: the Actor of a participant's run is running, or was when its process crashed.
    `narrowed`: patterns were removed, so some verdicts may concern actions that are not critical any more.
    `plans` are the ids of the run's plan versions by type of task (empty: every type); `explores` marks a run whose
    trials are used to learn a plan.
    `rates_answers`: its items are answers that people rate as correct or incorrect.
    `audited` is the share (0 to 1) of unflagged actions that are reviewed nevertheless.
    `unknown` are keys of an older or newer console; they are written back unchanged.
    """

    view: Mapping[str, str] = field(default_factory=dict)
    costs: Costs = field(default_factory=dict)
    reasons: Sequence[str] = ()
    goes_on: bool = False
    budget_frozen: bool = False
    playing: bool = False
    narrowed: bool = False
    plans: Mapping[str, int] = field(default_factory=dict)
    explores: bool = False
    rates_answers: bool = False
    audited: float = 0.0
    unknown: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the text of the column, without options at their defaults."""
        known = {name: value for name in _KINDS if (value := getattr(self, name))}
        return orjson.dumps({**self.unknown, **known}).decode()


_KINDS: dict[str, type] = {
    "view": dict,
    "costs": dict,
    "reasons": list,
    "goes_on": bool,
    "budget_frozen": bool,
    "playing": bool,
    "narrowed": bool,
    "plans": dict,
    "explores": bool,
    "rates_answers": bool,
    "audited": float,
}


def run_options(run: tables.Run) -> RunOptions:
    """Return the options of a run; raise BadInput if a known option has the wrong type.

    Change the options as in `run.options = replace(run_options(run), playing=True).to_json()`.
    """
    stored: dict[str, Any] = orjson.loads(run.options or "{}")
    known = {name: value for name in _KINDS if (value := stored.pop(name, None)) is not None}
    for name, value in known.items():
        if not isinstance(value, _KINDS[name]):
            raise BadInput(
                f"The option {name!r} of run {run.name!r} is invalid: {value!r}. Restore a backup of the database."
            )
    return RunOptions(**known, unknown=stored)
