"""The report's plain script computes the same numbers; test_report.py runs it where there is no console."""

import re
import runpy
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from console.runs.export.formats import as_csv
from console.studies import report
from console.studies.analysis import computations
from console.studies.design import Design
from console.studies.design.contrasts import plan_rows
from tests.answered import study


def differing(folder):
    """How many rows the script of that folder computes otherwise."""
    return runpy.run_path(str(folder / "analysis_plain.py"))["main"](folder)


def frames(people, conditions, *, between=False, missing=0.0, solved=1.0):
    """Tidy tables of people and as many simulated reviewers; a share of the conditions is missing."""
    draw, parts = np.random.default_rng(5), []
    for kind in ("human", "rule"):
        drawn = study(draw, people, conditions, tasks=10, effect=0.9, between=between)
        drawn["participant"] = kind + drawn["participant"]
        drawn["value"] = drawn["value"] * (draw.random(len(drawn)) < solved)
        cell = drawn.groupby(["participant", "condition"]).ngroup()
        kept = draw.random(cell.max() + 1)[cell] >= missing
        parts.append(drawn[kept].assign(annotator_kind=kind, closed=True))
    last = pd.concat(parts, ignore_index=True).rename(columns={"value": "solved_paper"}).assign(trial=2)
    start = last.assign(trial=0, solved_paper=draw.integers(0, 2, len(last)))
    rows = pd.concat([last, start], ignore_index=True)
    keys = ["annotator_kind", "participant", "condition", "trial"]
    counted = rows.groupby(keys)["solved_paper"].agg(tasks="size", solved_paper="sum").reset_index()
    decided = last.rename(columns={"solved_paper": "correct"}).assign(purpose="", correct=last["solved_paper"] == 1)
    named = [{"name": f"c{at}", "levels": {"score": "shown"}} for at in range(conditions)]
    design = Design(
        name="pilot", source={"environment": "webshop"}, conditions=named, estimands={"equivalence": 0.2},
        comparison="between" if between else "within",
    )  # fmt: skip
    return {
        "decisions": decided,
        "outcomes": rows,
        "success": counted.assign(solved_held=counted["solved_paper"] // 2, closed=True),
        "participants": last[["participant", "annotator_kind"]].drop_duplicates(),
        "plan": pd.DataFrame(plan_rows(design)),
        "exclusions": pd.DataFrame({"participant": ["humanP00"], "rule": ["pace"], "excluded": [True]}),
    }


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param({"people": 8, "conditions": 2}, id="balanced but for one who is left out"),
        pytest.param(
            {"people": 12, "conditions": 3, "missing": 0.3}, id="conditions missing", marks=pytest.mark.at_length
        ),
        pytest.param(
            {"people": 16, "conditions": 2, "between": True, "solved": 0.12},
            id="between participants, rare",
            marks=pytest.mark.at_length,
        ),
        pytest.param({"people": 9, "conditions": 2, "missing": 0.2}, id="some refused", marks=pytest.mark.at_length),
    ],
)
def test_it_computes_contrasts_and_success_of_people_and_simulated_reviewers(kind, tmp_path, capsys):
    tables = frames(**kind)
    for name, frame in tables.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "tables").mkdir()
    stated = computations()["contrasts"](tables)
    assert stated["p"].notna().sum() >= 6
    (tmp_path / "contrasts.csv").write_bytes(as_csv(stated))
    (tmp_path / "tables/success.csv").write_bytes(as_csv(computations()["success"](tables)))
    (tmp_path / "analysis_plain.py").write_text(files(report).joinpath("analysis_plain.py").read_text())
    assert differing(tmp_path) == 0
    assert f"contrasts: {len(stated)} of {len(stated)} rows are the same to 1e-09" in capsys.readouterr().out


@pytest.mark.at_length
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed (Debian: r-base-core)")
@pytest.mark.parametrize(
    "kind",
    [
        {"people": 8, "conditions": 2},
        {"people": 12, "conditions": 3, "missing": 0.3},
        {"people": 16, "conditions": 2, "between": True, "solved": 0.12},
    ],
    ids=["balanced", "conditions missing", "between participants, rare"],
)
def test_base_r_computes_the_same_contrasts(kind, tmp_path):
    tables = frames(**kind)
    for name, frame in tables.items():
        (tmp_path / f"{name}.csv").write_bytes(as_csv(frame))
    stated = computations()["contrasts"](tables)
    (tmp_path / "contrasts.csv").write_bytes(as_csv(stated))
    (tmp_path / "analysis.R").write_text(files(report).joinpath("analysis.R").read_text())
    command = ["Rscript", "--vanilla", "analysis.R"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    claims = int((stated["claim"] == "people and tasks").sum())
    assert claims >= 4
    assert f"contrasts: {claims} compared, 0 different at 1e-06" in done.stdout
    # The sensitivity analysis stands below each primary claim over two conditions, if lmerTest is installed.
    has_lmer = subprocess.run(["Rscript", "-e", "library(lmerTest)"], capture_output=True, check=False).returncode == 0
    primary = stated[(stated["claim"] == "people and tasks") & (stated["kind"] == "primary")]
    assert (
        len(re.findall(r"^  lmer: [+-]\d\.\d{4}, SE ", done.stdout, re.M)) == has_lmer * len(primary) > 0
        or not has_lmer
    )
    (tmp_path / "contrasts.csv").write_bytes(as_csv(stated.assign(estimate=stated["estimate"] + 1e-5)))
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (again.returncode, "DIFFERENT" in again.stdout) == (1, True)
