"""`inferact study`: design, create, list and show studies; invitations, payments and presets."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from console.cli import study_plan, study_run
from console.cli.output import Json, emit, emit_json, emit_table, noun, plain_rows, run_by_default, say, show_table
from console.cli.serve import PublicUrl, ServedHost, ServedPort, get_running_site
from console.cli.study_run import Name, ReportPath, create_report, simulate_study
from console.database import now_ms, reading
from console.errors import BadInput, Refused
from console.language import counted
from console.runs.export import atomic_file
from console.settings import settings
from console.studies.design import Design, conditions, varied_factors
from console.studies.design.allocation import promise
from console.studies.design.giveaways import find_giveaways
from console.studies.design.presets import preset, presets
from console.studies.design.yaml_file import change_design, dump, example, load, read_text_file
from console.studies.sessions import joining, lifecycle
from storage import tables

app = noun("Design and run user studies, and analyse their results.", "study example > pilot.yaml")

app.command("assign", epilog="Example: inferact study assign pilot --out allocation.csv")(study_plan.show_allocation)
app.command("preregister", epilog="Example: inferact study preregister pilot --out pilot.md")(study_plan.write_plan)
app.command("power", epilog="Example: inferact study power pilot.yaml --n 4,8,12")(study_plan.estimate_power)
app.command("open", epilog="Example: inferact study open pilot")(study_run.open_study)
app.command("pause", epilog="Example: inferact study pause pilot")(study_run.pause)
app.command("close", epilog="Example: inferact study close pilot")(study_run.close)
app.command("simulate", epilog="Example: inferact study simulate pilot --all")(study_run.simulate_participants)
app.command("board", epilog="Example: inferact study board pilot --json")(study_run.show_board)
app.command("withdraw", epilog="Example: inferact study withdraw pilot P07")(study_run.withdraw_participant)
app.command("results", epilog="Example: inferact study results pilot --table differences")(study_run.show_results)
app.command("report", epilog="Example: inferact study report pilot --out pilot-report")(study_run.write_report)


@app.command("example", epilog="Example: inferact study example > pilot.yaml")
def print_example() -> None:
    """Print a commented design that works as it is."""
    typer.echo(example(), nl=False)


@app.command("create", epilog="Example: inferact study create pilot.yaml")
def create(
    file: Annotated[Path, typer.Argument(help="The design as a YAML file.")],
    name: Annotated[str | None, typer.Option(help="The study's name (default: the design's).")] = None,
    seed: Annotated[int | None, typer.Option(help="The random seed (default: the design's).")] = None,
    as_json: Json = False,
) -> None:
    """Create a draft of a study: sample its tasks and assign conditions to every place."""
    wanted = {key: value for key, value in (("name", name), ("seed", seed)) if value is not None}
    design = change_design(load(file), **wanted)
    study = lifecycle.create(design, now_ms())
    with reading() as session:
        row = lifecycle.summary(session, study)
    sizes = ", ".join(counted(row[f"{what}s"], what) for what in ("participant", "condition", "task"))
    emit(row, as_json, f"Created {study.name}: {sizes}. To check: inferact study assign {quote(study.name)}")


@app.command("list", epilog="Example: inferact study list --json")
@run_by_default(app)
def list_studies(as_json: Json = False) -> None:
    """List all studies, the newest first."""
    with reading() as session:
        rows = [lifecycle.summary(session, study) for study in lifecycle.list_studies(session)]
    columns = "study status comparison conditions tasks trials participants joined finished people people_finished"
    emit_table(rows, columns.split(), as_json, empty="No studies yet. Start with: inferact study example > pilot.yaml")


@app.command("show", epilog="Example: inferact study show pilot --json")
def show(name: Name, as_json: Json = False) -> None:
    """Show a study's status, its conditions and its whole design."""
    with reading() as session:
        study = lifecycle.get(session, name)
        row = lifecycle.summary(session, study)
    design = lifecycle.design_of(study)
    rows = [{"condition": one.name, **one.levels} for one in conditions(design)]
    if as_json:
        notes = {"promise": promise(design), "warnings": find_giveaways(design)}
        emit_json({"state": row, "conditions": rows, **notes, "design": design.model_dump(mode="json")})
        return
    show_table([row], ("study", "status", "participants", "joined", "finished", "join_code", "created_at"))
    show_table(rows, ("condition", *(varied_factors(design) or ("detector",))))
    say("\n".join((*promise(design), *(f"Warning: {said}" for said in find_giveaways(design)))))
    say(f"\n{dump(design)}")


