"""Long texts in a real browser: the page does not slow down with them, and none is cut in silence."""

import time

import pytest

from console.auth.sign_in import researcher_key
from console.database import reading, writing
from console.detection import batch
from console.runs import ingest
from console.trajectory import Step, Trajectory
from storage import tables
from tests.logs import write_log

pytestmark = pytest.mark.at_length

LINE = "the kettle is red, 1.7 litres, price 24.99; "
SIZES = {"small": 10_000, "large": 5_000_000}
END = "THE LAST WORDS"


def record(name, size, action="click[Buy Now]"):
    """A purchase whose first observation is one line of that many characters."""
    text = (LINE * (size // len(LINE) + 1))[: size - len(END)] + END
    steps = [{"thought": "", "action": "search[kettle]", "observation": text}]
    return {
        "task_id": name,
        "environment": "webshop",
        "instruction": f"{name}: a green kettle, price lower than 30.00 dollars",
        "steps": [*steps, {"thought": "", "action": action, "observation": ""}],
        "critical_action": action,
        "outcome": "failed",
    }


def fill(folder, **records):
    """A run for each record, judged."""
    for name, each in records.items():
        ingest.import_file(write_log(folder / f"{name}.jsonl", each), name, "auto", lambda _: None)
        batch.detect(name, ["full-validation"])


@pytest.fixture(scope="module")
def console(furnished, tmp_path_factory):
    """The address and key of a console over a run of each size, and one of a long action."""
    folder = tmp_path_factory.mktemp("logs")
    call = 'pay({"to":"' + "ab " * 5_000 + '","why":"' + END + '"})'
    records = {name: record(name, size) for name, size in SIZES.items()}
    return furnished(lambda: fill(folder, **records, action=record("action", 1_000, call) | {"environment": "generic"}))


@pytest.fixture
def review(console, open_page, settled):
    """A function that signs in and opens Review on a run."""
    base, key = console

    def show(run, **look):
        page = open_page(f"{base}/?key={key}", **look)
        page.wait_for_selector("[data-testid=stApp]")
        return page

    return show
