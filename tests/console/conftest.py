"""Databases and runs that the services' tests start from."""

import shutil
from pathlib import Path

import pytest

from console.detection import batch
from console.runs import ingest
from tests.logs import purchase, stuck, write_log

HERE = Path(__file__).parent
ON_A_DATABASE = {"auth", "cli", "detection", "gate", "review", "runs", "studies", "trials", "web"}


@pytest.fixture(autouse=True)
def migrated(request, data_dir, empty_database):
    """Rooms whose tests nearly all have a database get a copy of an empty one: ten times as fast as making it."""
    if request.path.relative_to(HERE).parts[0] in ON_A_DATABASE:
        data_dir.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(empty_database, data_dir / "console.db")


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
