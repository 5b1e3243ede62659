"""`inferact policy`: the rules that decide what an agent may do at once, what is judged, asked about or denied."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from console import runs
from console.auth.origin import present
from console.cli.output import Json, emit_json, emit_table, say, show_table
from console.database import Session, database_url, now_ms, reading, writing
from console.errors import BadInput
from console.gate import Gate
from console.gate.policy import policy_store
from console.gate.policy.replay import replay_policy
from console.gate.policy.rules import Policy, PolicyMode
from console.runs.audit_log import CONSOLE
from storage import tables
from storage.tables import RunKind

app = typer.Typer(help="See, check, try and set the rules of gates.", invoke_without_command=True)

RunName = Annotated[str, typer.Argument(help="The gate's run, or '*' for every run that has no policy of its own.")]
File = Annotated[Path, typer.Argument(help="A policy as YAML.")]


@app.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_policies(as_json=False)


@app.command("list", epilog="Example: inferact policy list")
def list_policies(as_json: Json = False) -> None:
    """List the gates with the version that each goes by."""
    with reading() as session:
        gates = [run for run in runs.every(session) if run.kind == RunKind.GATE]
        rows = [_row(run.name, policy_store.effective(session, run)) for run in gates]
        rows += [_row(policy_store.EVERYWHERE, version) for version in policy_store.versions(session, None)[:1]]
    columns = ("run", "version", "own", "rules", "default", "mode", "rollout", "author")
    emit_table(rows, columns, as_json, empty="No gate has asked anything yet.")


@app.command("show", epilog="Example: inferact policy show support-bot")
def show(run: RunName, as_json: Json = False) -> None:
    """Show the policy that a run's checks go by, and what was allowed and asked about per tool."""
    with reading() as session:
        found = _run(session, run)
        version = policy_store.common(session) if found is None else policy_store.effective(session, found)
        counts = [] if found is None else policy_store.counts(session, found)
    if as_json:
        emit_json({**_row(run, version), "text": version.text if version else "", "counts": counts})
        return
    if version is None:
        say(f"{run} has no policy yet; its first check makes one that asks about everything.")
        return
    whose = "" if version.own or run == policy_store.EVERYWHERE else ", the one of every run without its own"
    say(f"Version {version.version} by {version.author}{whose}:")
    say(version.text.rstrip())
    show_table(counts, ("tool", "allowed", "judged", "asked", "denied", "watched"), empty="No check went by it yet.")


@app.command("set", epilog="Example: inferact policy set support-bot refunds.yaml")
def set_policy(
    run: RunName,
    file: File,
    author: Annotated[
        str | None, typer.Option(help="Who wrote it, if not you; the audit names you either way.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Save a policy as the next version; a gate of that name is made where there is none yet."""
    text = _read(file)
    policy_store.check(text)
    if run != policy_store.EVERYWHERE:
        with reading() as session:
            is_there = runs.find(session, run) is not None
        if not is_there:
            Gate(run, url=database_url()).open()
    with writing() as session:
        version = policy_store.save(session, _run(session, run), text, author or _user(), now_ms())
    row = _row(run, version)
    if as_json:
        emit_json(row)
    else:
        watches = "; it only watches and holds nothing back" if version.policy.mode is PolicyMode.SHADOW else ""
        share = f", for {version.policy.rollout * 100:g}% of its tasks" if version.policy.rollout < 1 else ""
        who = run if version.own else "Every run without a policy of its own"
        say(f"{who} goes by version {version.version} from its next check on{share}{watches}.")


@app.command("check", epilog="Example: inferact policy check refunds.yaml")
def check(file: File, as_json: Json = False) -> None:
    """Say whether a policy can be saved, with the line and the reason where it cannot."""
    policy = policy_store.check(_read(file))
    if as_json:
        emit_json(_summary(policy))
    else:
        say(policy_store.savable(policy))


@app.command("test", epilog="Example: inferact policy test refunds.yaml --run support-bot")
def try_policy(
    policy: Annotated[str, typer.Argument(help="A policy as YAML, or the run whose stored policy is tried.")],
    run: Annotated[str | None, typer.Option("--run", help="The run whose actions are replayed.")] = None,
    as_json: Json = False,
) -> None:
    """Replay what a run recorded against a policy: what it would have asked, denied and allowed, and today's count."""
    path = Path(policy)
    with reading() as session:
        if path.is_file():
            if run is None:
                raise BadInput("Name the run to replay with --run.")
            tried = policy_store.check(_read(path))
        else:
            version = policy_store.effective(session, runs.get(session, policy))
            if version is None:
                raise BadInput(f"{policy} has no policy; give a file.")
            tried = version.policy
        found = replay_policy(session, runs.get(session, run or policy), tried)
    if as_json:
        emit_json({"run": run or policy, **found.to_dict()})
        return
    say(found.sentence)
    show_table(found.by_tool, ("tool", "allow", "judge", "ask", "deny"), empty="The run has recorded no action.")


def _user() -> str:
    acting = present()
    return acting.who if acting else CONSOLE


def _run(session: Session, name: str) -> tables.Run | None:
    return None if name == policy_store.EVERYWHERE else policy_store.gate_run(session, name)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text in UTF-8.") from None


def _row(run: str, version: policy_store.PolicyVersion | None) -> dict[str, Any]:
    if version is None:
        return {"run": run, "version": None}
    about = {"run": run, "version": version.version, "own": version.own, "author": version.author}
    return about | _summary(version.policy)


def _summary(policy: Policy) -> dict[str, Any]:
    return {"rules": len(policy.rules), "default": policy.default, "mode": policy.mode, "rollout": policy.rollout}
