"""The page of a case file, and the audit event that records its digest."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import jinja2

from console.auth import audit_log
from console.auth.audit_log import By
from console.runs import get
from console.runs.export import atomic_file
from console.trials.case_file.contents import CaseFile, gather
from storage.engine import writing

WRITTEN = "case file written"
"""The kind of the audit event with the digest of a written case file."""


def write_case_file(url: str, run_name: str, path: Path, at_ms: int, by: By | None = None) -> str:
    """Write the run's case file and return its SHA-256 (hex), which the audit log records as well.

    Raise Unknown if no run has this name, and BadInput if the file cannot be written.
    """
    with atomic_file(path) as stream:
        # The event comes before the file gets its final name, so that each written file has a record.
        page = make_case_file(url, run_name, at_ms, by)
        stream.write(page)
    return hashlib.sha256(page).hexdigest()


def make_case_file(url: str, run_name: str, at_ms: int, by: By | None = None) -> bytes:
    """Return the run's case file; its SHA-256 is recorded in the audit log. Raise Unknown if no run has this name."""
    page = render_case_file(gather(url, run_name, at_ms)).encode()
    with writing(url) as session:
        digest = hashlib.sha256(page).hexdigest()
        audit_log.record(session, get(session, run_name), WRITTEN, at_ms, by=by, subject=digest)
    return page


def render_case_file(case: CaseFile) -> str:
    """Return the case file as one HTML page without links to other files."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(files(__package__).joinpath("page.html.j2").read_text("utf-8"))
    # In a script element, only this character can end the element or open a comment.
    return template.render(case=case, chain=case.chain.to_json().replace("<", "\\u003c"))
