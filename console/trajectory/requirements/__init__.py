"""The requirement table: what a task asks for, how each requirement stands at a checkpoint, and verified quotes."""

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
