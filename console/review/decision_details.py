"""Details of a decision beside the choice: reason codes, answers to the run's questions, marked steps, and notes.

Reasons are short, each with a shortcut key; the agent reads them too. A code consists of the reason's words joined by
hyphens, so that it stays readable in files: `over-the-limit`. A question is a scale or a choice that a researcher adds
to the items of a run. A mark names a wrong step of a trajectory, with the selected words of the step. Notes are to
colleagues, and no agent reads them; an escalation may include a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files

import orjson
from sqlalchemy import bindparam
from sqlmodel import Session, col, or_, select

from console import environments
from console.auth import audit_log
from console.auth.people import Role, get_person, list_people, roles_of
from console.environments.environment import Judging
from console.errors import BadInput, Refused
from console.language import _, digits
from console.runs import current_decisions, is_current, run_options
from console.trajectory.checkpoints import Checkpoint
from console.trajectory.strict_yaml import read_data
from storage import tables
from storage.tables import DecisionKind

MOST_REASONS = 7
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
    if len(cleaned) > MOST_REASONS:
        raise BadInput(f"{len(cleaned)} reasons need more digit keys than the page has. Give at most {MOST_REASONS}.")
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


MOST_QUESTIONS = 4
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
    if len(wanted) > MOST_QUESTIONS:
        raise BadInput(f"{len(wanted)} questions are too many for the page. Use at most {MOST_QUESTIONS}.")
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


MOST_MARKS = 20
"""The maximum number of marked steps of one decision."""
_ACTION_CHARS, _QUOTE_CHARS = 120, 200


@dataclass(frozen=True, slots=True)
class MarkedStep:
    """A marked step, counted from 1, with the start of its action; `quote` is text of the step, or empty."""

    step: int
    action: str = ""
    quote: str = ""


def takes_marks(run: tables.Run) -> bool:
    """Return whether reviewers of the run can mark steps: not with binary feedback, and not in a study.

    A mark is feedback that no condition of a study names.
    """
    return run.feedback_mode != "binary" and run.study_id is None


def read_marks(stored: str | None) -> tuple[MarkedStep, ...]:
    """Parse the stored marked steps of a decision or a draft, in order."""
    return tuple(MarkedStep(**one) for one in orjson.loads(stored or "[]"))


def write_marks(marks: Sequence[MarkedStep]) -> str:
    """Return the marked steps as JSON to store, or an empty string if no step is marked."""
    return orjson.dumps([asdict(one) for one in marks]).decode() if marks else ""


def check_marks(checkpoint: Checkpoint, wanted: Iterable[MarkedStep]) -> tuple[MarkedStep, ...]:
    """Return the marks in the order of the steps, once each, with actions and quotes from the checkpoint.

    A quote that does not occur in its step is left out. Raise BadInput if a step does not exist or there are too many.
    """
    found: dict[int, MarkedStep] = {}
    for one in wanted:
        texts = _list_texts(checkpoint, one.step)
        quote = " ".join(one.quote.split())[:_QUOTE_CHARS].strip()
        known = any(quote in text for text in texts)
        found[one.step] = MarkedStep(one.step, _shorten(texts[0]), quote if known else "")
    if len(found) > MOST_MARKS:
        raise BadInput(
            _("You can mark at most {most} steps. Remove one of the marks first.").format(most=digits(MOST_MARKS))
        )
    return tuple(found[step] for step in sorted(found))


def _list_texts(checkpoint: Checkpoint, number: int) -> tuple[str, ...]:
    """Return the action, thought and observation of a step on one line each; the last step is the critical action."""
    texts: tuple[str, ...]
    if 0 < number <= len(checkpoint.steps):
        step = checkpoint.steps[number - 1]
        texts = step.action, step.thought, step.observation
    elif number == len(checkpoint.steps) + 1 and checkpoint.action:
        texts = checkpoint.action, checkpoint.thought
    else:
        raise BadInput(_("Step {number} does not exist. Mark a step that the page shows.").format(number=number))
    return tuple(" ".join(text.split()) for text in texts)


def _shorten(action: str) -> str:
    return action if len(action) <= _ACTION_CHARS else action[: _ACTION_CHARS - 1] + "…"


def describe_marks(marks: Sequence[MarkedStep], reasons: Sequence[str]) -> str:
    """Return the marked steps as a sentence for the agent, with the reasons, else with "this step is wrong"."""
    said = ", ".join(reasons) or ("this step is wrong" if len(marks) == 1 else "these steps are wrong")
    places = "; ".join(_place(one) for one in marks)
    return f"{places[:1].upper()}{places[1:]}: {said}."


def _place(mark: MarkedStep) -> str:
    action = f", `{mark.action}`" if mark.action else ""
    return f"step {mark.step}{action}" + (f", “{mark.quote}”" if mark.quote else "")


def list_marks(session: Session, trajectory_id: int) -> Mapping[int, str]:
    """Return the reviewers and selected words of each marked step of a trajectory, by step number."""
    decision, item = tables.Decision, tables.Item
    statement = (
        current_decisions()
        .join(item, col(item.id) == decision.item_id)
        .where(item.trajectory_id == trajectory_id, col(decision.marked_steps).is_not(None))
        .order_by(col(decision.id))
    )
    said: dict[int, list[str]] = {}
    for row in session.exec(statement):
        for mark in read_marks(row.marked_steps):
            quote = f": “{mark.quote}”" if mark.quote else ""
            said.setdefault(mark.step, []).append(f"marked by {row.reviewer}{quote}")
    return {step: "; ".join(who) for step, who in said.items()}


MAX_NOTE = 2_000
"""The maximum length of a note, in characters."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """The escalation of an item for a reader: its author, its addressee (empty if no colleague is named), its note."""

    author: str
    addressee: str = ""
    text: str = ""
    reader: str = ""

    @property
    def badge(self) -> str:
        """The escalation as a short label."""
        own = self.author == self.reader
        if self.addressee and self.addressee == self.reader:
            return _("{author} escalated this item to you").format(author=self.author)
        if self.addressee:
            words = _("you escalated this item to {name}") if own else _("{author} escalated this item to {name}")
            return words.format(author=self.author, name=self.addressee)
        return _("you escalated this item") if own else _("{author} escalated this item").format(author=self.author)


def clean_note(text: str) -> str:
    """Return the note without leading and trailing whitespace; raise BadInput if the note is too long."""
    if len(text) > MAX_NOTE:
        long = _("The note has {count} characters, but the maximum is {most}. Shorten the note.")
        raise BadInput(long.format(count=digits(len(text)), most=digits(MAX_NOTE)))
    return text.strip()


def add_note(
    session: Session,
    item_id: int,
    author: str,
    text: str,
    now_ms: int,
    *,
    addressee: str = "",
    decision_id: int | None = None,
) -> None:
    """Store a note on an item, at most one per decision.

    Raise BadInput if the note is too long, or Unknown if the addressee does not exist.
    """
    text = clean_note(text)
    if addressee:
        addressee = get_person(session, addressee).name
    known = decision_id and session.exec(select(tables.Note).where(tables.Note.decision_id == decision_id)).first()
    if known or not (text or addressee):
        return
    session.add(
        tables.Note(
            item_id=item_id, decision_id=decision_id, author=author, addressee=addressee, text=text, created_ms=now_ms
        )
    )


# Queried at every decision, so these statements are built once.
_note, _decision = tables.Note, tables.Decision
_NOTES = select(_note).where(_note.item_id == bindparam("item")).order_by(col(_note.id))
_NOTES_FOR_ONE = _NOTES.where(or_(col(_note.decision_id).is_not(None), col(_note.author) == bindparam("reader")))
_ESCALATIONS = (
    select(_decision.item_id, _decision.reviewer, _note.addressee, _note.text)
    .join(_note, col(_note.decision_id) == _decision.id, isouter=True)
    .where(
        col(_decision.item_id).in_(bindparam("items", expanding=True)),
        _decision.decision == DecisionKind.ESCALATE,
        is_current(),
    )
    .order_by(col(_decision.id))
)


def list_notes(session: Session, item_id: int, reader: str, *, everything: bool) -> Sequence[tables.Note]:
    """List the notes on an item that the reader may see, the oldest first.

    By default these are the notes of escalations and the reader's own notes. If `everything` is true, as in a run that
    is not blind, list all notes.
    """
    given = {"item": item_id} if everything else {"item": item_id, "reader": reader}
    return session.exec(_NOTES if everything else _NOTES_FOR_ONE, params=given).all()


def list_escalations(session: Session, item_ids: Sequence[int], reader: str) -> dict[int, Escalation]:
    """Return the latest current escalation of each of these items by item id; omit items without an escalation."""
    if not item_ids:
        return {}
    rows = session.exec(_ESCALATIONS, params={"items": list(item_ids)})
    return {item: Escalation(who, to or "", text or "", reader) for item, who, to, text in rows}


def list_colleagues(session: Session, reviewer: str) -> list[str]:
    """List the names of the other people who may review."""
    may_review = {Role.REVIEWER, Role.RESEARCHER, Role.ADMIN}
    return [
        one.name
        for one in list_people(session)
        if one.disabled_ms is None and one.name != reviewer and may_review & roles_of(one.roles)
    ]
