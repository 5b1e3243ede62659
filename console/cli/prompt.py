"""`inferact prompt`: the prompt templates, their slots and their filled text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from console.cli.output import Json, emit, emit_table, noun, run_by_default
from console.errors import BadInput
from console.llm import prompts
from console.studies.design.yaml_file import read_text_file

app = noun("List, show and fill prompt templates.", "prompt list")

Name = Annotated[str, typer.Argument(help="The template, as METHOD/TASK/STEP.")]


@app.command("list", epilog="Example: inferact prompt list --method inferact")
@run_by_default(app)
def list_prompts(
    method: Annotated[str | None, typer.Option(help="Only templates of this method.")] = None, as_json: Json = False
) -> None:
    """List every template with its slots; templates in INFERACT_PROMPTS_DIR are marked as your own."""
    rows = [_row(name) for name in prompts.list_templates() if method in (None, name.split("/")[0])]
    shown = [{**row, "slots": ", ".join(row["slots"]), "fingerprint": row["fingerprint"][:12]} for row in rows]
    emit_table(
        rows,
        ("prompt", "slots", "origin", "fingerprint"),
        as_json,
        empty=f"The method {method} has no prompts.",
        shown=shown,
    )


@app.command("show", epilog="Example: inferact prompt show inferact/webshop/infer_task")
def show(name: Name, as_json: Json = False) -> None:
    """Print a template with its file and fingerprint."""
    row = _row(name) | {"file": str(prompts.find_template(name)), "text": prompts.read_template(name)}
    row["reply_form"] = prompts.read_reply_form(name)
    form = "".join(f"\nreply: {field} = {value}" for field, value in row["reply_form"].items())
    head = f"{row['file']} ({row['fingerprint'][:12]})\nslots: {', '.join(row['slots']) or 'none'}{form}"
    emit(row, as_json, f"{head}\n\n{row['text']}")


@app.command("render", epilog="Example: inferact prompt render token/webshop/progress --slot option_a=True")
def render(
    name: Name,
    slot: Annotated[list[str] | None, typer.Option(help="A slot as NAME=TEXT. Repeatable.")] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="A slot as NAME=FILE, filled with the contents of the file. Repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a template filled with your texts, exactly as a model gets it."""
    texts = dict(_pair(given) for given in slot or [])
    texts |= {key: read_text_file(Path(path)) for key, path in map(_pair, file or [])}
    text = prompts.render(name, **texts)
    emit({"prompt": name, "fingerprint": prompts.fingerprint(name), "text": text}, as_json, text)


def _row(name: str) -> dict[str, Any]:
    origin = "own" if prompts.is_own(name) else "packaged"
    slots = sorted(prompts.list_slots(name))
    return {"prompt": name, "slots": slots, "origin": origin, "fingerprint": prompts.fingerprint(name)}


def _pair(given: str) -> tuple[str, str]:
    name, sign, text = given.partition("=")
    if not sign or not name:
        raise BadInput(f"{given!r} is not a valid slot. Write NAME=TEXT.")
    return name, text
