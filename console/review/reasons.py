"""Reason codes: why a reviewer does not agree, in a few words of which each has a key; the agent reads them too.

A code is its words joined by hyphens, so that it can be read wherever it stands: `over-the-limit`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from sqlmodel import Session

from console import environments
from console.environments.environment import Judging
from console.errors import BadInput
from console.runs import audit_log
from console.runs.options import run_options
from console.trajectory.data_files import read_data
from storage import tables

MOST = 7
"""Each has a digit of its own."""
_WORDS = re.compile(r"[^\W_]+(?:[ '’][^\W_]+){0,5}")
_LONGEST = 40
_JUDGING = read_data(files(environments).joinpath("reasons.yaml"), dict[str, Judging])


def judging(environment_name: str) -> Judging:
    """What counts as wrong in an environment, and why; an unknown one is treated as `generic`."""
    return _JUDGING.get(environment_name, _JUDGING["generic"])


def offered_reasons(run: tables.Run, environment_name: str) -> tuple[str, ...]:
    """The reasons that reviewers of the run choose from, in words: its own or the environment's.

    None where feedback is binary, and none in a study, whose modes of feedback are words or nothing.
    """
    if run.feedback_mode == "binary" or run.study_id is not None:
        return ()
    return tuple(run_options(run).reasons) or judging(environment_name).reasons


def code_of(words: str) -> str:
    """The code of a reason."""
    return "-".join(words.lower().split())


def words_of(code: str) -> str:
    """The words of a code."""
    return code.replace("-", " ")


def codes_text(codes: Sequence[str]) -> str:
    """The codes as they are stored, each once; raises BadInput for one that could not be read back."""
    once = list(dict.fromkeys(code_of(words_of(code)) for code in codes if code.strip()))
    for code in once:
        _check(words_of(code))
    return " ".join(once)


def words_to_agent(answer: tables.Decision) -> str:
    """What the agent reads of an answer: each reason as a sentence, then the reviewer's own words."""
    return spoken(answer.reason_codes.split(), answer.feedback_text)


def spoken(codes: Sequence[str], words: str) -> str:
    """Reasons and words as one text."""
    sentences = [f"{words_of(code).capitalize()}." for code in codes]
    return " ".join([*sentences, words.strip()]).strip()


def set_reasons(session: Session, run: tables.Run, wanted: Sequence[str], now_ms: int) -> None:
    """Gives the run reasons of its own, none for those of its environment; raises BadInput."""
    cleaned = list(dict.fromkeys(" ".join(words.split()) for words in wanted if words.strip()))
    if len(cleaned) > MOST:
        raise BadInput(f"{len(cleaned)} reasons are too many: each has a digit of its own, so give at most {MOST}.")
    for words in cleaned:
        _check(words)
    options = run_options(run)
    run.options = replace(options, reasons=cleaned).to_json()
    session.add(run)
    audit_log.record(session, run, "reasons set", now_ms, before=list(options.reasons), after=cleaned)


def _check(words: str) -> None:
    if len(words) > _LONGEST or not _WORDS.fullmatch(words):
        raise BadInput(f"{words!r} cannot be a reason: use up to six words and {_LONGEST} characters, no other signs.")
