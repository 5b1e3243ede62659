"""`inferact db`, `inferact doctor`, `inferact serve`, `inferact export`.

`inferact worker`.
"""

from __future__ import annotations

import asyncio
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from console.auth import sign_in
from console.cli.output import Json, emit_json, say, show_table
from console.database import database_url, reading
from console.errors import BadInput, Refused
from console.llm.capabilities import capabilities_of
from console.runs import export as exporting
from console.server import serve as serving
from console.settings import settings
from console.studies.sessions import lifecycle
from storage import backup as backups
from storage.check import check
from storage.migrations import migrate

_STUDY = "study"

db = typer.Typer(
    help="Keep the database: upgrade, check, back up, restore.",
    epilog="Example: inferact db backup console-backup.db",
    invoke_without_command=True,
)


@db.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        check_database(as_json=False)


@db.command("upgrade", epilog="Example: inferact db upgrade")
def upgrade(as_json: Json = False) -> None:
    """Bring the database to this version; every command does so by itself."""
    url = settings().database_url
    migrate(url)
    _tell({"database": url, "upgraded": True}, as_json, f"{url} is at this version.")


@db.command("check", epilog="Example: inferact db check")
def check_database(as_json: Json = False) -> None:
    """Check the file, its references, and that every budget adds up."""
    url = database_url()
    problems = check(url)
    _tell({"database": url, "problems": problems}, as_json, "\n".join(problems) or f"{url} is sound.")
    if problems:
        raise Refused(f"{len(problems)} problems in {url}; restore a backup: inferact db restore FILE")


@db.command("backup", epilog="Example: inferact db backup console-friday.db")
def backup(target: Annotated[Path, typer.Argument(help="The file to write.")], as_json: Json = False) -> None:
    """Copy the database while the console runs."""
    backups.backup(database_url(), target)
    _tell({"backup": str(target)}, as_json, f"Backed up to {target}.")


@db.command("restore", epilog="Example: inferact db restore console-friday.db")
def restore(source: Annotated[Path, typer.Argument(help="A backup.")], as_json: Json = False) -> None:
    """Put a backup in the database's place; the present file is kept beside it."""
    kept = backups.restore(settings().database_url, source)
    said = f"Restored from {source}." + (f" The file before it is kept as {kept}." if kept else "")
    _tell({"restored": str(source), "kept": str(kept) if kept else None}, as_json, said)


def export(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join((*exporting.KINDS, _STUDY))}.")],
    out: Annotated[Path, typer.Option("--out", help="The file; .csv, .jsonl or .parquet, of a study also .zip.")],
    run: Annotated[str | None, typer.Option("--run", help="The run's name; for `export study` the study's.")] = None,
    study: Annotated[str | None, typer.Option("--study", help="The study's name, for `export study`.")] = None,
    as_json: Json = False,
) -> None:
    """Write what a run holds as CSV, JSONL or parquet; of a study, its decisions, or in a .zip all its tables."""
    if kind == _STUDY:
        run, study = None, study or run
    if (kind == _STUDY) != (study is not None) or (run is None) == (study is None):
        raise BadInput(
            "Say what to export: `export study --study NAME`, whose decisions a .csv holds and all its tables a .zip; "
            "or another kind with `--run NAME`."
        )
    of = {"run": run} if study is None else {"study": study}
    rows = _of_study(study, out) if study is not None else exporting.export(database_url(), kind, run or "", out)
    _tell({"kind": kind, **of, "out": str(out), "rows": rows}, as_json, f"{rows} rows of {kind} in {out}.")


def _of_study(name: str, out: Path) -> int:
    from console.studies import results  # pandas, which few commands need
    from console.studies.results import csv_files

    with reading() as session:
        frames = results.frames(session, lifecycle.get(session, name).id or 0)
    return csv_files.export(frames, out)


def serve(
    host: Annotated[str | None, typer.Option(help="Where to listen.")] = None,
    port: Annotated[int | None, typer.Option(help="The port.")] = None,
) -> None:
    """Start the console and print two links: one for reviewers, one for the researcher."""
    address, number = host or settings().host, port or settings().port
    url = database_url()
    serving.refuse_taken_port(address, number)
    reviewer, researcher = serving.links(address, number, sign_in.researcher_key())
    agents = serving.api_address(address, number)
    typer.echo(f"Database    {url}\nReviewers   {reviewer}\nResearcher  {researcher}\nAgents      {agents}")
    typer.echo("Stop with Ctrl+C.")
    serving.serve(address, number)


def doctor(as_json: Json = False) -> None:
    """Tell what this installation is and whether it is sound."""
    url = database_url()
    facts = {
        "version": version("inferact-console"),
        "python": platform.python_version(),
        "streamlit": version("streamlit"),
        "database": url,
        "database_problems": check(url),
        "data_dir": str(settings().data_dir),
        "data_dir_writable": os.access(settings().data_dir, os.W_OK),
        **_model_facts(),
    }
    if as_json:
        emit_json(facts)
        return
    rows = [{"what": key, "found": value if value != [] else "none"} for key, value in facts.items()]
    show_table(rows, ("what", "found"), empty="")


def _model_facts() -> dict[str, object]:
    if not (os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY")):
        return {"model": "none set: OPENAI_BASE_URL, OPENAI_API_KEY, INFERACT_MODEL"}
    offer = asyncio.run(capabilities_of())
    found = {name: value for name, value in asdict(offer).items() if value not in (None, ())}
    return {f"model_{name}".replace("model_model", "model"): value for name, value in found.items()}


def _tell(document: dict[str, object], as_json: bool, said: str) -> None:
    if as_json:
        emit_json(document)
    else:
        say(said)


def worker(
    once: Annotated[bool, typer.Option("--once", help="One round, then end; for a timer.")] = False,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two rounds.")] = 1.0,
) -> None:
    """Free lapsed claims, advance runs whose decisions are due, and send webhooks, until Ctrl+C."""
    from console.server.worker import work  # brings an HTTP client, which only this command should pay for

    database_url()
    if not once:
        say("Working. Stop with Ctrl+C.")
    work(say, once=once, every_s=every)
