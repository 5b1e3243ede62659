"""`inferact study`: design a study, create it, list what there is."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from console.cli import study_people, study_plan, study_preset, study_run
from console.cli.output import Json, by_default, emit_json, emit_table, say, show_table
from console.database import now_ms, reading
from console.studies.design import conditions, varied
from console.studies.design.allocation import promise
from console.studies.design.giveaways import giveaways
from console.studies.design.yaml_file import changed, dump, example, load
from console.studies.sessions import lifecycle

_SIZES = ("participants", "conditions", "tasks")

app = typer.Typer(
    help="Design user studies, assign participants, run them, see what they show.",
    epilog="Example: inferact study example > pilot.yaml",
    invoke_without_command=True,
)

app.add_typer(study_preset.app, name="preset")
app.command("assign", epilog="Example: inferact study assign pilot --out allocation.csv")(study_plan.show_allocation)
app.command("preregister", epilog="Example: inferact study preregister pilot --out pilot.md")(study_plan.write_plan)
app.command("power", epilog="Example: inferact study power pilot.yaml --n 4,8,12")(study_plan.estimate_power)
app.command("open", epilog="Example: inferact study open pilot")(study_run.open_study)
app.command("pause", epilog="Example: inferact study pause pilot")(study_run.pause)
app.command("close", epilog="Example: inferact study close pilot")(study_run.close)
app.command("simulate", epilog="Example: inferact study simulate pilot --all")(study_run.simulate_participants)
app.command("board", epilog="Example: inferact study board pilot --json")(study_run.show_board)
app.command("withdraw", epilog="Example: inferact study withdraw pilot P07")(study_run.withdraw_participant)
app.command("invite", epilog="Example: inferact study invite pilot --count 12")(study_people.invite)
app.command("payments", epilog="Example: inferact study payments pilot --out payments.csv")(study_people.list_payments)
app.command("results", epilog="Example: inferact study results pilot --table differences")(study_run.show_results)
app.command("report", epilog="Example: inferact study report pilot --out pilot-report")(study_run.write_report)

Name = Annotated[str, typer.Argument(help="The study's name.")]


@app.command("example", epilog="Example: inferact study example > pilot.yaml")
def print_example() -> None:
    """Print a commented design that works as it is."""
    typer.echo(example(), nl=False)


@app.command("create", epilog="Example: inferact study create pilot.yaml")
def create(
    file: Annotated[Path, typer.Argument(help="The design, as YAML.")],
    name: Annotated[str | None, typer.Option(help="Another name than the design's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the design's.")] = None,
    as_json: Json = False,
) -> None:
    """Make a draft of a study: sample its tasks, give every place its conditions."""
    wanted = {key: value for key, value in (("name", name), ("seed", seed)) if value is not None}
    design = changed(load(file), **wanted)
    study = lifecycle.create(design, now_ms())
    with reading() as session:
        row = lifecycle.summary(session, study)
    if as_json:
        emit_json(row)
        return
    sizes = ", ".join(f"{row[what]} {what if row[what] != 1 else what[:-1]}" for what in _SIZES)
    say(f"Created {study.name}: {sizes}. Look it over: inferact study assign {quote(study.name)}")


@app.command("list", epilog="Example: inferact study list --json")
@by_default(app)
def list_studies(as_json: Json = False) -> None:
    """List all studies, the newest first."""
    with reading() as session:
        rows = [lifecycle.summary(session, study) for study in lifecycle.every(session)]
    columns = (
        "study",
        "status",
        "comparison",
        "conditions",
        "tasks",
        "trials",
        "participants",
        "joined",
        "finished",
        "people",
        "people_finished",
    )
    emit_table(rows, columns, as_json, empty="No studies yet. Begin with: inferact study example > pilot.yaml")


@app.command("show", epilog="Example: inferact study show pilot --json")
def show(name: Name, as_json: Json = False) -> None:
    """Show a study's state, its conditions and its whole design."""
    with reading() as session:
        study = lifecycle.get(session, name)
        row = lifecycle.summary(session, study)
    design = lifecycle.design_of(study)
    rows = [{"condition": one.name, **one.levels} for one in conditions(design)]
    if as_json:
        document = {
            "conditions": rows,
            "promise": promise(design),
            "warnings": giveaways(design),
            "design": design.model_dump(mode="json"),
        }
        emit_json({"state": row, **document})
        return
    show_table([row], ("study", "status", "participants", "joined", "finished", "join_code", "created_at"), empty="")
    show_table(rows, ("condition", *(varied(design) or ("detector",))), empty="")
    say("\n".join((*promise(design), *(f"Warning: {said}" for said in giveaways(design)))))
    say(f"\n{dump(design)}")
