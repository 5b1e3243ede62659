"""Databases and runs that the services' tests start from."""

import pytest

from console.detection import batch
from console.runs import ingest
from tests.logs import purchase, stuck, write_log


@pytest.fixture
def two_trials(tmp_path):
    """An archive run of two tasks: trial 0 wrong for both, trial 1 right for the first and wrong for the second."""
    records = [
        purchase(0, wrong=True),
        purchase(1, wrong=True),
        purchase(2, wrong=False),
        stuck(3),
        purchase(0, wrong=False, trial=1),
        purchase(1, wrong=True, trial=1),
    ]
    report = ingest.import_file(write_log(tmp_path / "trials.jsonl", *records), "log", "auto", lambda _: None)
    assert report.imported == 6
    batch.detect("log", ["rules"])
    return "log"
