"""Questions that a researcher adds to the items of a run: a scale or a choice, answered beside the decision."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import orjson
from sqlmodel import Session

from console.auth import audit_log
from console.errors import BadInput, Refused
from console.language import _
from console.runs import run_options
from storage import tables

MOST = 4
"""The maximum number of questions of a run, because each needs a line in the decision bar."""
_SCALE = re.compile(r"(\d{1,2})\s*(?:-|–|to)\s*(\d{1,2})")
_POINTS, _CHOICES = range(2, 12), range(2, 8)
_TEXT_CHARS, _CHOICE_CHARS = 120, 40

Answer = int | str


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its possible answers: whole numbers for a scale, texts for a choice; `key` names it in files."""

    key: str
    text: str
    choices: tuple[Answer, ...]

    @property
    def kind(self) -> str:
        """The kind of the question: `scale` or `choice`."""
        return "scale" if isinstance(self.choices[0], int) else "choice"

    @property
    def line(self) -> str:
        """The question as the line from which `parse_question` parses it."""
        shown = f"{self.choices[0]}-{self.choices[-1]}" if self.kind == "scale" else ", ".join(map(str, self.choices))
        return f"{self.text}: {shown}"


def parse_question(line: str) -> Question:
    """Parse `TEXT: 1-7` as a scale and `TEXT: one, two` as a choice; raise BadInput if the line is neither."""
    text, _colon, listed = (part.strip() for part in line.rpartition(":"))
    choices: tuple[Answer, ...]
    if scale := _SCALE.fullmatch(listed):
        choices, allowed = tuple(range(int(scale[1]), int(scale[2]) + 1)), _POINTS
    else:
        choices, allowed = (
            tuple(dict.fromkeys(" ".join(one.split()) for one in listed.split(",") if one.strip())),
            _CHOICES,
        )
    key = "-".join(re.findall(r"\w+", text.lower()))[:60]
    if not key or len(text) > _TEXT_CHARS or len(choices) not in allowed:
        raise BadInput(
            f"{line!r} is not a valid question. Write TEXT: 1-7 for a scale (2 to 11 points) or TEXT: one, two for a "
            "choice (2 to 7)."
        )
    if long := next((one for one in choices if len(str(one)) > _CHOICE_CHARS), None):
        raise BadInput(f"The answer {long!r} is too long. Use at most {_CHOICE_CHARS} characters.")
    return Question(key, text, choices)


def list_questions(run: tables.Run) -> tuple[Question, ...]:
    """List the questions of the run; a study asks its own questions, so its runs have none."""
    if run.study_id is not None:
        return ()
    return tuple(Question(one["key"], one["text"], tuple(one["choices"])) for one in run_options(run).questions)


def set_questions(session: Session, run: tables.Run, lines: Sequence[str], now_ms: int) -> None:
    """Set the run's questions, one per line, and record the event; stored answers stay as they are.

    Raise BadInput if a line is invalid, or Refused if the run belongs to a study.
    """
    if run.study_id is not None:
        raise Refused("A study asks its own questions. Add a questionnaire to its design.")
    wanted = [parse_question(line) for line in lines if line.strip()]
    if len(wanted) > MOST:
        raise BadInput(f"{len(wanted)} questions are too many for the page. Use at most {MOST}.")
    if len({one.key for one in wanted}) < len(wanted):
        raise BadInput("Two questions have the same text. Change one of them.")
    options, before = run_options(run), [one.line for one in list_questions(run)]
    run.options = replace(options, questions=[asdict(one) for one in wanted]).to_json()
    session.add(run)
    after = [one.line for one in wanted]
    audit_log.record(session, run, "questions set", now_ms, before=before, after=after)


def read_answers(stored: str | None) -> dict[str, Answer]:
    """Parse the stored answers of a decision or a draft, by the key of the question."""
    found: dict[str, Answer] = orjson.loads(stored or "{}")
    return found


def write_answers(answers: Mapping[str, Answer]) -> str:
    """Return the answers as JSON to store, or an empty text if there are none."""
    return orjson.dumps(dict(answers)).decode() if answers else ""


def check_answers(run: tables.Run, given: Mapping[str, Answer]) -> dict[str, Answer]:
    """Return the answers in the order of the run's questions; raise BadInput if one is not among the choices."""
    known = {one.key: one for one in list_questions(run)} if given else {}
    for key, answer in given.items():
        if key not in known or answer not in known[key].choices:
            raise BadInput(
                _("“{answer}” is not an answer to the questions of this run. Reload the page.").format(answer=answer)
            )
    return {key: given[key] for key in known if key in given}
