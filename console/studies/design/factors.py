"""What a study can vary. A new factor is one line in FACTORS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SEEN = ("shown", "hidden")


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that differs between conditions.

    `levels` is None where any word is a level; `view` is the page setting that it decides, None where it decides
    something else than the page.
    """

    name: str
    title: str
    levels: tuple[str, ...] | None
    default: str
    view: str | None = None


FACTORS: dict[str, Factor] = {
    "detector": Factor("detector", "Detector that flags and ranks", None, "rules"),
    "feedback": Factor("feedback", "Feedback to the agent", ("nl", "binary", "none"), "nl"),
    "score": Factor("score", "Detector's score", _SEEN, "shown", "score"),
    "explanation": Factor("explanation", "Detector's explanation", _SEEN, "shown", "explanation"),
    "brief": Factor("brief", "Brief with the target", ("none", "target"), "none", "brief"),
    "highlights": Factor("highlights", "Highlights in the trajectory", _SEEN, "shown", "highlights"),
    "detector_name": Factor("detector_name", "Detector's name", _SEEN, "shown", "detector"),
    "earlier": Factor("earlier", "Earlier trials of the task", _SEEN, "shown", "earlier"),
}


def view(levels: Mapping[str, str]) -> dict[str, str]:
    """The page settings of a condition, by the names that `run.options` keeps under "view"."""
    return {factor.view: levels.get(name, factor.default) for name, factor in FACTORS.items() if factor.view}


def unattended(levels: Mapping[str, str]) -> bool:
    """Whether nobody reviews in the condition: its agents try again alone."""
    return levels.get("feedback") == "none"
