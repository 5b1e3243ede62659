"""Preference pairs of reviewed actions, in the conversational layouts of TRL's DPO and KTO trainers.

The prompt is the conversation before the action. After an edit, the edited action is preferred. After a rejection, the
critical action of the task's next trial is preferred, unless that action was refused too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from console.runs.export.layouts.parts.conversation import Chat, assistant, in_words
from console.runs.export.layouts.parts.layout import GivenAnswer, Layout, Reviewed, RunRecords, write_lines
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoint_at
from storage.tables import DecisionKind


def write_pairs(source: RunRecords, stream: BinaryIO) -> int:
    """Write one `{"prompt", "chosen", "rejected"}` object per line; return the number of pairs."""
    return write_lines((pair for one in source.reviewed() for pair in _pairs(source, one)), stream)


def write_labelled(source: RunRecords, stream: BinaryIO) -> int:
    """Write one `{"prompt", "completion", "label"}` object per line; return the number of completions."""
    return write_lines((row for one in source.reviewed() for row in _labelled(one)), stream)


def _pairs(source: RunRecords, one: Reviewed) -> Iterator[dict[str, Any]]:
    for answer, checkpoint in _judged(one):
        chosen = _preferred(source, one, answer)
        if chosen and chosen != checkpoint.action:
            yield {
                "prompt": in_words(checkpoint),
                "chosen": [assistant("", chosen)],
                "rejected": [assistant("", checkpoint.action)],
            }


def _preferred(source: RunRecords, one: Reviewed, answer: GivenAnswer) -> str | None:
    if answer.decision == DecisionKind.EDIT:
        return answer.edited_action
    if answer.decision != DecisionKind.REJECT:
        return None
    again = source.next_trial(one.id)
    return again.critical_action if again else None


def _labelled(one: Reviewed) -> Iterator[dict[str, Any]]:
    for answer, checkpoint in _judged(one):
        prompt = in_words(checkpoint)
        if answer.decision in _LABELS:
            yield _completion(prompt, checkpoint.action, _LABELS[answer.decision])
        if answer.decision == DecisionKind.EDIT and answer.edited_action:
            yield _completion(prompt, answer.edited_action, True)


_LABELS: dict[str, bool] = {DecisionKind.APPROVE: True, DecisionKind.REJECT: False, DecisionKind.EDIT: False}


def _completion(prompt: list[Chat], action: str, label: bool) -> dict[str, Any]:
    return {"prompt": prompt, "completion": [assistant("", action)], "label": label}


def _judged(one: Reviewed) -> Iterator[tuple[GivenAnswer, Checkpoint]]:
    """Yield the decisions on critical actions; skip halted trials and reviews of a trial's end."""
    for answer in one.answers:
        checkpoint = checkpoint_at(one.record, answer.step, answer.kind)
        if answer.kind is CheckpointKind.ACTION and checkpoint.action:
            yield answer, checkpoint


DPO = Layout(
    "Preference pairs for TRL's DPO trainer", "pairs", "jsonl", "application/jsonl", write_pairs, ("simulated",)
)
KTO = Layout(
    "Labelled actions for TRL's KTO trainer", "actions", "jsonl", "application/jsonl", write_labelled, ("simulated",)
)
