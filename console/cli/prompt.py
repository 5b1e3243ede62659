"""`inferact prompt`: the prompt templates, their slots, and how they read once filled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from console.cli.output import Json, by_default, emit, emit_json, say, show_table
from console.errors import BadInput
from console.llm import prompts

app = typer.Typer(
    help="See the prompts: list, show, render.", epilog="Example: inferact prompt list", invoke_without_command=True
)

Name = Annotated[str, typer.Argument(help="The template, as METHOD/TASK/STEP.")]


@app.command("list", epilog="Example: inferact prompt list --method inferact")
@by_default(app)
def list_prompts(
    method: Annotated[str | None, typer.Option(help="Only those of this method.")] = None,
    as_json: Json = False,
) -> None:
    """List every template with its slots; those in INFERACT_PROMPTS_DIR are marked as your own."""
    rows = [_row(name) for name in prompts.names() if method in (None, name.split("/")[0])]
    if as_json:
        emit_json(rows)
        return
    shown = [{**row, "slots": ", ".join(row["slots"]), "fingerprint": row["fingerprint"][:12]} for row in rows]
    show_table(shown, ("prompt", "slots", "origin", "fingerprint"), empty=f"No prompts of {method}.")


@app.command("show", epilog="Example: inferact prompt show inferact/webshop/infer_task")
def show(name: Name, as_json: Json = False) -> None:
    """Print a template as it is written, with its file and fingerprint."""
    row = _row(name) | {"file": str(prompts.where(name)), "text": prompts.source(name)}
    row["reply_form"] = prompts.reply_form(name)
    if as_json:
        emit_json(row)
        return
    form = "".join(f"\nreply: {field} = {value}" for field, value in row["reply_form"].items())
    say(f"{row['file']} ({row['fingerprint'][:12]})\nslots: {', '.join(row['slots']) or 'none'}{form}\n\n{row['text']}")


@app.command("render", epilog="Example: inferact prompt render token/webshop/progress --slot option_a=True")
def render(
    name: Name,
    slot: Annotated[list[str] | None, typer.Option(help="A slot as NAME=TEXT; give one for each.")] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="A slot as NAME=FILE, filled with what the file holds.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a template filled with your texts, just as a model gets it."""
    texts = dict(_pair(given) for given in slot or [])
    texts |= {key: _contents(path) for key, path in map(_pair, file or [])}
    text = prompts.render(name, **texts)
    emit({"prompt": name, "fingerprint": prompts.fingerprint(name), "text": text}, as_json, text)


def _row(name: str) -> dict[str, Any]:
    origin = "own" if prompts.is_own(name) else "packaged"
    slots = sorted(prompts.slots(name))
    return {"prompt": name, "slots": slots, "origin": origin, "fingerprint": prompts.fingerprint(name)}


def _pair(given: str) -> tuple[str, str]:
    name, sign, text = given.partition("=")
    if not sign or not name:
        raise BadInput(f"{given!r} is not NAME=TEXT.")
    return name, text


def _contents(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as broken:
        raise BadInput(f"{path} cannot be read ({broken}).") from broken
