"""The `inferact` command: noun, then verb; a bare noun lists.

One file per noun of the command line; `console.cli` puts them together.
"""

from __future__ import annotations

import sys
from typing import Any

import typer

from console.cli import demo, detect, maintenance, output, oversight, policy, prompt, review, run, study, trajectory
from console.cli import detect as detector
from console.cli import detect as recalibrate
from console.cli import maintenance as worker
from console.cli import review as simulate
from console.errors import ConsoleError
from console.review.plain_text import visible
from storage.errors import StorageError

app = typer.Typer(
    name="inferact",
    help="Stops an agent's critical action until a person has looked at it.",
    epilog="Example: inferact demo",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _contents(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_START, _WORK, _KEEP = "Start", "Work", "Keep"

app.command("demo", epilog="Example: inferact demo", rich_help_panel=_START)(demo.demo)
app.command("serve", epilog="Example: inferact serve --port 8600", rich_help_panel=_START)(maintenance.serve)
app.add_typer(trajectory.app, name="trajectory", rich_help_panel=_WORK)
app.add_typer(run.app, name="run", rich_help_panel=_WORK)
app.command("detect", epilog="Example: inferact detect hotpot --method rules,random", rich_help_panel=_WORK)(
    detect.detect
)
review.app.command("simulate", epilog="Example: inferact review simulate --run demo --reviewer oracle")(
    simulate.simulate
)
app.add_typer(review.app, name="review", rich_help_panel=_WORK)
app.command("evaluate", epilog="Example: inferact evaluate hotpot", rich_help_panel=_WORK)(detect.evaluate)
app.command("recalibrate", epilog="Example: inferact recalibrate shop --detector rules", rich_help_panel=_WORK)(
    recalibrate.recalibrate
)
app.add_typer(policy.app, name="policy", rich_help_panel=_WORK)
app.add_typer(study.app, name="study", rich_help_panel=_WORK)
app.add_typer(detector.app, name="detector", rich_help_panel=_WORK)
app.add_typer(oversight.app, name="oversight", rich_help_panel=_WORK)
app.command("tune", epilog="Example: inferact tune hotpot --method rules", rich_help_panel=_WORK)(detect.tune)
app.command(
    "export", epilog="Example: inferact export decisions --run hotpot --out decisions.csv", rich_help_panel=_WORK
)(maintenance.export)
app.command("worker", epilog="Example: inferact worker --once", rich_help_panel=_KEEP)(worker.worker)
app.add_typer(prompt.prompt, name="prompt", rich_help_panel=_KEEP)
app.add_typer(maintenance.db, name="db", rich_help_panel=_KEEP)
app.command("doctor", epilog="Example: inferact doctor", rich_help_panel=_KEEP)(maintenance.doctor)

_Usage: type[Exception] = typer.BadParameter.__mro__[1]


def main(arguments: list[str] | None = None) -> None:
    """Runs one command; every refusal is one sentence on stderr, 2 for bad input and 1 for a failure."""
    sys.exit(run_command(arguments))


def run_command(arguments: list[str] | None = None) -> int:
    """The exit code of one command."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="inferact", standalone_mode=False)
    except ConsoleError as refusal:
        return _refuse(str(refusal), refusal.exit_code)
    except StorageError as refusal:
        return _refuse(str(refusal) or str(type(refusal).__doc__), 1)
    except _Usage as misuse:
        return _refuse(_usage(misuse), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("Stopped.", 130)
    except BrokenPipeError:
        return 0
    except output.EXPECTED as failure:
        if (said := output.sentence(failure)) is None:
            raise
        return _refuse(*said)
    return code if isinstance(code, int) else 0


def _usage(misuse: Any) -> str:
    said = " ".join(misuse.format_message().split()).rstrip(".")
    return f"{said}. See: {misuse.ctx.command_path} --help" if misuse.ctx else f"{said}."


def _refuse(sentence: str, code: int) -> int:
    sys.stderr.write(f"{visible(sentence)}\n")
    return code
