"""`inferact plan`: learn a plan for the tasks of a type, show its versions, edit and pin them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, emit, emit_json, emit_table, noun, progress, run_by_default, say, show_table
from console.database import now_ms, reading, writing
from console.errors import Refused
from console.studies.design.yaml_file import read_text_file
from console.trials.planning import training, versions

app = noun("Learn plans for Actors; show, edit and pin their versions.", "plan list")

Name = Annotated[str, typer.Argument(help="The plan's name.")]
TaskType = Annotated[str, typer.Option("--type", help="The task type of the plan, or an empty text for all types.")]


@app.command("list", epilog="Example: inferact plan list")
@run_by_default(app)
def list_plans(as_json: Json = False) -> None:
    """List the plans with their number of versions and the version that new runs use."""
    with reading() as session:
        rows = [versions.summarize_plan(session, *plan) for plan in versions.list_plans(session)]
    columns = ("plan", "type", "environment", "versions", "present", "pinned")
    emit_table(rows, columns, as_json, empty="No plans yet. Learn a plan: inferact plan train house --env alfworld")


@app.command("train", epilog="Example: inferact plan train house --env alfworld --type pick_heat_then_place_in_recep")
def train(
    name: Name,
    env: Annotated[str, typer.Option(help="The environment.")],
    task_type: TaskType = "",
    batch: Annotated[int, typer.Option(min=1, help="Trials per update.")] = 4,
    iterations: Annotated[int, typer.Option(min=1, help="Number of updates.")] = 6,
    pool: Annotated[
        int, typer.Option(min=1, help="Tasks to draw batches from. Runs with the plan get different tasks.")
    ] = 24,
    seed: Annotated[int, typer.Option(help="Random seed of the tasks and their order.")] = 0,
    flaw: Annotated[bool, typer.Option(help="Let updates learn from flaws.")] = True,
    revision: Annotated[bool, typer.Option(help="Let updates learn from revisions.")] = True,
    feedback: Annotated[str, typer.Option(help="Feedback: none, or nl (reviewers decide flagged actions).")] = "none",
    detector: Annotated[str, typer.Option(help="With --feedback nl: the detector that flags trials.")] = "rules",
    fine_errors: Annotated[bool, typer.Option(help="Let ALFWorld explain why an action had no effect.")] = False,
    as_json: Json = False,
) -> None:
    """Learn a plan from batches of trials; repeat the command with the same options to continue the training."""
    asked = training.Training(
        env, task_type, batch, iterations, pool, seed, flaw, revision, feedback, detector, fine_errors
    )
    with progress(f"{name}: updates") as tell:
        report = training.train_plan(name, asked, progress=tell)
    waits = f" Pending trials of {report.waits_at!r}: {report.waiting:,}. Review them, then repeat this command."
    document = {"plan": name, "version": report.version, "waits_at": report.waits_at, "waiting": report.waiting}
    emit(document, as_json, f"{name} has reached version {report.version}.{waits if report.waits_at else ''}")
    if report.problems:
        raise Refused(f"{' '.join(report.problems)} Correct these problems, then run the same command again.")


@app.command("show", epilog="Example: inferact plan show house --diff")
def show(
    name: Name,
    task_type: TaskType = "",
    version: Annotated[int | None, typer.Option(min=0, help="The version to show (default: the current one).")] = None,
    diff: Annotated[bool, typer.Option(help="Show the changes since the previous version.")] = False,
    as_json: Json = False,
) -> None:
    """Show a plan with the version, the decisions and the tasks that each line comes from."""
    with reading() as session:
        found = versions.list_versions(session, name, task_type)
        if version is None:
            plan = versions.choose_current(found)
        else:
            plan = versions.get_version(session, name, task_type, version)
        before = next((one.text for one in found if one.version == plan.version - 1), "")
    lines = versions.list_line_origins(plan)
    if as_json:
        rows = [asdict(one) for one in lines]
        about = {"plan": name, "type": task_type, "version": plan.version, "pinned": plan.pinned, "lines": rows}
        emit_json(about | {"note": versions.describe_update(plan)})
    elif diff:
        changes = versions.diff_lines(before, plan.text)
        say("\n".join(f"{versions.SIGNS[kind]}{line}" for kind, line in changes) or f"Version {plan.version} is empty.")
    else:
        table = [{"line": one.line, "since": one.version, "from": versions.describe_source(one)} for one in lines]
        if note := versions.describe_update(plan):
            say(note)
        show_table(table, ("line", "since", "from"), empty=f"Version {plan.version} of {name} is empty.")


@app.command("edit", epilog="Example: inferact plan edit house --file plan.txt")
def edit(
    name: Name,
    file: Annotated[Path, typer.Option("--file", help="The whole plan, one step per line.")],
    task_type: TaskType = "",
    as_json: Json = False,
) -> None:
    """Store the contents of a file as the plan's next version."""
    text = read_text_file(file)
    with writing() as session:
        latest = versions.list_versions(session, name, task_type)[-1]
        number = versions.edit_plan(session, latest, text, "somebody at the command line", now_ms()).version
    emit({"plan": name, "version": number}, as_json, f"Stored version {number} of {name}.")


@app.command("pin", epilog="Example: inferact plan pin house 3")
def pin(
    name: Name,
    version: Annotated[int, typer.Argument(min=0, help="The version to pin.")],
    task_type: TaskType = "",
    off: Annotated[
        bool, typer.Option("--off", help="Unpin the plan, so that new runs use the latest version.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make new runs use this version until it is unpinned."""
    with writing() as session:
        versions.pin_version(session, versions.get_version(session, name, task_type, version), now_ms(), pinned=not off)
    done = f"New runs use {'the latest version' if off else f'version {version}'} of {name}."
    emit({"plan": name, "version": version, "pinned": not off}, as_json, done)
