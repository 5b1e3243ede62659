"""The contract's table, each way in by each case: `python -m tests.doors.approval_conformance [WAY ...] [--record]`.

`INFERACT_FRAMEWORKS` names a folder of environments, INFERACT_CODEX and INFERACT_GEMINI the programs. `--record` writes
the rows into the file that the handbook shows; rows of ways that were not played stay.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import yaml

from tests.doors.contract import CASES, CLIENT, LIMITS, ROOT, Door, find_fault, find_python
from tests.doors.ways import WAYS
from tests.serving import serving

RECORD = ROOT / "console" / "web" / "handbook" / "approval_conformance.yaml"


def find_version(way):
    """The version of a way's framework or program, or "" if it is not installed."""
    python = find_python(WAYS[way].module)
    if python is None:
        return ""
    code = "import sys; sys.path[:0] = sys.argv[1:3]; from importlib.metadata import version; "
    code += f"print(version({WAYS[way].package!r}))"
    if WAYS[way].program:
        code = "import subprocess, sys; sys.path[:0] = sys.argv[1:3]; from program_agents import find_program; "
        code += f"print(subprocess.run([find_program({WAYS[way].program!r}), '--version'], check=True, "
        code += "capture_output=True, text=True).stdout.strip())"
    here = Path(__file__).parent
    said = subprocess.run([str(python), "-c", code, str(CLIENT), str(here)], capture_output=True, text=True, timeout=60)
    words = said.stdout.split()
    return next((word for word in words if word[0].isdigit()), "") if said.returncode == 0 else ""


def play_way(door, server, way, folder):
    """Return the cells of a way in, and what breaks the contract."""
    cells, faults = [], []
    for number, case in enumerate(CASES, 1):
        own = folder / f"{way}_{number}"
        own.mkdir()
        fault = find_fault(way, case, door.play(server, way, case, own))
        faults += [f"{way}, {case.name}: {fault}"] if fault else []
        cells.append("no" if fault else LIMITS.get((way, case.name), ("ok",))[0])
    return cells, faults


def record_rows(rows):
    """Write the rows into the file of the handbook."""
    known = yaml.safe_load(RECORD.read_text()) if RECORD.exists() else {"ways": {}}
    ways = {name: (known["ways"] | rows)[name] for name in WAYS if name in known["ways"] | rows}
    limits = {way: {case: says} for (way, case), (_, says) in LIMITS.items()}
    document = {
        "cases": [case.name for case in CASES],
        "ways": ways,
        "limits": limits,
        "titles": known.get("titles", {}),
    }
    RECORD.write_text(yaml.safe_dump(document, sort_keys=False, width=118))


def main():
    """Print the table, and record it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", help="the ways in to play (default: all)")
    parser.add_argument("--record", action="store_true", help="write the rows into the handbook")
    wanted = parser.parse_args()
    faults, held = [], 0
    print(f"{'way in':<24}{'version':<10}" + "".join(f"{number:>5}" for number in range(1, len(CASES) + 1)))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        os.environ["INFERACT_DATA_DIR"] = str(data)
        door = Door(data)
        with serving(data) as server:
            for way in wanted.ways or WAYS:
                version = find_version(way)
                if not version:
                    print(f"{way:<24}not tried: {WAYS[way].program or WAYS[way].module} is not installed", flush=True)
                    continue
                cells, more = play_way(door, server, way, Path(folder))
                faults += more
                held += len(cells) - cells.count("no")
                print(f"{way:<24}{version:<10}" + "".join(f"{cell:>5}" for cell in cells), flush=True)
                if wanted.record:
                    record_rows({way: {"version": version, "date": f"{datetime.now(UTC):%Y-%m-%d}", "cells": cells}})
    print("\n".join(f"{number:>3} {case.name}" for number, case in enumerate(CASES, 1)))
    print("\n".join(f"{mark}: {way}: {says}" for (way, _), (mark, says) in LIMITS.items()))
    print(f"{held} cells hold, {len(faults)} do not, on {datetime.now(UTC):%Y-%m-%d}.")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
