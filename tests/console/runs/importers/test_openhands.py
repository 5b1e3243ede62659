"""OpenHands and SWE-agent both have a `history` with actions; each is known by marks of its own."""

import pytest

from console.runs.importers import IMPORTERS
from console.runs.importers.parts.json_records import base_of, outline
from tests.console.runs.importers.probes import PROBES

SOFTWARE = ("openhands", "swe-agent")


@pytest.mark.parametrize("name", [name for name in PROBES if name.startswith(SOFTWARE)])
def test_a_log_has_the_marks_of_its_own_format_only(name):
    paths = outline(PROBES[name].content)
    fitting = [format for format in SOFTWARE if base_of(paths, *IMPORTERS[format].marks) is not None]
    assert fitting == [PROBES[name].format]


def test_arguments_beside_the_action_are_read_without_what_the_agent_notes_there(write, trajectories):
    content = PROBES["openhands: arguments beside the action, without a source"].content
    (trajectory,) = trajectories(write("output.jsonl", content))
    assert [(step.thought, step.action) for step in trajectory.steps] == [("So.", 'run({"command":"touch a"})')]
