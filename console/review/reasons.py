"""Reason codes: short reasons for a disagreement, each with a shortcut key; the agent reads the reasons too.

A code consists of the reason's words joined by hyphens, so that it stays readable in files: `over-the-limit`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from sqlmodel import Session

from console import environments
from console.auth import audit_log
from console.environments.environment import Judging
from console.errors import BadInput
from console.runs import run_options
from console.trajectory.strict_yaml import read_data
from storage import tables

MOST = 7
"""The maximum number of reasons, because each reason has a digit key."""
_WORDS = re.compile(r"[^\W_]+(?:[ '’][^\W_]+){0,5}")
_LONGEST = 40
_JUDGING = read_data(files(environments).joinpath("reasons.yaml"), dict[str, Judging])


def get_judging(environment_name: str) -> Judging:
    """Return the criteria for wrong actions in an environment; the default is the criteria of `generic`."""
    return _JUDGING.get(environment_name, _JUDGING["generic"])


def list_reasons(run: tables.Run, environment_name: str) -> tuple[str, ...]:
    """List the reasons that reviewers of the run can choose: the run's own reasons, else the environment's reasons.

    The list is empty if the feedback is binary or the run belongs to a study.
    """
    if run.feedback_mode == "binary" or run.study_id is not None:
        return ()
    return tuple(run_options(run).reasons) or get_judging(environment_name).reasons


def reason_code(words: str) -> str:
    """Return the code of the reason with this text."""
    return "-".join(words.lower().split())


def reason_text(code: str) -> str:
    """Return the text of the reason with this code."""
    return code.replace("-", " ")


def join_reason_codes(codes: Sequence[str]) -> str:
    """Join the codes for storage, without duplicates; raise BadInput if a code is invalid."""
    once = list(dict.fromkeys(reason_code(reason_text(code)) for code in codes if code.strip()))
    for code in once:
        _check(reason_text(code))
    return " ".join(once)


def set_reasons(session: Session, run: tables.Run, wanted: Sequence[str], now_ms: int) -> None:
    """Set the run's own reasons; an empty list restores the environment's reasons.

    Raise BadInput if there are too many reasons or one is invalid.
    """
    cleaned = list(dict.fromkeys(" ".join(words.split()) for words in wanted if words.strip()))
    if len(cleaned) > MOST:
        raise BadInput(f"{len(cleaned)} reasons need more digit keys than the page has. Give at most {MOST}.")
    for words in cleaned:
        _check(words)
    options = run_options(run)
    run.options = replace(options, reasons=cleaned).to_json()
    session.add(run)
    audit_log.record(session, run, "reasons set", now_ms, before=list(options.reasons), after=cleaned)


def _check(words: str) -> None:
    if len(words) > _LONGEST or not _WORDS.fullmatch(words):
        raise BadInput(
            f"{words!r} is not a valid reason. Use up to six words and {_LONGEST} characters, without punctuation."
        )