@app.command("invite", epilog="Example: inferact study invite pilot --count 12")
def invite(
    name: Name,
    count: Annotated[int, typer.Option(help="Number of links.")] = 1,
    host: ServedHost = None,
    port: ServedPort = None,
    public_url: PublicUrl = None,
    as_json: Json = False,
) -> None:
    """Print invitation links to a study; each is valid for one participant."""
    site = get_running_site(host, port, public_url)
    links = [f"{site.base}/participate?invitation={token}" for token in joining.invite(name, count)]
    emit({"study": name, "links": links}, as_json, "\n".join(links))


@app.command("payments", epilog="Example: inferact study payments pilot --out payments.csv")
def list_payments(
    name: Name,
    ids: Annotated[
        Path | None,
        typer.Option(help="The platform's list of ids, as text or CSV. The output marks these participants."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The file to create.")] = None,
    upload: Annotated[
        Literal["approve", "bonus"] | None,
        typer.Option(help="With --ids: write Prolific's upload format, with ids to approve or with id,amount lines."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the participants who finished or were screened out, with completion codes and bonuses."""
    from console.runs.export.formats import as_csv  # pandas, which few commands need
    from console.studies import results
    from console.studies.results.participants import COLUMNS, approvals, bonuses, ids_in, payments

    if upload and not (ids and out):
        raise BadInput(f"--upload {upload} needs the platform's list of ids and a file. Add --ids FILE --out FILE.")
    known = ids_in(read_text_file(ids)) if ids else []
    with reading() as session:
        study = lifecycle.get(session, name)
        frame = payments(session, study, known)
    if out is not None:
        uploads = {"approve": approvals, "bonus": bonuses}
        text = uploads[upload](frame, known).encode() if upload else as_csv(frame)
        with atomic_file(out) as stream:
            stream.write(text)
            results.record_export(name, out.name)
    if as_json:
        emit_json(plain_rows(frame))
    elif out is not None:
        rows = text.count(b"\n") if upload else len(frame)
        say(f"The payment list of {name} is in {out}: {counted(rows, 'participant')}.")
    else:
        show_table(plain_rows(frame), COLUMNS, empty="No one has joined yet.")


preset_app = noun(
    "Ready designs for research questions: show one, or run it with simulated reviewers.",
    "study preset run appendix-f --out appendix-f-report",
)

PresetName = Annotated[str, typer.Argument(help="The preset's name.")]
WithModel = Annotated[
    bool, typer.Option("--with-model", help="Let the detectors use the configured model, as in the paper.")
]


@preset_app.command("list", epilog="Example: inferact study preset list --json")
@run_by_default(preset_app)
def list_presets(as_json: Json = False) -> None:
    """List the presets with their research questions."""
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
    emit_table(rows, list(rows[0]), as_json)


@preset_app.command("show", epilog="Example: inferact study preset show appendix-f > mine.yaml")
def show_preset(name: PresetName, with_model: WithModel = False) -> None:
    """Print a preset's design as YAML, to edit and then create a study from it."""
    found = preset(name)
    about = f"{found.title} {found.about}" if found.title.endswith("?") else f"{found.title}. {found.about}"
    typer.echo(f"# {about}\n{dump(found.designed(with_model=with_model))}", nl=False)


@preset_app.command("run", epilog="Example: inferact study preset run appendix-f --out appendix-f-report")
def run_preset(
    name: PresetName,
    out: ReportPath,
    with_model: WithModel = False,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks per condition (default: the preset's).")] = None,
    study: Annotated[str | None, typer.Option(help="The study's name (default: the preset's).")] = None,
    as_json: Json = False,
) -> None:
    """Run a preset's study with simulated reviewers and write its report; repeat the command to continue it."""
    if with_model and not settings().model:
        raise Refused("No model is set. Set INFERACT_MODEL and OPENAI_BASE_URL.")
    changes = {"name": study or name} | ({} if tasks is None else {"tasks": tasks})
    made = _opened(preset(name).designed(simulated=True, with_model=with_model, **changes))
    tally = simulate_study(made.name)
    written = create_report(made.name, out)
    emit(
        {"study": made.name, "decisions": tally.decisions, "files": [str(path) for path in written]},
        as_json,
        f"Wrote the report of {made.name} (simulated reviewers only) to {written[0]}.",
    )


def _opened(design: Design) -> tables.Study:
    """Return the open study with this design, created if needed; raise Refused if its name has another design."""
    with reading() as session:
        found = lifecycle.find(session, design.name)
    if found is None:
        lifecycle.create(design, now_ms())
    elif lifecycle.design_of(found) != design:
        raise Refused(
            f"A study named {design.name!r} with a different design exists. Give this study another name with --study."
        )
    return lifecycle.open_study(design.name)


app.add_typer(preset_app, name="preset")
