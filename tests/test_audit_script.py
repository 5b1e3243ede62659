"""`.ci/audit` with stand-ins for pip and its tools: the list is written whatever the index of faults answers."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / ".ci" / "audit"
PYTHON = """#!/usr/bin/env bash
mkdir -p "$3/bin"
cd "$3/bin"
printf '#!/bin/sh\\n[ "$1" = freeze ] && printf "anyio==4.9\\nclick==8.2\\n"; exit 0\\n' >pip
printf '#!/bin/sh\\nfor last; do :; done; echo "{}" >"$last"\\n' >cyclonedx-py
printf '#!/bin/sh\\n[ -n "%s" ] || exec sleep 50\\necho "%s" >&2; exit %s\\n' "$SAID" "$SAID" "$ENDS" >pip-audit
chmod +x pip cyclonedx-py pip-audit
"""
SILENT = "The index of faults did not answer for every dependency, so look up {}/sbom/bom.json with another tool."


@pytest.mark.parametrize(
    ("said", "ends", "code", "shown"),
    [
        ("No known vulnerabilities found", 0, 0, "No known vulnerabilities found"),
        ("Found 1 known vulnerability in 1 package", 1, 1, "Found 1 known vulnerability in 1 package"),
        ("ERROR: the connection failed", 1, 3, SILENT),
        ("ERROR: anyio is not in the index", 1, 3, SILENT),
        # An index that never answers.
        ("", 0, 3, SILENT),
    ],
)
def test_the_list_is_whole_and_the_code_says_whether_faults_were_found(tmp_path, said, ends, code, shown):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "python3").write_text(PYTHON)
    (programs / "python3").chmod(0o700)
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "SAID": said, "ENDS": str(ends), "TMPDIR": str(tmp_path)}
    env |= {"AUDIT_SECONDS": "5"}
    done = subprocess.run(
        ["bash", SCRIPT, tmp_path / "sbom"], env=env, capture_output=True, text=True, check=False, timeout=30
    )
    first, *more = (done.stdout + done.stderr).splitlines()
    assert first == f"2 dependencies in {tmp_path / 'sbom' / 'bom.json'}"
    assert (done.returncode, more) == (code, [shown.format(tmp_path)])
    assert {path.name for path in (tmp_path / "sbom").iterdir()} == {"bom.json", "requirements.txt"}
    # Nothing else is left behind.
    assert {path.name for path in tmp_path.iterdir()} == {"programs", "sbom"}
