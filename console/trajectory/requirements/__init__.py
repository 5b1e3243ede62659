"""The requirement table: the requirements of a task, their statuses at a checkpoint, and their verified quotes."""

from console.trajectory.requirements.lines import (
    Line,
    LineKey,
    Quote,
    QuotePlace,
    Requirement,
    RequirementKind,
    RequirementTable,
    Standing,
    find_quote,
    text_at,
    verify,
)

__all__ = [
    "Line",
    "LineKey",
    "Quote",
    "QuotePlace",
    "Requirement",
    "RequirementKind",
    "RequirementTable",
    "Standing",
    "find_quote",
    "text_at",
    "verify",
]
