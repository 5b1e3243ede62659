"""`inferact db` and `inferact doctor`: keep the database, and check database and installation."""

from __future__ import annotations

import asyncio
import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, by_default, emit, emit_json, say, show_table
from console.database import database_url, now_ms, writing
from console.detection.fitness import fitness_of
from console.errors import Refused
from console.language import counted
from console.llm.capabilities import capabilities_of
from console.runs import audit_log
from console.settings import settings
from storage.backup import backup, refuse_there, restore
from storage.check import audited, check
from storage.engine import shown
from storage.migrations import migrate

app = typer.Typer(
    help="Keep the database: upgrade, check, back up, restore.",
    epilog="Example: inferact db backup console-backup.db",
    invoke_without_command=True,
)


@app.command("upgrade", epilog="Example: inferact db upgrade")
def upgrade_database(as_json: Json = False) -> None:
    """Bring the database to this version; every command does so by itself."""
    url = settings().database_url
    migrate(url)
    emit({"database": shown(url), "upgraded": True}, as_json, f"{shown(url)} is at this version.")


@app.command("check", epilog="Example: inferact db check")
@by_default(app)
def check_database(as_json: Json = False) -> None:
    """Check the file, its references, and that every budget adds up."""
    url = database_url()
    problems = check(url)
    events, chain = audited(url)
    sound = f"{shown(url)} is sound. Audit: {events} events, the chain ends in {chain[:16] or 'nothing'}."
    document = {"database": shown(url), "problems": problems, "audit": {"events": events, "hash": chain}}
    emit(document, as_json, "\n".join(problems) or sound)
    if problems:
        raise Refused(
            f"{counted(len(problems), 'problem')} in {shown(url)}; restore a backup: inferact db restore FILE"
        )


@app.command("backup", epilog="Example: inferact db backup console-friday.db")
def backup_database(target: Annotated[Path, typer.Argument(help="The file to write.")], as_json: Json = False) -> None:
    """Copy the database while the console runs."""
    refuse_there(target.expanduser())
    # Told before, so that the copy holds it too.
    with writing() as session:
        audit_log.record(session, None, "database backed up", now_ms(), subject=str(target))
    try:
        backup(database_url(), target)
    except BaseException as failed:
        with writing() as session:
            audit_log.record(session, None, "backup failed", now_ms(), subject=str(target), detail={"why": str(failed)})
        raise
    emit({"backup": str(target)}, as_json, f"Backed up to {target}.")


@app.command("restore", epilog="Example: inferact db restore console-friday.db")
def restore_database(source: Annotated[Path, typer.Argument(help="A backup.")], as_json: Json = False) -> None:
    """Put a backup in the database's place; the present file is kept beside it."""
    kept = restore(settings().database_url, source)
    with writing() as session:
        audit_log.record(session, None, "database restored", now_ms(), subject=str(source))
    sentence = f"Restored from {source}." + (f" The file before it is kept as {kept}." if kept else "")
    emit({"restored": str(source), "kept": str(kept) if kept else None}, as_json, sentence)


def doctor(as_json: Json = False) -> None:
    """Tell what this installation is, whether it is sound, and which detectors its model can serve."""
    url = database_url()
    facts = {
        "version": version("inferact-console"),
        "python": platform.python_version(),
        "streamlit": version("streamlit"),
        "database": shown(url),
        "database_problems": check(url),
        "data_dir": str(settings().data_dir),
        "data_dir_writable": os.access(settings().data_dir, os.W_OK),
        **_model_facts(),
    }
    detectors = _fitness(str(facts["model"])) if facts.get("model_answers") else []
    if as_json:
        emit_json({**facts, "detectors": detectors})
        return
    rows = [{"what": key, "found": value if value != [] else "none"} for key, value in facts.items()]
    show_table(rows, ("what", "found"), empty="")
    if detectors:
        say(f"\nWhich detectors {facts['model']} can serve, each tried on one small checkpoint:")
        show_table(detectors, ("detector", "serves", "how", "requests", "prompt_tokens", "completion_tokens"), empty="")


def _fitness(model: str) -> list[dict[str, object]]:
    return [asdict(one) for one in asyncio.run(fitness_of(settings().model or model))]


def _model_facts() -> dict[str, object]:
    if not any(map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"))):
        return {"model": "none set: OPENAI_BASE_URL, OPENAI_API_KEY, INFERACT_MODEL"}
    offered = asyncio.run(capabilities_of())
    known = {name: value for name, value in asdict(offered).items() if value not in (None, ())}
    return {f"model_{name}".replace("model_model", "model"): value for name, value in known.items()}
