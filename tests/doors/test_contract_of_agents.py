"""The contract of every way in, with the real frameworks where they are installed (`INFERACT_FRAMEWORKS`)."""

import pytest

from console.settings import settings
from tests.doors.contract import CASES, Door, find_fault, find_python
from tests.doors.ways import WAYS
from tests.serving import serving
from tests.sweeps import sweep

OF_FRAMEWORKS = [name for name in WAYS if name not in ("plain", "side_by_side")]


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """A served console with the contract's policy."""
    data = tmp_path_factory.mktemp("contract") / "data"
    with serving(data) as server:
        yield Door(data), server


@pytest.fixture
def play(door, monkeypatch, tmp_path):
    """A function that plays a case for a way in and returns what breaks the contract, or an empty text."""
    way_in, server = door
    monkeypatch.setenv("INFERACT_DATA_DIR", str(way_in.data))
    settings.cache_clear()

    def play(way, case):
        folder = tmp_path / case.name.replace(" ", "_")
        folder.mkdir()
        return find_fault(way, case, way_in.play(server, way, case, folder))

    return play


@sweep("case", [case for case in CASES if case.event != "away"], kept=5, ids=lambda case: case.name)
def test_agent_executes_only_what_was_allowed_and_reads_why(play, case):
    assert play("side_by_side" if len(case.calls) > 1 else "plain", case) == ""


@pytest.mark.at_length
@pytest.mark.parametrize("way", OF_FRAMEWORKS)
def test_framework_executes_only_what_was_allowed_and_reads_why(play, way):
    if find_python(WAYS[way].module) is None:
        pytest.skip(f"{WAYS[way].module} is not installed; INFERACT_FRAMEWORKS names a folder of environments")
    assert {case.name: fault for case in CASES if (fault := play(way, case))} == {}
