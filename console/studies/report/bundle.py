"""The bundle of a report as folder or zip: page, data and codebook, plan, materials, scripts and checksums."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pandas as pd
import yaml
from sqlmodel import Session

from console.runs.export import atomic_file
from console.runs.export.formats import as_csv
from console.studies.analysis import result_tables
from console.studies.analysis.frames import Frames
from console.studies.design import Design
from console.studies.design.allocation import plan_all
from console.studies.design.model import instruments_of
from console.studies.design.preregistration import osf_preregistration, preregistration
from console.studies.design.yaml_file import dump
from console.studies.report import statements
from console.studies.report.html import ReportStamp, asset, flow_svg, html, report_sentences
from console.studies.results import csv_files, data_versions
from console.studies.sessions import lifecycle
from storage import tables

REPORT, _SUMS, _PLAN = "report.html", "checksums.sha256", "plan.md"
_OSF, _FLOW = "osf-preregistration.md", "flow.svg"
_SCRIPT, _PLAIN, _R = "analysis.py", "analysis_plain.py", "analysis.R"


def make_stamp(session: Session, study: tables.Study, at_ms: int) -> ReportStamp:
    """Return the stamp of a report that is written at this time; the stamp includes the plan."""
    design, places = lifecycle.design_of(study), lifecycle.list_places(session, study)
    plan = preregistration(design, places, known=lifecycle.known_properties(session, design, places))
    version = data_versions(session, study.id or 0).study
    return ReportStamp(at_ms, version, lifecycle.plan_fingerprint(session, study), plan)


def report_tables(design: Design, frames: Frames) -> dict[str, pd.DataFrame]:
    """Compute every table behind the numbers of the report, from the design and the tidy tables alone."""
    computed = result_tables(frames)
    return {
        **computed,
        "facts": statements.facts(design, frames),
        "flow": statements.flow(design, frames),
        "sentences": report_sentences(design, frames, computed),
    }


def write(design: Design, frames: Frames, stamp: ReportStamp, folder: Path) -> list[Path]:
    """Write all files of the report into the folder; return their paths; raise BadInput if a file cannot be written."""
    more = _beside(design, frames, stamp)
    data = [path.name for path in csv_files.write(frames, folder)]
    for name, content in more.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / name) as stream:
            stream.write(content)
    names = [REPORT, *data, *(name for name in more if name != REPORT)]
    sums = {name: (folder / name).read_bytes() for name in names}
    with atomic_file(folder / _SUMS) as stream:
        stream.write(_checksums(sums))
    return [folder / name for name in (*names, _SUMS)]


def bundle(design: Design, frames: Frames, stamp: ReportStamp) -> bytes:
    """Return the report's files as a zip."""
    contents = csv_files.csv_contents(frames) | _beside(design, frames, stamp)
    return csv_files.zip_files(contents | {_SUMS: _checksums(contents)})


def _beside(design: Design, frames: Frames, stamp: ReportStamp) -> dict[str, bytes]:
    found = report_tables(design, frames)
    computed = {f"tables/{name}.csv": as_csv(frame) for name, frame in found.items()}
    return {
        REPORT: html(design, frames, stamp, found).encode(),
        "README.md": _readme(design, frames, stamp).encode(),
        "contrasts.csv": computed["tables/contrasts.csv"],
        "design.yaml": dump(design).encode(),
        **({_PLAN: stamp.plan.encode()} if stamp.plan else {}),
        **{f"materials/{name}": content for name, content in materials(design).items()},
        _SCRIPT: asset("recompute.py").encode(),
        _PLAIN: asset(_PLAIN).encode(),
        _R: asset(_R).encode(),
        _OSF: osf_preregistration(design, plan_all(design)).encode(),
        _FLOW: flow_svg(found["flow"]).encode(),
        **computed,
    }


def materials(design: Design) -> dict[str, bytes]:
    """Return the texts and questions that participants see, by file name; omit texts that the design does not use."""
    named = dict.fromkeys(name for _, names in design.questionnaires.named() for name in names)
    shown = [instruments_of(design)[name].model_dump(mode="json") for name in named]
    quiz = design.quiz.model_dump(mode="json")
    texts = {
        "consent.txt": design.consent.text,
        "instructions.txt": design.instructions,
        "questionnaires.yaml": yaml.safe_dump(shown, sort_keys=False, allow_unicode=True) if shown else "",
        "quiz.yaml": yaml.safe_dump(quiz, sort_keys=False, allow_unicode=True) if quiz["questions"] else "",
        "last-question.txt": design.debriefing.question,
        "debriefing.txt": design.debriefing.text,
    }
    found = {name: text.encode() for name, text in texts.items() if text.strip()}
    if design.demographics:
        asked = pd.DataFrame([one.model_dump() for one in design.demographics])
        lists = {name: asked[name].map(" | ".join) for name in ("choices", "screens_out")}
        limits = asked["quotas"].map(lambda quotas: " | ".join(f"{choice}: {most}" for choice, most in quotas.items()))
        found["questions.csv"] = as_csv(asked.assign(**lists, quotas=limits))
    return found


def _readme(design: Design, frames: Frames, stamp: ReportStamp) -> str:
    told = [
        (REPORT, "the report; it needs no network, and a browser prints it on A4"),
        (", ".join(f"{name}.csv" for name in frames), "the data, one table per file"),
        (csv_files.DICTIONARY, "the codebook: every column of the data, its type, unit and meaning"),
        ("tables/, contrasts.csv", "all numbers and sentences of the report"),
        (_SCRIPT, "recomputes tables/ from the data and design.yaml, and lists differences"),
        (_PLAIN, "recomputes contrasts.csv and tables/success.csv without InferAct Console"),
        (_R, "recomputes contrasts.csv in base R, with a linear mixed model beside it if lmerTest is installed"),
        (_FLOW, "the flow of participants as a picture"),
        (_OSF, "the plan in the fields of the OSF Preregistration template"),
        ("design.yaml", "all parameters of the design"),
        *([(_PLAN, "the plan as a preregistration")] if stamp.plan else []),
        *([("materials/", "all texts and questions for participants")] if materials(design) else []),
        (_SUMS, "SHA-256 of every other file; sha256sum -c checks them"),
    ]
    mark = f"Fingerprint of the plan as it was registered (SHA-256): {stamp.fingerprint}" if stamp.fingerprint else ""
    paragraphs = [
        f"# {design.name}",
        "A user study of reviewers who oversee an agent: its data and all computed results.",
        "\n".join(f"- {names}: {what}" for names, what in told),
        "To recompute all: `pip install inferact-console && python analysis.py`. To recompute contrasts and success "
        "rates without the console: `pip install pandas scipy statsmodels && python analysis_plain.py`. To recompute "
        "contrasts in R: `Rscript analysis.R`.",
        "Participants are pseudonymous. Before you publish, check the feedback and answers in decisions.csv "
        "and participants.csv for personal data, and add a licence.",
        mark,
        stamp.plan_apart,
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def _checksums(contents: Mapping[str, bytes]) -> bytes:
    lines = (f"{sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    return "".join(lines).encode()
