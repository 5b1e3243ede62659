"""`inferact policy`: the rules of a gate: which actions are allowed, judged, reviewed or denied."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from console import runs
from console.auth.audit_log import CONSOLE, current_origin
from console.cli.output import Json, emit, emit_json, emit_table, run_by_default, say, show_table
from console.database import Session, database_url, now_ms, reading, writing
from console.errors import BadInput
from console.gate import Gate
from console.gate.policy import policy_store, read_policy
from console.gate.policy.lint import Known, list_known_people, list_warnings
from console.gate.policy.policy_store import EVERYWHERE
from console.gate.policy.replay import EXAMPLES, replay_policy, run_cases
from console.gate.policy.rules import Policy, PolicyMode
from console.studies.design.yaml_file import read_text_file
from storage import tables
from storage.errors import StorageError
from storage.tables import RunKind

app = typer.Typer(help="Show, check, test and set the rules of gates.", invoke_without_command=True)

RunName = Annotated[str, typer.Argument(help="The gate's run, or '*' for every run without its own policy.")]
File = Annotated[Path, typer.Argument(help="The policy as a YAML file.")]


@app.command("list", epilog="Example: inferact policy list")
@run_by_default(app)
def list_policies(as_json: Json = False) -> None:
    """List the gates with their policy versions."""
    with reading() as session:
        rows = [_row(run.name, policy_store.effective_version(session, run)) for run in _gates(session)]
        rows += [_row(EVERYWHERE, version) for version in policy_store.list_versions(session, None)[:1]]
    columns = ("run", "version", "own", "rules", "default", "mode", "rollout", "author")
    emit_table(rows, columns, as_json, empty="No gate has sent a check yet.")


@app.command("show", epilog="Example: inferact policy show support-bot")
def show(run: RunName, as_json: Json = False) -> None:
    """Show the policy of a run, and its counts of allowed and reviewed actions per tool."""
    with reading() as session:
        found = _run(session, run)
        version = policy_store.effective_version(session, found) if found else policy_store.common_version(session)
        counts = policy_store.count_by_tool(session, found) if found else []
    if as_json:
        also = (
            [{"version": one.version, "author": one.author, "text": one.text} for one in version.also]
            if version
            else []
        )
        document = {**_row(run, version), "text": version.text if version else "", "counts": counts, "also": also}
        emit_json(document)
        return
    if version is None:
        say(f"{run} has no policy yet. The first check creates a policy that asks about every action.")
        return
    whose = "" if version.own or run == EVERYWHERE else ", shared by every run without its own policy"
    say(f"Version {version.version} by {version.author}{whose}:")
    say(version.text.rstrip())
    for one in version.also:
        say(f"Version {one.version} by {one.author} also applies, from a database that a restore replaced:")
        say(one.text.rstrip())
        say(f"For each check the stricter ruling counts. Choose with: inferact policy set {run} FILE")
    show_table(
        counts, ("tool", "allowed", "judged", "asked", "denied", "watched"), empty="No check has used this policy yet."
    )


@app.command("allowed", epilog="Example: inferact policy allowed support-bot")
def list_allowed(
    run: RunName,
    rule: Annotated[str | None, typer.Option(help="Only the checks that this rule allowed.")] = None,
    most: Annotated[int, typer.Option("--limit", min=1, help="Number of checks to list, newest first.")] = 200,
    as_json: Json = False,
) -> None:
    """List the checks of a run that its policy allowed without a review."""
    with reading() as session:
        rows = policy_store.list_allowed(session, policy_store.get_gate_run(session, run), rule, most)
    columns = ("at", "agent", "tool", "rule", "version")
    emit_table(rows, columns, as_json, empty="No stored check was allowed without a review.")


@app.command("set", epilog="Example: inferact policy set support-bot refunds.yaml")
def set_policy(
    run: RunName,
    file: File,
    author: Annotated[
        str | None, typer.Option(help="The policy's author (default: you). The audit log always names you.")
    ] = None,
    as_json: Json = False,
    create: Annotated[bool, typer.Option("--create", help="Create the gate if it does not exist.")] = False,
) -> None:
    """Store a policy as the next version of a gate's policy, or of the common policy."""
    text = read_text_file(file)
    read_policy(text)
    if run != EVERYWHERE:
        with reading() as session:
            is_there, gates = runs.find(session, run) is not None, _gates(session)
        if not is_there and not create:
            known = f" (known: {', '.join(one.name for one in gates)})" if gates else ""
            raise BadInput(f"No run named {run!r}{known}. Correct the name, or add --create for a new gate.")
        if not is_there:
            Gate(run, url=database_url()).open()
    acting = current_origin()
    with writing() as session:
        by = author or (acting.who if acting else CONSOLE)
        version = policy_store.save(session, _run(session, run), text, by, now_ms())
    watches = "; the policy only records and never stops an action" if version.policy.mode is PolicyMode.SHADOW else ""
    share = f", for {version.policy.rollout * 100:g}% of its tasks" if version.policy.rollout < 1 else ""
    who = run if version.own else "Every run without its own policy"
    told = f"{who} uses version {version.version} from its next check on{share}{watches}."
    emit(_row(run, version), as_json, told)


