"""`inferact study preset`: designs for questions of the field, to change, or to run at once with simulations."""

from __future__ import annotations

from typing import Annotated

import typer

from console.cli.output import Json, by_default, emit, emit_table
from console.cli.study_run import ReportPath, played, reported
from console.database import now_ms, reading
from console.errors import Refused
from console.settings import settings
from console.studies.design import Design, conditions
from console.studies.design.presets import preset, presets
from console.studies.design.yaml_file import dump
from console.studies.sessions import lifecycle
from storage import tables

app = typer.Typer(
    help="Designs that answer a question of the field: look at one, or run it with simulated reviewers.",
    epilog="Example: inferact study preset run appendix-f --out appendix-f-report",
    invoke_without_command=True,
)

Name = Annotated[str, typer.Argument(help="The preset's name.")]
WithModel = Annotated[
    bool, typer.Option("--with-model", help="Its detectors ask the model of the settings, as in the paper.")
]


@app.command("list", epilog="Example: inferact study preset list --json")
@by_default(app)
def list_presets(as_json: Json = False) -> None:
    """List the presets with their questions."""
    rows = [
        {
            "preset": one.name,
            "question": one.title,
            "comparison": one.design.comparison,
            "conditions": len(conditions(one.design)),
            "tasks": one.design.tasks,
            "participants": one.design.participants.human,
        }
        for one in presets().values()
    ]
    emit_table(rows, list(rows[0]), as_json, empty="")


@app.command("show", epilog="Example: inferact study preset show appendix-f > mine.yaml")
def show_preset(name: Name, with_model: WithModel = False) -> None:
    """Print a preset's design as YAML, for people: change it, then create the study from it."""
    found = preset(name)
    about = f"{found.title} {found.about}" if found.title.endswith("?") else f"{found.title}. {found.about}"
    typer.echo(f"# {about}\n{dump(found.designed(with_model=with_model))}", nl=False)


@app.command("run", epilog="Example: inferact study preset run appendix-f --out appendix-f-report")
def run_preset(
    name: Name,
    out: ReportPath,
    with_model: WithModel = False,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks of each condition; by default the preset's.")] = None,
    study: Annotated[str | None, typer.Option(help="The study's name; by default the preset's.")] = None,
    as_json: Json = False,
) -> None:
    """Let simulated reviewers do a preset's study and write its report; stopped, it goes on when called again."""
    if with_model and not settings().model:
        raise Refused("No model is set; say which by INFERACT_MODEL, and where it is by OPENAI_BASE_URL.")
    changes = {"name": study or name} | ({} if tasks is None else {"tasks": tasks})
    made = _opened(preset(name).designed(simulated=True, with_model=with_model, **changes))
    tally = played(made.name)
    written = reported(made.name, out)
    emit(
        {"study": made.name, "decisions": tally.decisions, "files": [str(path) for path in written]},
        as_json,
        f"The report of {made.name}, by simulated reviewers alone, is in {written[0]}.",
    )


def _opened(design: Design) -> tables.Study:
    """The open study of that design, made unless it is there; raises Refused where another has its name."""
    with reading() as session:
        found = lifecycle.find(session, design.name)
    if found is None:
        lifecycle.create(design, now_ms())
    elif lifecycle.design_of(found) != design:
        raise Refused(f"There is a study named {design.name!r} of another design; give this one a name with --study.")
    return lifecycle.open_study(design.name)
