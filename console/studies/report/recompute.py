"""Recompute every number and sentence of a study's report from its CSV files, and list the differences.

This script is part of each report's folder as analysis.py. Run the script in that folder: pip install inferact-console
&& python analysis.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from console.runs.export.formats import as_csv
from console.studies.design.yaml_file import load
from console.studies.report import report_tables
from console.studies.results.csv_files import read

_NEAR = 1e-9


def main(folder: Path) -> int:
    """Return the number of tables that differ from the tables of the report."""
    wrong = 0
    for name, frame in report_tables(load(folder / "design.yaml"), read(folder)).items():
        again = folder / "again" / f"{name}.csv"
        again.parent.mkdir(exist_ok=True)
        again.write_bytes(as_csv(frame))
        same = _same(pd.read_csv(folder / "tables" / f"{name}.csv"), pd.read_csv(again))
        wrong += not same
        sys.stdout.write(f"{'same' if same else 'DIFFERENT'}  {name}: {len(frame)} rows\n")
    return wrong


def _same(first: pd.DataFrame, second: pd.DataFrame) -> bool:
    try:
        pd.testing.assert_frame_equal(first, second, rtol=_NEAR, atol=_NEAR)
    except AssertionError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
