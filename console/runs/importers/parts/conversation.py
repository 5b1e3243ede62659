"""Conversations, the common form of most logs: turns with calls, and results that refer to a call by id.

An importer maps its records to turns (`message_parts` reads the usual dialects). This module finds the calls in a
model's text, in the forms of Hermes, Qwen, Llama and ReAct prompts, and converts turns to steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from console.runs.importers.parts.intake import Intake, word
from console.runs.importers.records import Entry, Found, Skipped, with_critical_action
from console.trajectory import Label, Outcome, Picture, Step, Trajectory, call_action
from console.trajectory.messages import FIRST_WORDS, POLICY, join_paragraphs, respond_action, split_tool_texts
from console.trajectory.tools import read_schemas

SYSTEM, USER, AGENT, TOOL = "system", "user", "assistant", "tool"

_SETUP = re.compile(r"\s*<(?:session_context|environment_context|state_snapshot|system-reminder|user_info)>")
_SILENT = "The assistant says nothing in this conversation, so there is nothing to review"


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A tool call in a log; the arguments are a JSON value, or text if invalid. `extra` goes to the call's step."""

    name: str
    arguments: Any = None
    id: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    """The action in the agent's own words, or "" if the name and the arguments form the action."""

    @property
    def action(self) -> str:
        return self.text or call_action(self.name, self.arguments)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation. In a tool's turn, `answers` is the id of the call that produced the result.

    `number` counts the messages of the record from 1; `step_extra` is stored with the turn's step. `is_context` marks a
    text that the tool wrote in the user's role.
    """

    role: str
    text: str = ""
    thought: str = ""
    calls: tuple[LoggedCall, ...] = ()
    answers: str = ""
    speaker: str = ""
    pictures: tuple[Picture, ...] = ()
    number: int = 0
    step_extra: Mapping[str, Any] = field(default_factory=dict)
    is_context: bool = False


def join_thoughts(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the turns; merge a separate thought into the agent's next turn."""
    waiting: Turn | None = None
    for turn in turns:
        if waiting is not None:
            if turn.role == AGENT and turn.speaker == waiting.speaker:
                turn = replace(turn, thought=join_paragraphs(waiting.thought, turn.thought))
            else:
                yield waiting
            waiting = None
        if turn.role == AGENT and turn.thought and not turn.text and not turn.calls:
            waiting = turn
        else:
            yield turn
    if waiting is not None:
        yield waiting


def entry_of(
    intake: Intake,
    turns: Sequence[Turn],
    task_id: str | None = None,
    result: tuple[Outcome, Mapping[str, Any]] = (Outcome.FINISHED, {}),
    *,
    instruction: object = "",
    environment: str = "generic",
    trial: int = 0,
    extra: Mapping[str, Any] | None = None,
    tools: object = (),
    history: Sequence[tuple[str, str]] = (),
) -> Entry:
    """Return the trajectory of a conversation, or a skipped record if the agent does nothing.

    `result` is (outcome, gold). The task id defaults to the line, and the instruction to the user's first text. `tools`
    are the tools listed in the log, in any dialect; unreadable tools stay in `extra`. `history` holds (title, text) of
    earlier requests for the opening.
    """
    intake.at = 0
    begun = next((place for place, turn in enumerate(turns) if turn.role == AGENT), len(turns))
    steps = tuple(steps_of(turns, intake))
    if not steps and result[0] is not Outcome.ERROR:
        lost = ", ".join(f"{one.count} x {what}" for what, one in intake.left_out.items())
        return Skipped(intake.line, f"{_SILENT}{f'; left out: {lost}' if lost else ''}")
    schemas = read_schemas(tools)
    trajectory = Trajectory(
        task_id=f"line-{intake.line}" if task_id is None else task_id,
        environment=environment,
        instruction=word(instruction) or first_words(turns),
        steps=steps,
        trial=trial,
        outcome=result[0],
        gold=result[1],
        source=intake.source,
        extra={**(extra or {}), **({"tools": tools} if tools and not schemas else {})},
        opening=opening_of(turns[:begun], history),
        pictures=tuple(one for turn in turns[:begun] for one in turn.pictures),
        tools=schemas,
    )
    return build_entry(intake, trajectory)


def build_entry(intake: Intake, trajectory: Trajectory, *, critical: tuple[str, ...] = ()) -> Found:
    """Return the entry of a trajectory, with the notes of the intake."""
    return Found(
        intake.line,
        with_critical_action(trajectory, critical),
        left_out=dict(intake.left_out),
        pictures=intake.pictures,
        read_as=tuple(intake.read_as),
        critical=critical,
    )


def restore_export(entry: Entry, told: Mapping[str, Any]) -> Entry:
    """Return the entry with the opening, outcome and label from the console's own export, if the log contains them."""
    if not isinstance(entry, Found):
        return entry
    record, outcome, label = entry.trajectory, word(told.get("outcome")), word(told.get("label"))
    opening = told["opening"] if isinstance(told.get("opening"), str) else record.opening
    gold = {**record.gold, "label": label} if label in {*Label} else record.gold
    outcome = outcome if outcome in {*Outcome} else record.outcome
    return replace(entry, trajectory=replace(record, opening=opening, outcome=Outcome(outcome), gold=gold))


