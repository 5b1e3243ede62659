"""Odd logs of every kind: no call is lost, made up or read as an answer without a word."""

from collections import Counter

import pytest

from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.records import DECIDED, Found
from tests.console.runs.importers.probes import PROBES
from tests.console.runs.importers.probes_of_exports import EXPORTS
from tests.console.runs.importers.probes_of_frameworks import FURTHER

LOGS = PROBES | FURTHER | EXPORTS


def _lines(action):
    """The calls of an action, one a line; an action of a text log may go over several."""
    return action.split("\n") if ")\n" in action else [action] if action else []


def names(trajectory):
    """What was called, one name a call, `-` for an answer; thoughts are none."""
    acts = [line for step in trajectory.steps for line in _lines(step.action)]
    found = [act.split("(")[0].split("[")[0] for act in acts if act.endswith((")", "]")) or "[" in act]
    return " ".join("-" if name == "respond" else name for name in found)


@pytest.mark.parametrize("name", LOGS)
def test_every_call_of_an_odd_log_is_read_or_the_file_is_refused(write, name):
    probe = LOGS[name]
    path = write("log", probe.content)
    if not probe.called:
        with pytest.raises(UnreadableFile):
            [*read_log(path)[1]]
        return
    format, entries = read_log(path)
    read = [*entries]
    assert format == probe.format
    assert all(isinstance(entry, Found) for entry in read), read
    assert [names(entry.trajectory) for entry in read] == probe.called
    steps = [step for entry in read for step in entry.trajectory.steps]
    if probe.seen:
        assert [step.observation for step in steps] == probe.seen
    told = Counter()
    for entry in read:
        told.update({what: one.count for what, one in entry.left_out.items()})
    assert told == probe.left_out
    shown = [*(one for step in steps for one in step.pictures), *(one for e in read for one in e.trajectory.pictures)]
    assert len(shown) == probe.pictures
    assert sum(DECIDED in step.extra for step in steps) == probe.decisions
