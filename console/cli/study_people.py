"""`inferact study invite|payments`: links that open one place each, and who is to be paid what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from console.cli.output import Json, emit, emit_json, plain_rows, say, show_table
from console.cli.serve import PublicUrl, ServedHost, ServedPort, site_of
from console.database import reading
from console.language import counted
from console.runs.export import atomic_file
from console.studies.design.yaml_file import text_of_file
from console.studies.sessions import arrivals, lifecycle

Name = Annotated[str, typer.Argument(help="The study's name.")]


def invite(
    name: Name,
    count: Annotated[int, typer.Option(help="How many links.")] = 1,
    host: ServedHost = None,
    port: ServedPort = None,
    public_url: PublicUrl = None,
    as_json: Json = False,
) -> None:
    """Print links to a study that open one place each, once."""
    site = site_of(host, port, public_url)
    links = [f"{site.base}/participate?invitation={token}" for token in arrivals.invite(name, count)]
    emit({"study": name, "links": links}, as_json, "\n".join(links))


def list_payments(
    name: Name,
    ids: Annotated[
        Path | None, typer.Option(help="The platform's own list of ids, as text or CSV: names those whom it knows.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A CSV file to write it to.")] = None,
    as_json: Json = False,
) -> None:
    """List who has finished or was screened out, with completion code and bonus."""
    from console.runs.export.formats import as_csv  # pandas, which few commands need
    from console.studies import results
    from console.studies.results.payments import COLUMNS, ids_in, payments

    with reading() as session:
        study = lifecycle.get(session, name)
        frame = payments(session, study, ids_in(text_of_file(ids)) if ids else ())
    if out is not None:
        with atomic_file(out) as stream:
            stream.write(as_csv(frame))
            results.record_export(name, out.name)
    if as_json:
        emit_json(plain_rows(frame))
    elif out is not None:
        say(f"The payment list of {name} is in {out}: {counted(len(frame), 'participant')}.")
    else:
        show_table(plain_rows(frame), COLUMNS, empty="Nobody has come yet.")
