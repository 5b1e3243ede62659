"""Run options: the further settings of a run, which its column `options` keeps as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from console.errors import BadInput
from storage import tables

Costs = Mapping[str, float | str]
"""By pattern of actions, what a wrong action costs: an amount, or `price`, the last price that the agent saw."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run; a key of the JSON is the field's name, and one that is at its default may be missing.

    `view` says what a reviewer's page shows: `shown` or `hidden` for score, explanation, detector, highlights and
    earlier, for brief `none` or `target`, and as `alias` what the detector is called. Only runs of studies have one; a
    name that it lacks is shown.
    `costs` are what the user stated, see `console.runs.costs`; without any, items rank by their score alone.
    `reasons` are what its reviewers choose from in place of the environment's.
    `goes_on`: the agents try again by themselves once its reviewers are done; the demo's do.
    `budget_frozen`: a percentage budget of a live run is set for good, since trial 0 has stopped.
    `playing`: the Actor of a participant's run is at work, or was when its process died.
    `narrowed`: patterns were taken away, so that a verdict may be about an action that is not critical any longer.
    `plans` are the ids of the plan versions that the run goes by, by type of task (empty: every type); `explores` says
    that its trials are there to learn a plan from.
    `rates_answers`: its items are answers that people find correct or not.
    `audited` is the share of what its detector does not flag that waits for a review all the same, 0 to 1.
    `unknown` are keys that this console does not know, of an older or newer one; they are written back as they were.
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
        """The text of the column: what is at its default is left out."""
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
    """The options of a run; raises BadInput where one that is known holds something else than it should.

    They are changed as in `run.options = replace(run_options(run), playing=True).to_json()`.
    """
    stored: dict[str, Any] = orjson.loads(run.options or "{}")
    known = {name: value for name in _KINDS if (value := stored.pop(name, None)) is not None}
    for name, value in known.items():
        if not isinstance(value, _KINDS[name]):
            raise BadInput(f"The option {name!r} of run {run.name!r} is {value!r}; the database was changed by hand.")
    return RunOptions(**known, unknown=stored)
