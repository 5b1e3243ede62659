"""Imports: a log sent as the body of a request."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from console.auth.audit_log import By, Door, acting
from console.errors import BadInput
from console.runs import ingest
from console.runs.ingest import FileReport
from console.server.api.admission import refuse_agents
from console.server.api.body import as_file
from console.server.api.errors import refusals
from console.server.api.schema import FileImported, Imported
from console.server.api.threads import in_thread

router = APIRouter()

_SENT = {
    # Read by hand, so that a request without it gets our own sentence.
    "parameters": [
        {
            "name": "run",
            "in": "query",
            "required": True,
            "description": "The run's name.",
            "schema": {"type": "string"},
        }
    ],
    "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}},
}
_REJECTED = {"model": Imported, "description": "Rejected: the file with its reason and line."}


@router.post(
    "/trajectories",
    response_description="Imported.",
    responses=refusals(401, 409, 413) | {422: _REJECTED},
    response_model_exclude_unset=True,
    openapi_extra=_SENT,
    dependencies=[Depends(refuse_agents)],
)
async def import_log(
    request: Request,
    response: Response,
    format: Annotated[str, Query(description="The log's format; detected by default.")] = "auto",
    name: Annotated[str, Query(description="The file's name, for the report.")] = "body",
) -> Imported:
    """Import the body into `run`, each file completely or not at all. Respond with 422 and the reason if a file is
    rejected.

    An agent's own token cannot import, because the imported actions would look like those of other agents.
    """
    run = request.query_params.get("run")
    if not run:
        raise BadInput("The run of the log is missing. Name the run: ?run=NAME.")
    by = By("agent", Door.API, request.client.host if request.client else "")
    async with as_file(request, name) as path:
        reports = await in_thread(_import, path, name, run, format, by)
    imported = Imported(
        files=[FileImported.model_validate(report.to_dict()) for report in reports],
        imported=sum(report.imported for report in reports),
        rejected=sum(bool(report.rejected) for report in reports),
    )
    if faults := [sentence for report in reports for good, sentence in ingest.list_lines(report) if not good]:
        imported.error, response.status_code = "; ".join(faults), 422
    return imported


def _import(path: Path, name: str, run: str, format: str, by: By) -> list[FileReport]:
    with acting(by):
        return ingest.import_files(path, run, format, lambda _: None, name)
