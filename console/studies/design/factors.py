"""The factors that a study can vary. To add a factor, add one line to FACTORS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from console.actors.move import PROTOCOLS
from console.detection.detectors import Detector

_SEEN = ("shown", "hidden")


@dataclass(frozen=True, slots=True)
class Factor:
    """A difference between conditions; `levels` is None if any string is a level, `view` the page setting if any."""

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
    "rationale": Factor("rationale", "Detector's reasons to the agent", ("withheld", "sent"), "withheld"),
    "protocol": Factor("protocol", "Flagged actions", PROTOCOLS, PROTOCOLS[0]),
}


def view(levels: Mapping[str, str]) -> dict[str, str]:
    """Return the page settings of a condition, keyed by their names under "view" in `run.options`."""
    return {factor.view: levels.get(name, factor.default) for name, factor in FACTORS.items() if factor.view}


def is_unattended(levels: Mapping[str, str]) -> bool:
    """Return whether the condition has no reviewer, so that its agents repeat the tasks without reviews."""
    return levels.get("feedback") == "none"


_STUDY_THRESHOLDS = {"rules": 0.2}


def study_threshold(judge: Detector) -> float:
    """Return the score above which a detector flags in studies.

    At its own threshold, `rules` flags hardly any correct actions. A study needs flags of both kinds: without incorrect
    flags, participants learn that a flag is always correct. In studies, `rules` therefore flags from a lower score.
    """
    return _STUDY_THRESHOLDS.get(judge.name, judge.threshold)
