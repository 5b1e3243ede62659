"""The commands of the `inferact` command line: each command's module, its place in the help, and an example."""

from __future__ import annotations

from importlib import import_module

import typer

_START, _WORK, _ADMINISTER = "Start", "Work", "Administer"
COMMANDS = {
    "demo": ("demo:demo", _START, "inferact demo"),
    "serve": ("serve:serve_console", _START, "inferact serve --port 8600"),
    "trajectory": ("trajectory:app", _WORK, ""),
    "run": ("run:app", _WORK, ""),
    "detect": ("detect:detect", _WORK, "inferact detect hotpot --method rules,random"),
    "follow": ("follow:follow", _WORK, "inferact follow claude-code --run today"),
    "review": ("review:app", _WORK, ""),
    "evaluate": ("detect:evaluate", _WORK, "inferact evaluate hotpot"),
    "certify": ("certify:certify", _WORK, "inferact certify hotpot --level 95%"),
    "recalibrate": ("detect:recalibrate", _WORK, "inferact recalibrate shop --detector rules"),
    "policy": ("policy:app", _WORK, ""),
    "plan": ("plan:app", _WORK, ""),
    "study": ("study:app", _WORK, ""),
    "detector": ("detect:app", _WORK, ""),
    "oversight": ("oversight:app", _WORK, ""),
    "paper": ("paper:app", _WORK, ""),
    "tune": ("detect:tune", _WORK, "inferact tune hotpot --method rules"),
    "case-file": ("case_file:app", _WORK, ""),
    "export": ("export:export_file", _WORK, "inferact export decisions --run hotpot --out decisions.csv"),
    "chart": ("export:draw_chart", _WORK, "inferact chart roc-curve roc.csv --out roc.html"),
    "agent": ("agent:app", _ADMINISTER, ""),
    "keys": ("keys:app", _ADMINISTER, ""),
    "worker": ("serve:worker", _ADMINISTER, ""),
    "notice": ("notice:app", _ADMINISTER, ""),
    "person": ("person:app", _ADMINISTER, ""),
    "prompt": ("prompt:app", _ADMINISTER, ""),
    "db": ("db:app", _ADMINISTER, ""),
    "doctor": ("db:doctor", _ADMINISTER, "inferact doctor"),
}
"""(module and attribute, panel of the help, example) by command; a group of commands has its own examples."""


def build_app(command: str = "") -> typer.Typer:
    """Return the app with this command, which imports only its module; return all commands for any other name."""
    made = _new_app()
    for name in [command] if command in COMMANDS else COMMANDS:
        place, panel, example = COMMANDS[name]
        module, _, attribute = place.partition(":")
        found = getattr(import_module(f"console.cli.{module}"), attribute)
        if isinstance(found, typer.Typer):
            made.add_typer(found, name=name, rich_help_panel=panel)
        else:
            made.command(name, epilog=f"Example: {example}", rich_help_panel=panel)(found)
    return made


def _new_app() -> typer.Typer:
    """Return the app without its commands."""
    made = typer.Typer(
        name="inferact",
        help="Stop an agent's critical actions until a person has reviewed them.",
        epilog="Example: inferact demo",
        invoke_without_command=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback()(_show_contents)
    return made


def _show_contents(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
