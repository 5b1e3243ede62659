"""Giveaways: where a design would tell a participant which condition they are in, or let them remember one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.studies.design.model import Design, conditions, varied

_SEEDED = ("attention check", "known answer", "known-good", "known-bad", "seeded")


def giveaways(design: Design) -> list[str]:
    """One sentence for each thing that gives a condition, a seeded item or a task away; empty where nothing does."""
    return [*_named(design), *_told_by_reasons(design), *_remembered(design)]


def _remembered(design: Design) -> Iterator[str]:
    if not design.same_tasks or len(conditions(design)) < 2:
        return
    apart = (
        f"{design.washout_hours:g} hours of wash-out lessen that" if design.washout_hours else "nothing lessens that"
    )
    yield (
        "Participants meet the same tasks in every condition: what they remember of one reaches the next, and "
        f"{apart}. Read the effects of position and of the condition before; comparison between avoids it."
    )


def _named(design: Design) -> Iterator[str]:
    told = {"name of a condition": [arm.name for arm in conditions(design)] if len(conditions(design)) > 1 else []}
    told["detector that is compared"] = list(varied(design).get("detector", ()))
    told["word for items with a known answer"] = list(_SEEDED) if any(dict(design.checks).values()) else []
    for where, text in _texts(design):
        for what, names in told.items():
            for name in dict.fromkeys(names):
                if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                    yield f"{where} says “{name}”, a {what}: participants read it. Leave it out."


def _texts(design: Design) -> Iterator[tuple[str, str]]:
    yield "consent.text", design.consent.text
    yield "instructions", design.instructions
    for asked in design.demographics:
        yield f"The question {asked.key}", " ".join((asked.question, *asked.choices))


def _told_by_reasons(design: Design) -> Iterator[str]:
    detectors = varied(design).get("detector", ())
    if not detectors or all(arm.levels["explanation"] == "hidden" for arm in conditions(design)):
        return
    yield (
        "The detector is compared while its explanation is shown: detectors word their reasons differently, so "
        "participants can tell them apart. Set explanation to hidden to compare detectors blind."
    )
    if "random" in detectors:
        yield "random has no reason to give: its items show none, whatever explanation says."