def first_words(turns: Sequence[Turn]) -> str:
    """Return the user's first text that is not only a tool's setup, else the first text, or "" without a text."""
    said = [turn.text for turn in turns if turn.role == USER]
    asked = (text for text in said if not _SETUP.match(text) or split_tool_texts(text)[0].strip())
    return next(asked, next(iter(said), ""))


def opening_of(turns: Sequence[Turn], history: Sequence[tuple[str, str]] = ()) -> str:
    """Return the text before the agent's first turn: the policy, the history and the user's first message."""
    policy = [turn.text for turn in turns if turn.role == SYSTEM]
    words = [_named(turn) for turn in turns if turn.role == USER]
    parts = [(POLICY, policy), *((title, [text]) for title, text in history), (FIRST_WORDS, words)]
    return "\n\n".join(f"{title}\n" + "\n\n".join(texts) for title, texts in parts if any(texts))


def steps_of(turns: Iterable[Turn], intake: Intake) -> Iterator[Step]:
    """Yield one step per call and one per text to the user; assign each result to the call whose id it contains.

    Assign a result with an unknown id to the last turn's first unanswered call, and a user's text to the last step.
    """
    drafts = _Drafts(intake)
    for turn in turns:
        drafts.add(turn)
    for draft in drafts.made:
        seen, pictures = "\n".join(draft.seen), tuple(draft.pictures)
        yield Step(draft.thought, draft.action, seen, draft.extra, draft.speaker, pictures)


@dataclass(slots=True, eq=False)
class _Draft:
    place: int
    group: int
    call_id: str | None
    thought: str
    action: str
    speaker: str
    extra: Mapping[str, Any]
    answered: bool = False
    seen: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


@dataclass(slots=True)
class _Drafts:
    intake: Intake
    made: list[_Draft] = field(default_factory=list)
    by_id: dict[str, list[_Draft]] = field(default_factory=dict)
    group: int = 0

    def add(self, turn: Turn) -> None:
        if turn.role == AGENT:
            self._act(turn)
        elif turn.role == TOOL:
            self._answer(turn)
        elif self.made:
            self._show(self.made[-1], turn, _named(turn), f"{turn.role} text")
        else:
            self.intake.read_as.append((turn.number, f"{turn.role} text", 0))

    def _act(self, turn: Turn) -> None:
        self.group += 1
        beside = join_paragraphs(turn.thought, turn.text) if turn.calls else turn.thought.strip()
        for call in turn.calls:
            draft = self._begin(turn, call.action, beside, call.id)
            draft.extra, beside = {**turn.step_extra, **call.extra}, ""
            if call.id:
                self.by_id.setdefault(call.id, []).append(draft)
            self.intake.read_as.append((turn.number, f"call {call.name}", draft.place))
        if not turn.calls:
            silent = not turn.text.strip() and bool(beside)
            draft = self._begin(turn, "" if silent else respond_action(turn.text), beside)
            draft.answered = True
            self.intake.read_as.append((turn.number, "thought" if silent else "answer", draft.place))

    def _begin(self, turn: Turn, action: str, thought: str, call_id: str | None = None) -> _Draft:
        draft = _Draft(len(self.made) + 1, self.group, call_id, thought, action, turn.speaker, turn.step_extra)
        draft.pictures += turn.pictures if not self.made or self.made[-1].group != self.group else ()
        self.made.append(draft)
        return draft

    def _answer(self, turn: Turn) -> None:
        draft = self._asked_by(turn.answers)
        if draft is None:
            self.intake.leave_out("result whose call is not in the log")
            return
        draft.extra = {**draft.extra, **turn.step_extra}
        if turn.step_extra and not turn.text and not turn.pictures:
            self.intake.read_as.append((turn.number, "decision", draft.place))
            return
        draft.answered = True
        self._show(draft, turn, turn.text, "result")

    def _asked_by(self, call_id: str) -> _Draft | None:
        """Return the call for a result: the unanswered call with this id in the latest turn, if possible."""
        named = self.by_id.get(call_id, []) if call_id else []
        if waiting := [draft for draft in named if not draft.answered]:
            return next(draft for draft in waiting if draft.group == waiting[-1].group)
        if named:
            return named[-1]
        last = [*takewhile(lambda draft: draft.group == self.group, reversed(self.made))][::-1]
        if unanswered := next((draft for draft in last if not draft.answered), None):
            return unanswered
        return last[-1] if last and (not call_id or not last[-1].call_id) else None

    def _show(self, draft: _Draft, turn: Turn, text: str, what: str) -> None:
        draft.seen.append(text)
        draft.pictures += turn.pictures
        self.intake.read_as.append((turn.number, what, draft.place))


def _named(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
