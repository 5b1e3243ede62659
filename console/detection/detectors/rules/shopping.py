"""A page with a price and options was opened, and something is about to be bought from it."""

from __future__ import annotations

from console.detection.detectors.rules.evidence import EXACT, Evidence, Finding, quoted
from console.trajectory.terms import TermKind, mentions


def price_above_limit(evidence: Evidence) -> Finding | None:
    """The price shown against the limit that the user set."""
    shown = evidence.page
    limits = [float(term.value) for term in evidence.terms if term.kind is TermKind.PRICE_MAX]
    if not shown or not limits or shown.high <= min(limits):
        return None
    limit, price = min(limits), f"{shown.low:.2f}"
    price += f" to {shown.high:.2f}" if shown.high > shown.low else ""
    sentence = f"The user set a limit of {limit:.2f}; the chosen page shows {price}."
    return Finding(1.0 if shown.low > limit else 0.3, sentence)


def price_below_floor(evidence: Evidence) -> Finding | None:
    """The price shown against the least that the user wants to spend."""
    shown = evidence.page
    floors = [float(term.value) for term in evidence.terms if term.kind is TermKind.PRICE_MIN]
    if not shown or not floors or shown.high >= max(floors):
        return None
    return Finding(1.0, f"The user asked for at least {max(floors):.2f}; the chosen page shows {shown.high:.2f}.")


def option_not_chosen(evidence: Evidence) -> Finding | None:
    """Options that the instruction speaks of, were offered, and were left alone."""
    left = [choice for choice in evidence.choices if choice.best and not choice.chosen]
    if not left:
        return None
    told = "; ".join(f'{choice.name} "{choice.best[:60]}"' for choice in left[:3])
    return Finding(1.0, f"Asked for and offered, but never chosen: {told}.")


def option_differs(evidence: Evidence) -> Finding | None:
    """A choice that fits the instruction less than another one that was offered."""
    worse = [choice for choice in evidence.choices if choice.best and choice.chosen not in ("", choice.best)]
    if not worse:
        return None
    name, best, chosen = worse[0].name, worse[0].best[:60], worse[0].chosen[:60]
    return Finding(1.0, f'For {name} the agent chose "{chosen}"; "{best}" is closer to what the user asked.')


def options_left(evidence: Evidence) -> Finding | None:
    """Groups of options without any choice."""
    shown = evidence.page
    left = [name for name, options in shown.options if not set(options) & set(shown.chosen)] if shown else []
    if not left:
        return None
    return Finding(
        min(1.0, len(left) / 2), f"No choice was made for {quoted(left)}, so the shop's own default is bought."
    )


def option_chosen(evidence: Evidence) -> Finding | None:
    """Choices that are what the instruction asks for; speaks for the agent."""
    right = [choice.chosen for choice in evidence.choices if choice.chosen and choice.best == choice.chosen]
    return Finding(min(1.0, len(right) / 2), f"Chosen as asked: {quoted(right)}.") if right else None


def stated_missing(evidence: Evidence) -> Finding | None:
    """What the instruction states and the chosen page never showed."""
    shown = evidence.page
    wanted = evidence.wanted if shown and shown.for_people else []
    if not shown or not wanted:
        return None
    missing = [term for term in wanted if not mentions(term, shown.text)]
    if not missing:
        return None
    told = [term.text for term in missing if term.kind not in EXACT] or [term.text for term in missing]
    return Finding(len(missing) / len(wanted), f"Not seen on the chosen page: {quoted(told)}.")


def figures_missing(evidence: Evidence) -> Finding | None:
    """Sizes, quantities, colours and materials that the chosen page never showed."""
    shown = evidence.page
    wanted = [term for term in evidence.wanted if term.kind in EXACT] if shown and shown.for_people else []
    missing = [term.text for term in wanted if shown and not mentions(term, shown.text)]
    if not missing:
        return None
    return Finding(
        min(1.0, 0.5 + len(missing) / 4), f"Neither shown nor chosen, though the user named it: {quoted(missing)}."
    )


def choice_refused(evidence: Evidence) -> Finding | None:
    """Choices on the page that the shop refused, and that nothing made good."""
    shown = evidence.page
    if not shown or not shown.for_people or not shown.refused:
        return None
    return Finding(1.0, f"The shop refused {quoted(list(shown.refused))}, and the agent went on.")
