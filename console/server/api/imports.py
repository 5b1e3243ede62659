"""Importing a log that is sent as the body of a request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from console.errors import BadInput
from console.runs import ingest
from console.runs.ingest import FileReport
from console.server.api.schema import FileImported, Imported
from console.server.api.wire import answer, as_file, in_thread


async def import_log(request: Request) -> Response:
    """Imports the body into `run`, whole or not at all; 422 with the reason and its line where it is rejected."""
    query = request.query_params
    run = query.get("run")
    if not run:
        raise BadInput("Name the run that the log belongs to: ?run=NAME.")
    name, format = query.get("name", "body"), query.get("format", "auto")
    async with as_file(request, name) as path:
        report = await in_thread(_import, path, name, run, format)
    said = [sentence for good, sentence in ingest.sentences(report) if not good]
    file = FileImported.model_validate(report.to_dict())
    document = Imported(
        files=[file], imported=report.imported, rejected=int(bool(report.rejected)), error="; ".join(said) or None
    )
    return answer(document.model_dump(mode="json", exclude_none=not said), 422 if said else 200)


def _import(path: Path, name: str, run: str, format: str) -> FileReport:
    report = ingest.import_file(path, run, format, lambda _: None)
    return replace(report, path=name)