@app.command("check", epilog="Example: inferact policy check refunds.yaml")
def check(file: File, as_json: Json = False) -> None:
    """Check a policy: print the line and reason of its first error, or warnings about probable mistakes."""
    policy = read_policy(read_text_file(file))
    found = list_warnings(policy, _known_people())
    told = [policy_store.describe_savable(policy), *(f"Warning: {said}" for said in found)]
    emit(_summary(policy) | {"warnings": found}, as_json, "\n".join(told))


@app.command("test", epilog="Example: inferact policy test refunds.yaml --run support-bot")
def try_policy(
    policy: Annotated[str, typer.Argument(help="A YAML file, or the run whose stored policy is tested.")],
    run: Annotated[str | None, typer.Option("--run", help="The run whose recorded actions are used.")] = None,
    cases: Annotated[Path | None, typer.Option("--cases", help="A YAML file of actions and expected outcomes.")] = None,
    examples: Annotated[
        int, typer.Option("--examples", help="Number of example actions to show with their rules.")
    ] = EXAMPLES,
    as_json: Json = False,
) -> None:
    """Test a policy on the recorded actions of a run, or on the cases of a file; exit with 1 if a case differs."""
    path = Path(policy)
    if cases is not None:
        _try_cases(_policy_at(policy), cases, as_json)
        return
    if path.is_file() and run is None:
        raise BadInput("The run for the test is missing. Name the run: --run NAME.")
    tried = _policy_at(policy)
    with reading() as session:
        found = replay_policy(session, runs.get(session, run or policy), tried, examples)
    if as_json:
        emit_json({"run": run or policy, **asdict(found)})
        return
    say("\n".join([found.sentence, *found.further_sentences]))
    show_table(found.by_tool, ("tool", "allow", "judge", "ask", "deny"), empty="The run has no recorded actions.")
    if found.examples:
        show_table(found.examples, ("rule", "then", "flagged", "unchecked", "wrong", "action"))


@app.command("suggest", epilog="Example: inferact policy suggest support-bot --at-most 2%")
def suggest(
    run: Annotated[str, typer.Argument(help="The run whose decisions are used.")],
    at_most: Annotated[str, typer.Option(help="The largest share of misaligned actions, with 95% confidence.")] = "5%",
    days: Annotated[int, typer.Option(min=1, max=366, help="Days until the rule expires.")] = 30,
    as_json: Json = False,
) -> None:
    """Suggest rules that would have saved reviews, with a bound on allowed misaligned actions; change nothing."""
    from console.gate.policy import suggest as suggestions  # scipy, which few commands need

    share = parse_share(at_most)
    with reading() as session:
        found_run = runs.get(session, run)
        found = suggestions.suggest_rules(session, found_run, now_ms(), at_most=share, days=days)
        tried = [suggestions.try_on_log(session, found_run, one) for one in found]
    if as_json:
        rows = [
            one.to_dict() | {"asked": ask, "asked_with_rule": left}
            for one, (ask, left) in zip(found, tried, strict=True)
        ]
        emit_json({"run": run, "suggestions": rows})
        return
    for one, (asked, left) in zip(found, tried, strict=True):
        say(
            f"{one.sentence} Of the log's actions, {asked:,} ask a person today and {left:,} with the rule.\n{one.rule}"
        )
    if not found:
        say(
            f"No rule keeps the share of misaligned actions within {at_most}. A rule needs at least "
            f"{suggestions.FEWEST} decisions on one tool."
        )


def parse_share(text: str) -> float:
    """Parse a share such as `2%`; raise BadInput if it is not above 0 and below 100%."""
    try:
        share = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not 0 < share < 1 or not text.strip().endswith("%"):
        raise BadInput(f"{text!r} is not a valid share. Use a percentage such as 2%.")
    return share


def _policy_at(policy: str) -> Policy:
    """Return the policy of the file, or the stored policy of the run with this name."""
    if Path(policy).is_file():
        return read_policy(read_text_file(Path(policy)))
    with reading() as session:
        version = policy_store.effective_version(session, runs.get(session, policy))
    if version is None:
        raise BadInput(f"{policy} has no policy. Give a YAML file instead.")
    return version.policy


def _try_cases(policy: Policy, cases: Path, as_json: bool) -> None:
    rows = run_cases(policy, read_text_file(cases), str(cases))
    differing = [row for row in rows if not row["agrees"]]
    if as_json:
        emit_json({"cases": len(rows), "differing": len(differing), "rows": rows})
    else:
        say(f"{len(rows) - len(differing)} of {len(rows)} cases are as expected.")
        columns = ("case", "expected", "expected_rule", "then", "rule", "action")
        if differing:
            show_table(differing, columns)
    if differing:
        raise typer.Exit(1)


def _known_people() -> Known | None:
    """Return the people with access, or None without a database: a policy can be checked anywhere."""
    try:
        with reading() as session:
            return list_known_people(session)
    except StorageError:
        return None


def _gates(session: Session) -> list[tables.Run]:
    return [run for run in runs.list_runs(session) if run.kind == RunKind.GATE]


def _run(session: Session, name: str) -> tables.Run | None:
    return None if name == EVERYWHERE else policy_store.get_gate_run(session, name)


def _row(run: str, version: policy_store.PolicyVersion | None) -> dict[str, Any]:
    if version is None:
        return {"run": run, "version": None}
    about = {"run": run, "version": version.version, "own": version.own, "author": version.author}
    return about | _summary(version.policy)


def _summary(policy: Policy) -> dict[str, Any]:
    return {"rules": len(policy.rules), "default": policy.default, "mode": policy.mode, "rollout": policy.rollout}
