"""`inferact db` and `inferact doctor`: maintain the database, check database and installation."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from console import runs
from console.actors import ACTORS
from console.auth import audit_log
from console.auth.people import get_person
from console.cli.output import Json, emit, emit_json, noun, run_by_default, say, show_table
from console.database import database_url, now_ms, reading, writing
from console.detection.detectors import DETECTORS
from console.detection.fitness import measure_fitness
from console.environments import ENVIRONMENTS
from console.errors import BadInput, Refused
from console.gate.served_console import add_client_path
from console.language import counted, list_counts
from console.llm.client import find_capabilities
from console.review.notices import health
from console.runs import erasure, iso, maintenance
from console.runs.export.layouts import LAYOUTS
from console.runs.importers import IMPORTERS
from console.settings import list_all, settings
from storage.backup import backup, name_in_folder, refuse_there, remove_old, restore
from storage.check import chain_end, check, count_unsealed, epoch_of, parse_heads, seal_chains
from storage.engine import close, mask_password, overwrite_freed
from storage.new_epoch import RestoreReport
from storage.run_counts import start_again
from storage.transfer import copy_database

app = noun("Maintain the database: upgrade, check, back up, restore.", "db backup console-backup.db")


@app.command("upgrade", epilog="Example: inferact db upgrade")
def upgrade_database(
    recount: Annotated[bool, typer.Option("--recount", help="Count the rows of all runs again.")] = False,
    as_json: Json = False,
) -> None:
    """Upgrade the database to this version. Other commands do so automatically."""
    url = database_url()
    if recount:
        with writing() as session:
            start_again(session.connection())
    emit({"database": mask_password(url), "upgraded": True}, as_json, f"{mask_password(url)} is up to date.")


@app.command("check", epilog="Example: inferact db check")
@run_by_default(app)
def check_database(
    head: Annotated[
        str | None, typer.Option(help="An earlier end of the audit log: EVENTS:HASH, or a file written by `db head`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the file, its references, every budget, and the rows that the audit log covers."""
    url = database_url()
    problems = check(url, _read_heads(head) if head is not None else ())
    (events, chain), epoch = chain_end(url), epoch_of(url)
    sound = (
        f"{mask_password(url)} has no problems. The audit log has {counted(events, 'event')}, last hash "
        f"{chain[:16] or 'none'}. Epoch {epoch}."
    )
    if newer := count_unsealed(url):
        sound += f" {counted(newer, 'event')} of runs came after this hash. Run inferact db head to include them."
    document = {
        "database": mask_password(url),
        "problems": problems,
        "audit": {"events": events, "hash": chain},
        "epoch": epoch,
    }
    emit(document, as_json, "\n".join(problems) or sound)
    if problems:
        raise Refused(
            f"{mask_password(url)} has {counted(len(problems), 'problem')}. Restore a backup: inferact db restore FILE"
        )


@app.command("head", epilog="Example: inferact db head --out /mnt/elsewhere/head.txt")
def show_head(
    out: Annotated[Path | None, typer.Option(help="The file to append the printed line to.")] = None,
    as_json: Json = False,
) -> None:
    """Print the end of the audit log as EVENTS:HASH TIME, to be kept elsewhere for `db check --head`."""
    url = database_url()
    seal_chains(url)
    events, chain = chain_end(url)
    at = iso(now_ms())
    line = f"{events}:{chain} {at}"
    if out is not None:
        with out.expanduser().open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    emit({"events": events, "hash": chain, "at": at, "file": str(out) if out else None}, as_json, line)


def _read_heads(head: str) -> list[tuple[int, str]]:
    path = Path(head).expanduser()
    try:
        return parse_heads(path.read_text(encoding="utf-8") if path.is_file() else head)
    except ValueError as error:
        raise BadInput(f"{head} is not an end of an audit log. Give EVENTS:HASH, or a file of `db head`.") from error


