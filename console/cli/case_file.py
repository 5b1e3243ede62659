"""`inferact case-file`: write a page that accounts for a run's decisions, and check such a page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, RunName, emit, noun
from console.database import database_url, now_ms, reading
from console.errors import Refused
from console.language import counted

app = noun(
    "Write a page that accounts for the decisions of a run, and check it.", "case-file write shop --out shop.html"
)


@app.command("write", epilog="Example: inferact case-file write shop --out shop.html")
def write(
    run: RunName, out: Annotated[Path, typer.Option("--out", help="The HTML file to write.")], as_json: Json = False
) -> None:
    """Write decisions, budget, certificate, policies and audit log of a run to one page that checks itself."""
    from console.trials import case_file  # numpy and scipy, which few commands need

    digest = case_file.write_case_file(database_url(), run, out, now_ms())
    emit(
        {"run": run, "out": str(out), "sha256": digest},
        as_json,
        f"The case file of {run} is in {out} (SHA-256 {digest[:16]}…). To check: inferact case-file check {out}",
    )


@app.command("check", epilog="Example: inferact case-file check shop.html")
def check(file: Annotated[Path, typer.Argument(help="The case file to check.")], as_json: Json = False) -> None:
    """Check that a case file is unchanged and agrees with the audit log of this database."""
    from console.trials import case_file

    with reading() as session:
        found = case_file.check_case_file(session, file)
    run, author, at = found.written or ("", "", "")
    sound = f"{file} is as {author} wrote it for {run} at {at}; {counted(found.events, 'event')} checked."
    emit(asdict(found), as_json, "\n".join(found.problems) or sound)
    if found.problems:
        raise Refused(f"{file} has {counted(len(found.problems), 'problem')}. Write a new case file to compare.")
