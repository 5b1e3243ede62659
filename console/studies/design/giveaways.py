"""Giveaways: features of a design from which a participant can guess or later recognise a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.studies.design.model import Design, conditions, varied_factors

_SEEDED = ("attention check", "known answer", "known-good", "known-bad", "seeded")


def find_giveaways(design: Design) -> list[str]:
    """Return one sentence per feature of the design that reveals a condition, a seeded item or a task."""
    return [*_named(design), *_told_by_reasons(design), *_remembered(design), *_find_one_sided(design)]


def _find_one_sided(design: Design) -> Iterator[str]:
    """Yield a warning if all seeded items are flagged or none is; checks of the other kind then have no effect."""
    checks = design.checks
    flagged, unflagged = checks.known_good + checks.known_bad, checks.unflagged_good + checks.unflagged_bad
    if unflagged and not flagged + checks.attention:
        yield (
            "checks: all seeded items are unflagged, so a flag would reveal the study's own items. Unflagged seeded "
            "items are not shown. Set known_good or known_bad."
        )
    elif checks.audited and flagged + checks.attention and not unflagged:
        yield (
            "checks: all seeded items are flagged, so unflagged items would all be the study's own. The audited items "
            "are not shown. Set unflagged_good or unflagged_bad."
        )


def _remembered(design: Design) -> Iterator[str]:
    if not design.same_tasks or len(conditions(design)) < 2:
        return
    apart = (
        f"{design.washout_hours:g} hours of wash-out reduce that"
        if design.washout_hours
        else "the design has no wash-out"
    )
    yield (
        "Participants see the same tasks in every condition, so memory of one condition affects the next, and "
        f"{apart}. Check the effects of order, or use `comparison: between`."
    )


def _named(design: Design) -> Iterator[str]:
    told = {"name of a condition": [arm.name for arm in conditions(design)] if len(conditions(design)) > 1 else []}
    told["detector that is compared"] = list(varied_factors(design).get("detector", ()))
    told["word for items with a known answer"] = list(_SEEDED) if any(dict(design.checks).values()) else []
    for where, text in _texts(design):
        for what, names in told.items():
            for name in dict.fromkeys(names):
                if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                    yield f"{where} contains “{name}”, a {what}. Participants read this text. Leave out the word."


def _texts(design: Design) -> Iterator[tuple[str, str]]:
    yield "consent.text", design.consent.text
    yield "instructions", design.instructions
    for asked in design.demographics:
        yield f"The question {asked.key}", " ".join((asked.question, *asked.choices))


def _told_by_reasons(design: Design) -> Iterator[str]:
    detectors = varied_factors(design).get("detector", ())
    if not detectors or all(arm.levels["explanation"] == "hidden" for arm in conditions(design)):
        return
    yield (
        "Detectors are compared with their explanations shown. Detectors word their reasons differently, so "
        "participants can recognise them. Set `explanation: hidden` for a blind comparison."
    )
    for name in sorted({"random", "full-validation"} & set(detectors)):
        yield f"`{name}` gives no reasons, so its items show no reasons, even with `explanation: shown`."