@app.command("backup", epilog="Example: inferact db backup console-friday.db")
def backup_database(
    target: Annotated[Path, typer.Argument(help="The file to create, or with --keep the folder of the backups.")],
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="Write a dated file into the folder, and remove all but the newest N of them."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Back up the database; the console can keep running."""
    target = target if keep is None else name_in_folder(target, datetime.now(UTC))
    refuse_there(target.expanduser())
    # Recorded first, so that the copy contains the event.
    with writing() as session:
        audit_log.record(session, None, "database backed up", now_ms(), subject=str(target))
    try:
        backup(database_url(), target)
    except BaseException as failed:
        with writing() as session:
            audit_log.record(session, None, "backup failed", now_ms(), subject=str(target), detail={"why": str(failed)})
        raise
    # Only after the new backup is complete and checked.
    removed = remove_old(target, keep) if keep is not None else []
    sentence = f"Backed up to {target}." + (f" Removed {counted(len(removed), 'old backup')}." if removed else "")
    emit({"backup": str(target), "removed": [str(path) for path in removed]}, as_json, sentence)


@app.command("erase", epilog="Example: inferact db erase --older-than 90d --yes")
def erase(
    person: Annotated[str | None, typer.Option(help="Erase this person; their decisions get a pseudonym.")] = None,
    run: Annotated[str | None, typer.Option(help="Erase this run with all its data.")] = None,
    older_than: Annotated[
        str | None, typer.Option(help="Erase all runs without activity for this long, for example 90d.")
    ] = None,
    audit_older_than: Annotated[
        str | None, typer.Option(help="Erase the audit log of runs beyond this age, for example 365d.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Erase. Without this option the command only shows what.")] = False,
    as_json: Json = False,
) -> None:
    """Erase a person, a run, old runs or an old audit log for good; show first what goes, what stays, and why."""
    if sum(one is not None for one in (person, run, older_than, audit_older_than)) != 1:
        raise BadInput("Name one of --person NAME, --run RUN, --older-than 90d and --audit-older-than 365d.")
    pseudonym = None
    with writing() as session:
        if person is not None:
            found = erasure.count_person(session, person)
            pseudonym = erasure.erase_person(session, person, now_ms()) if yes else None
        elif audit_older_than is not None:
            cuts, found = erasure.plan_audit(session, audit_older_than, now_ms())
            if cuts and yes:
                erasure.prune_audit(session, cuts, audit_older_than, now_ms())
        else:
            old_runs, found = erasure.plan_runs(session, run, older_than, now_ms())
            for one in old_runs if yes else ():
                maintenance.delete_run(session, one, now_ms())
    document = {"erased": yes, "gone": found.gone, "stays": found.stays, "pseudonym": pseudonym}
    if yes:
        overwrite_freed(database_url())
    what = list_counts(found.gone) or "nothing"
    first = f"Erased: {what}." if yes else f"To be erased: {what}. Add --yes to erase this for good."
    renamed = [f"The person is now called {pseudonym}."] if pseudonym else []
    emit(document, as_json, "\n".join([first, *renamed, *found.stays]))


@app.command("hold", epilog='Example: inferact db hold --run shop --reason "Case 12"')
def hold(
    run: Annotated[str | None, typer.Option(help="Hold this run.")] = None,
    person: Annotated[str | None, typer.Option(help="Hold this person.")] = None,
    reason: Annotated[str, typer.Option(help="The reason, such as the number of the case.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Release the hold.")] = False,
    as_json: Json = False,
) -> None:
    """Place a run or a person on legal hold: they cannot be deleted, erased or pruned until the hold is released."""
    if (run is None) == (person is None):
        raise BadInput("Name one of --run RUN and --person NAME.")
    with writing() as session:
        target = runs.get(session, run) if run is not None else get_person(session, person or "")
        maintenance.set_hold(session, target, None if undo else reason, now_ms())
        document = {"name": target.name, "hold": target.hold}
    told = f"Released the hold of {target.name}." if undo else f"{target.name} is on legal hold."
    emit(document, as_json, told)


@app.command("restore", epilog="Example: inferact db restore console-friday.db")
def restore_database(
    source: Annotated[Path, typer.Argument(help="The backup file.")],
    keep_access: Annotated[
        bool, typer.Option(help="Keep people, roles, sessions, links and agents as they are now.")
    ] = False,
    accept_changed: Annotated[
        bool, typer.Option(help="Restore the backup even if its audit log shows changes by another program.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Replace the database with a backup; the previous file is kept next to the new one.

    A backup that another program changed is refused. Approvals of actions that have not begun are void, and agents must
    ask again. Sessions, links and tokens end unless you use --keep-access.
    """
    by = audit_log.current_origin()
    origin = {"subject": str(source), "actor": by.who, "door": str(by.door), "place": by.where} if by else None
    restored = restore(
        settings().database_url, source, keep_access=keep_access, accept_changed=accept_changed, origin=origin
    )
    kept, went_back = restored.kept, restored.went_back
    document = {"restored": str(source), "kept": str(kept) if kept else None, **asdict(went_back)}
    where = f" The previous file is kept as {kept}." if kept else ""
    first = f"Restored from {source}; epoch {went_back.epoch} begins.{where}"
    emit(document, as_json, "\n".join([first, *_went_back(went_back)]))


@app.command("drill", epilog="Example: inferact db drill console-friday.db")
def drill_restore(
    source: Annotated[Path, typer.Argument(help="The backup file.")],
    accept_changed: Annotated[
        bool, typer.Option(help="Try the backup even if its audit log shows changes by another program.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Restore a backup into a temporary folder and check it there; your own database stays as it is."""
    started = time.monotonic()
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'console.db'}"
        restore(url, source, accept_changed=accept_changed)
        problems, (events, chain) = check(url), chain_end(url)
        close(url)
    took_s = round(time.monotonic() - started, 1)
    sound = f"{source} can be restored: {took_s} s, no problems. The audit log has {counted(events, 'event')}."
    document = {
        "backup": str(source),
        "seconds": took_s,
        "problems": problems,
        "audit": {"events": events, "hash": chain},
    }
    emit(document, as_json, "\n".join(problems) or sound)
    if problems:
        raise Refused(f"{source} has {counted(len(problems), 'problem')} once restored. Try an older backup.")


@app.command("copy", epilog="Example: inferact db copy sqlite:////srv/console.db postgresql+psycopg://host/console")
def copy_to(
    source: Annotated[str, typer.Argument(help="URL of the database to copy. Stop its consoles and workers first.")],
    target: Annotated[str, typer.Argument(help="URL of the empty database to fill.")],
    as_json: Json = False,
) -> None:
    """Copy a database to PostgreSQL or back, and compare the digests of all tables and the audit logs."""
    # Recorded first, so that the copy contains the event.
    with writing(source) as session:
        audit_log.record(session, None, "database copied", now_ms(), subject=mask_password(target))
    before = chain_end(source)
    copied = copy_database(source, target)
    rows, (events, chain) = sum(one.rows for one in copied), chain_end(target)
    done = (
        f"Copied {rows:,} rows of {len(copied)} tables; all digests are equal. The audit log has {events:,} events, "
        f"last hash {chain[:16] or 'none'}. Set INFERACT_DATABASE_URL to the new address, then start the console."
    )
    document = {
        "source": mask_password(source),
        "target": mask_password(target),
        "tables": [asdict(one) for one in copied],
        "audit": {"events": events, "hash": chain},
    }
    emit(document, as_json, done)
    if not before == chain_end(source) == (events, chain):
        raise Refused("The source changed during the copy. Stop its consoles, then copy into another empty database.")


def _went_back(found: RestoreReport) -> Iterator[str]:
    """Yield one sentence for each kind of record that the restore changed or could not bring back."""
    if found.changed:
        yield f"Accepted: the audit log of the backup has {counted(len(found.changed), 'problem')}. {found.changed[0]}"
    if found.checks_void or found.items_cancelled:
        void, items = counted(found.checks_void, "void check"), counted(found.items_cancelled, "cancelled item")
        yield f"{void}, {items}. Agents must submit checks again if their actions had not begun."
    if found.begun_carried or found.rejections_carried:
        begun, rejected = counted(found.begun_carried, "begun action"), counted(found.rejections_carried, "rejection")
        yield f"Carried over from after the backup: {begun}, {rejected}."
    if found.decisions_lost:
        yield f"{counted(found.decisions_lost, 'decision')} made after the backup: only in the previous file."
    if found.sessions_ended or found.links_ended:
        sessions, links = counted(found.sessions_ended, "session"), counted(found.links_ended, "unused link")
        yield f"Ended: {sessions}, {links}. Invite people again: inferact person invite NAME."
    if found.tokens_ended:
        tokens = counted(found.tokens_ended, "agent token")
        yield f"Ended: {tokens}. Give each agent a new token: inferact agent renew NAME."
    if found.people:
        yield f"People who differ from the previous file: {', '.join(found.people)}."
    if found.policies:
        yield f"Policies that differ from the previous file: {', '.join(found.policies)}."
        yield "For each check the stricter ruling of both applies until you choose: inferact policy set RUN FILE."
    if found.unread:
        yield f"The previous file could not be read: {found.unread}"
        yield "The rejections, begun actions, people and policies of this file are not carried over."


def doctor(as_json: Json = False) -> None:
    """Show version, settings and problems of this installation, and the detectors that the model supports."""
    add_client_path()
    from inferact_client.in_process import find_clashes

    url, folder = settings().database_url, settings().data_dir
    facts = {
        "version": version("inferact-console"),
        "python": platform.python_version(),
        "streamlit": version("streamlit"),
        "database": mask_password(url),
        "database_problems": (problems := check(url)),
        "epoch": epoch_of(url) if not problems else None,
        "data_dir": str(folder),
        "data_dir_writable": os.access(next(one for one in (folder, *folder.parents) if one.exists()), os.W_OK),
        "name_clashes": (clashes := find_clashes([Path.cwd()])),
        **_model_facts(),
    }
    detectors = []
    if facts.get("model_answers"):
        detectors = [asdict(one) for one in asyncio.run(measure_fitness(settings().model or str(facts["model"])))]
    # Plotly takes long to load, and no other command needs it to start.
    from console.analysis.charts import CHARTS

    plugins = [asdict(one) for one in list_all((DETECTORS, IMPORTERS, ENVIRONMENTS, ACTORS, LAYOUTS, CHARTS))]
    undelivered = _list_undelivered() if not problems else []
    if as_json:
        emit_json({**facts, "detectors": detectors, "plugins": plugins, "undelivered": undelivered})
    else:
        _print_facts(facts, detectors, plugins)
        say("\n".join(["\nMessages that were not delivered:", *undelivered]) if undelivered else "")
    if problems or clashes or undelivered:
        raise Refused((problems or clashes or undelivered)[0])


def _list_undelivered() -> list[str]:
    """Return a sentence for each channel whose messages are not delivered, and for an invalid setting of messages."""
    # Brings an HTTP client, which only this command should pay for.
    from console.server import notices

    try:
        notices.check_settings()
    except BadInput as invalid:
        return [str(invalid)]
    with reading() as session:
        return health.describe_problems(session)


def _print_facts(
    facts: dict[str, object], detectors: list[dict[str, object]], plugins: list[dict[str, object]]
) -> None:
    rows = [{"what": key, "found": value if value != [] else "none"} for key, value in facts.items()]
    show_table(rows, ("what", "found"))
    if detectors:
        say(f"\nDetectors that {facts['model']} supports, each tried on one small checkpoint:")
        show_table(detectors, ("detector", "serves", "how", "requests", "prompt_tokens", "completion_tokens"))
    if plugins:
        say("\nPlug-ins of other packages:")
        show_table(plugins, ("name", "group", "package", "version", "state"))


def _model_facts() -> dict[str, object]:
    if not any(map(os.environ.get, ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"))):
        return {"model": "not set; set OPENAI_BASE_URL, OPENAI_API_KEY and INFERACT_MODEL"}
    offered = asyncio.run(find_capabilities())
    known = {name: value for name, value in asdict(offered).items() if value not in (None, ())}
    return {f"model_{name}".replace("model_model", "model"): value for name, value in known.items()}
