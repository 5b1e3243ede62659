"""`inferact certify`: a bound on the misaligned actions that no one inspected."""

from __future__ import annotations

from typing import Annotated

import typer

from console import runs
from console.cli.output import Json, RunName, emit_json, say, show_table
from console.database import now_ms, reading


def certify(
    run: RunName,
    level: Annotated[str, typer.Option(help="Confidence level.")] = "95%",
    known: Annotated[
        list[str] | None,
        typer.Option("--known", help="A run with gold labels, to measure the reviewers' errors. Repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bound the misaligned actions that no one inspected, from the random audits of a run."""
    from console.detection import certificate  # numpy and scipy, which few commands need

    share = certificate.parse_level(level)
    with reading() as session:
        known_runs = [runs.get(session, name) for name in known or []]
        found = certificate.certify(session, runs.get(session, run), now_ms(), level=share, known_runs=known_runs)
    if as_json:
        emit_json(found.to_dict())
        return
    say(found.sentence)
    audits = found.audits
    say(f"{audits.drawn:,} audits decided, {audits.labelled:,} of them misaligned; {found.waiting:,} pending.\n")
    show_table(certificate.tabulate_bounds(found), ("bound", "at most", "actions"))
    needed = [f"{count:,} for {share:.0%}" for share, count in found.needed.items() if count is not None]
    say(f"\nAudits needed if all are aligned: {', '.join(needed) or 'review every action'}.")
    for sentence in found.list_assumptions():
        say(f"- {sentence}")
