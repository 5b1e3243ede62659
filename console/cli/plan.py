"""`inferact plan`: learn a plan for all tasks of a type, read its versions, edit it, pin one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, by_default, emit, emit_json, emit_table, progress, say, show_table
from console.database import now_ms, reading, writing
from console.errors import Refused, UnreadableFile
from console.trials.planning import training, versions

app = typer.Typer(
    help="Learn plans for Actors, read, edit and pin them.",
    epilog="Example: inferact plan list",
    invoke_without_command=True,
)

Name = Annotated[str, typer.Argument(help="The plan's name.")]
TaskType = Annotated[str, typer.Option("--type", help="The type of task that the plan is for; empty for all.")]
_SIGNS = {"same": "  ", "gone": "- ", "new": "+ "}


@app.command("list", epilog="Example: inferact plan list")
@by_default(app)
def list_plans(as_json: Json = False) -> None:
    """List the plans: how many versions there are, and which one new runs go by."""
    with reading() as session:
        rows = [versions.summary(session, *plan) for plan in versions.plans(session)]
    columns = ("plan", "type", "environment", "versions", "present", "pinned")
    emit_table(rows, columns, as_json, empty="No plans yet. Learn one: inferact plan train house --env alfworld")


@app.command("train", epilog="Example: inferact plan train house --env alfworld --type pick_heat_then_place_in_recep")
def train(
    name: Name,
    env: Annotated[str, typer.Option(help="Where the Actor acts.")],
    task_type: TaskType = "",
    batch: Annotated[int, typer.Option(min=1, help="Trials that one update learns from.")] = 4,
    iterations: Annotated[int, typer.Option(min=1, help="Updates of the plan.")] = 6,
    pool: Annotated[
        int, typer.Option(min=1, help="Tasks to draw batches from; runs that go by the plan get others.")
    ] = 24,
    seed: Annotated[int, typer.Option(help="For the tasks and their order.")] = 0,
    flaw: Annotated[bool, typer.Option(help="The update learns the flaws.")] = True,
    revision: Annotated[bool, typer.Option(help="The update learns the revisions.")] = True,
    feedback: Annotated[str, typer.Option(help="none, or nl: flagged trials wait for reviewers.")] = "none",
    detector: Annotated[str, typer.Option(help="With --feedback nl: what flags.")] = "rules",
    as_json: Json = False,
) -> None:
    """Learn a plan from batches of trials, or go on where it stopped; the same options go on with the same plan."""
    asked = training.Training(env, task_type, batch, iterations, pool, seed, flaw, revision, feedback, detector)
    with progress(f"{name}: updates") as tell:
        report = training.train(name, asked, progress=tell)
    waits = f" {report.waiting} trials of {report.waits_at!r} are not over; then run this again."
    document = {"plan": name, "version": report.version, "waits_at": report.waits_at, "waiting": report.waiting}
    emit(document, as_json, f"{name} has reached version {report.version}.{waits if report.waits_at else ''}")
    if report.problems:
        raise Refused(f"{' '.join(report.problems)} When that is mended, run the same command again.")


@app.command("show", epilog="Example: inferact plan show house --diff")
def show(
    name: Name,
    task_type: TaskType = "",
    version: Annotated[int | None, typer.Option(min=0, help="That version instead of the present one.")] = None,
    diff: Annotated[bool, typer.Option(help="Show what changed since the version before.")] = False,
    as_json: Json = False,
) -> None:
    """Show a plan, and for each line the version, the decisions and the tasks that it comes from."""
    with reading() as session:
        found = versions.versions(session, name, task_type)
        plan = versions.current(found) if version is None else versions.version(session, name, task_type, version)
        before = next((one.text for one in found if one.version == plan.version - 1), "")
    lines = versions.origins(plan)
    if as_json:
        rows = [{"line": one.line, "version": one.version, "author": one.author} | _sources(one) for one in lines]
        emit_json({"plan": name, "type": task_type, "version": plan.version, "pinned": plan.pinned, "lines": rows})
    elif diff:
        changes = versions.differences(before, plan.text)
        say("\n".join(f"{_SIGNS[kind]}{line}" for kind, line in changes) or f"Version {plan.version} is empty.")
    else:
        table = [{"line": one.line, "since": one.version, "from": versions.source_in_words(one)} for one in lines]
        show_table(table, ("line", "since", "from"), empty=f"Version {plan.version} of {name} is empty.")


def _sources(one: versions.LineOrigin) -> dict[str, object]:
    return {"decisions": list(one.decisions), "tasks": list(one.tasks)}


@app.command("edit", epilog="Example: inferact plan edit house --file plan.txt")
def edit(
    name: Name,
    file: Annotated[Path, typer.Option("--file", help="The whole plan, one step a line.")],
    task_type: TaskType = "",
    as_json: Json = False,
) -> None:
    """Make what stands in a file the plan's next version."""
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError) as failure:
        raise UnreadableFile(str(file), f"it cannot be read ({failure})") from None
    with writing() as session:
        latest = versions.versions(session, name, task_type)[-1]
        number = versions.edit(session, latest, text, "somebody at the command line", now_ms()).version
    emit({"plan": name, "version": number}, as_json, f"{name} has version {number} now.")


@app.command("pin", epilog="Example: inferact plan pin house 3")
def pin(
    name: Name,
    version: Annotated[int, typer.Argument(min=0, help="The version.")],
    task_type: TaskType = "",
    off: Annotated[bool, typer.Option("--off", help="Unpin it: the latest version counts again.")] = False,
    as_json: Json = False,
) -> None:
    """Make a version the one that new runs go by, until it is unpinned."""
    with writing() as session:
        versions.pin(session, versions.version(session, name, task_type, version), now_ms(), pinned=not off)
    done = f"New runs go by {'the latest version' if off else f'version {version}'} of {name}."
    emit({"plan": name, "version": version, "pinned": not off}, as_json, done)
