"""`inferact study open|pause|close|simulate|board|withdraw`: a study while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from console import runs
from console.commands.output import Json, emit_json, progress, say, show_table
from console.database import reading
from console.studies.sessions import lifecycle, simulated, withdrawal
from console.studies.sessions import progress as boards
from storage import tables

Name = Annotated[str, typer.Argument(help="The study's name.")]
_SHOWN = ("code", "kind", "stage", "condition", "number", "conditions", "trial", "decided", "waiting", "budget_left")


def open_study(name: Name, as_json: Json = False) -> None:
    """Open a study: people can join, and go on where it was paused."""
    _change(lifecycle.open_study, name, as_json, "is open. People join with the code {code}.")


def pause(name: Name, as_json: Json = False) -> None:
    """Pause a study: everybody stays where they are until it is opened again."""
    _change(lifecycle.pause, name, as_json, "is paused. Go on with: inferact study open {name}")


def close(name: Name, as_json: Json = False) -> None:
    """Close a study for good: nobody joins or goes on."""
    _change(lifecycle.close, name, as_json, "is closed. See: inferact study results {name}")


def simulate(
    name: Name,
    all_places: Annotated[
        bool, typer.Option("--all", help="A dry run: the free places of people go to simulated reviewers for good.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let the simulated participants do the study; stopped, it goes on when called again."""
    with progress(f"{name}: conditions") as (bar, task):
        tally = simulated.simulate(
            name, lambda done, total: bar.update(task, completed=done, total=total), all_places=all_places
        )
    if as_json:
        emit_json(asdict(tally))
        return
    say(f"{tally.participants} participants finished {tally.conditions} conditions with {tally.decisions} decisions.")
    say(f"See: inferact study results {name}, or write: inferact study report {name} --out {name}-report")


def board(name: Name, as_json: Json = False) -> None:
    """Show who is where, what waits for them and what is left of their budget."""
    with reading() as session:
        rows = [_told(row) for row in boards.board(session, lifecycle.get(session, name))]
    if as_json:
        emit_json(rows)
        return
    show_table(rows, (*_SHOWN, "last_seen_at"), empty="Nobody has a place in this study.")


def withdraw(
    name: Name,
    code: Annotated[str, typer.Argument(help="The participant's code, such as P07.")],
    as_json: Json = False,
) -> None:
    """Take a participant out of a study: their data is removed or anonymised, as the consent says."""
    with reading() as session:
        study = lifecycle.get(session, name)
        how = lifecycle.design_of(study).consent.withdrawal
        participant = withdrawal.of_code(session, study, code)
    withdrawal.withdraw(participant.id or 0)
    if as_json:
        emit_json({"study": name, "withdrawn": code, "withdrawal": how})
        return
    say(f"{code} has left {name}; their data is {'removed' if how == 'remove' else 'anonymised'}.")


def _told(row: boards.Row) -> dict[str, Any]:
    """The row as `--json` prints it, its times in ISO-8601."""
    told = {key: value for key, value in asdict(row).items() if not key.endswith("_ms")}
    return told | {"oldest_at": runs.iso(row.oldest_ms), "last_seen_at": runs.iso(row.last_seen_ms)}


def _change(change: Callable[[str], tables.Study], name: str, as_json: bool, said: str) -> None:
    study = change(name)
    if as_json:
        emit_json({"study": study.name, "status": study.status, "join_code": study.join_code})
        return
    say(f"{study.name} {said.format(code=study.join_code, name=study.name)}")
