"""One more analysis: what it states is on the page, in the report and on the command line, known nowhere else."""

import os
import subprocess
import sys

import pytest

from console.database import now_ms
from console.studies.design import Design
from console.studies.sessions import lifecycle, simulated
from tests.serving import ROOT

ANALYSIS = """
import sys
from console.studies.analysis import ANALYSES
from console.studies.analysis.format import ColumnFormat
from console.studies.analysis.frames import groups, own_decisions, table
from console.studies.analysis.parts import Analysis, ResultChoice, ResultPart


def hasty(frames):
    rows = [
        {"reviewers": name, "condition": condition, "fastest": part["lead_time_ms"].min() / 7_000}
        for name, of_kind in groups(own_decisions(frames))
        for condition, part in of_kind.groupby("condition")
    ]
    return table(rows, "reviewers$ condition$ fastest")


def of_hasty(frame):
    return f"The hastiest decision of {len(frame)} conditions was told by the extra analysis."


ANALYSES["haste"] = Analysis(
    tab="Haste",
    title="Who was in haste",
    lead="Each condition's fastest decision.",
    source="decisions.csv",
    tables={"haste": hasty},
    parts=(
        ResultPart(
            table="haste",
            title="Fastest decisions",
            about="In sevenths of a minute.",
            sentence=of_hasty,
            columns={"fastest": ColumnFormat("the fastest", 4)},
        ),
    ),
    choices=(ResultChoice("reviewers", "Whose", "whose"),),
)
"""

PAGE = """
from streamlit.testing.v1 import AppTest

from tests.signing_in import signed_in

at = AppTest.from_file("streamlit_app.py", default_timeout=60)
at.session_state["session"] = signed_in()
for name, value in {"study": "small", "section": "results", "part": "haste"}.items():
    at.query_params[name] = value
at.run()
at.switch_page("console/web/pages/studies.py").run()
assert [error.value for error in at.exception] == []
print(*(text.value for text in at.text), *(head.value for head in at.header), sep="\\n")
print(at.dataframe[0].value.columns.tolist())
"""

REPORT = """
from console.cli import run_command

print("At the command line:")
assert run_command(["study", "results", "small", "--table", "haste"]) == 0
assert run_command(["study", "report", "small", "--out", sys.argv[1]]) == 0
"""


@pytest.fixture
def said(data_dir):
    """A function that runs the code in a process that has the further analysis, and returns what it printed."""
    lifecycle.create(
        Design(
            name="small",
            source={"actor": "scripted", "environment": "webshop"},
            tasks=2,
            trials=1,
            budget="2",
            factors={"score": ("shown", "hidden")},
            participants={"human": 0, "noisy": 1},
        ),
        now_ms(),
    )
    lifecycle.open_study("small")
    simulated.simulate("small")
    env = os.environ | {"INFERACT_DATA_DIR": str(data_dir), "PYTHONPATH": str(ROOT)}

    def run(code, *arguments):
        command = [sys.executable, "-c", ANALYSIS + code, *arguments]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.at_length
def test_one_more_analysis_is_on_the_page_and_in_the_report(said, tmp_path):
    sentence = "The hastiest decision of 2 conditions was told by the extra analysis."
    page, _, listed = said(PAGE + REPORT, str(tmp_path)).partition("At the command line:")
    assert sentence in page
    assert "Fastest decisions" in page
    assert "'fastest'" in page
    assert "fastest" in listed
    report = (tmp_path / "report.html").read_text("utf-8")
    assert all(
        words in report for words in (sentence, "Who was in haste", "Fastest decisions. In sevenths", "the fastest")
    )
