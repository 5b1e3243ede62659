"""Feedback to the agent: its length, its specificity, and its association with success in the next trial."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from console.analysis.metrics.bootstrap import Interval
from console.analysis.statistics.estimates import (
    Estimate,
    Floats,
    estimate_by_t,
    require_columns,
    suppress_warnings,
    undefined_estimate,
)
from console.analysis.statistics.mixed_models import fit_logits

_WORD = re.compile(r"\w+(?:['’.,/-]\w+)*")
_END = re.compile(r"[.!?;]+(?=\s|$)|\n+")
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|half|double)\b")
_PRICE = re.compile(r"[$€£¥]|\b(?:price[ds]?|cost[s]?|dollars?|euros?|pounds?|cents?|budget|cheaper|cheapest)\b")
_ATTRIBUTE = re.compile(
    r"\b(?:colou?rs?|sizes?|materials?|brands?|widths?|heights?|lengths?|weights?|flavou?rs?|scents?|styles?|shapes?"
    r"|patterns?|fabrics?|capacity|quantity|pack|model|year|date|name|location|room|"
    r"black|white|red|blue|green|yellow|orange|purple|pink|brown|gr[ae]y|beige|gold|silver|"
    r"small|medium|large|cotton|leather|wood(?:en)?|steel|plastic|wool|glass|metal)\b"
)
_QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|'[^']+'(?!\w)|\[[^\]]+\]")
_NAMES = (_NUMBER, _PRICE, _ATTRIBUTE, _QUOTED)
_FEWEST, _ALMOST = 4, 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Association:
    """A property of feedback and its association with success in the next trial.

    `correlation` is point-biserial. `log_odds` is the change in the log odds of success per unit of the property. Both
    intervals treat the texts of one participant as one cluster; the interval of the correlation is a jackknife over
    participants on Fisher's scale.
    """

    texts: int
    participants: int
    mean: float | None
    correlation: Estimate
    log_odds: Estimate


def count_words(text: str) -> int:
    """Count the words of a text; "24.99" and "don't" are one word each."""
    return len(_WORD.findall(text))


def compute_specificity(text: str, named: Collection[str] = ()) -> float | None:
    """Compute the share of sentences with a number, price, attribute or option; return None if the text is empty.

    A sentence ends at the end of a line or at . ! ? ; before a space. A sentence is specific if it contains one of
    these: a digit or number word (except "one"); a currency sign or price word; an attribute of a product (such as
    colour or size) or a common value of an attribute; quoted or bracketed text; or one of `named`, the options of the
    task. This measure is specific to this console.
    """
    sentences = [part.lower() for part in _END.split(text) if count_words(part)]
    if not sentences:
        return None
    options = [re.compile(rf"(?<!\w){re.escape(name.lower())}(?!\w)") for name in named if name.strip()]
    specific = [any(name.search(part) for name in (*_NAMES, *options)) for part in sentences]
    return sum(specific) / len(specific)


def compare_feedback_with_success(frame: pd.DataFrame) -> dict[str, Association]:
    """Estimate the association of feedback length and specificity with success in the next trial.

    The unit of length is a doubling of the word count. Rows without a text or a next trial are omitted. A column
    `named` may hold the options of each task.
    """
    require_columns(frame, "participant", "feedback_text", "next_trial_outcome")
    texts = frame["feedback_text"].fillna("").astype(str)
    rows = frame[(texts.map(count_words) > 0) & frame["next_trial_outcome"].notna()]
    named = rows["named"] if "named" in rows.columns else pd.Series([()] * len(rows), index=rows.index, dtype=object)
    lengths = [math.log2(count_words(text)) for text in rows["feedback_text"]]
    shares = [compute_specificity(text, names) or 0.0 for text, names in zip(rows["feedback_text"], named, strict=True)]
    solved: Floats = (rows["next_trial_outcome"] == "succeeded").to_numpy().astype(np.float64)
    who = rows["participant"].to_numpy(dtype=str)
    return {
        name: _association(np.array(values, dtype=np.float64), solved, who)
        for name, values in (("length", lengths), ("specificity", shares))
    }


def _association(values: Floats, solved: Floats, who: np.ndarray) -> Association:
    people = len(np.unique(who))
    average = float(values.mean()) if values.size else None
    if values.size < _FEWEST or np.ptp(values) == 0 or np.ptp(solved) == 0:
        none = undefined_estimate("Fewer than four texts, or the texts or their outcomes do not vary.", values.size)
        return Association(values.size, people, average, none, none)
    correlation = _correlation(values, solved, who)
    return Association(values.size, people, average, correlation, _slope(values, solved, who, people))


def _correlation(values: Floats, solved: Floats, who: np.ndarray) -> Estimate:
    names = np.unique(who)
    whole = float(np.corrcoef(values, solved)[0, 1])
    if len(names) < _FEWEST:
        note = f"With fewer than {_FEWEST} participants the interval is undefined, because their texts are related."
        return Estimate(whole, n=len(names), note=note)
    with suppress_warnings():
        left = [np.corrcoef(values[who != name], solved[who != name])[0, 1] for name in names]
        scores = np.arctanh(np.clip([whole, *left], -_ALMOST, _ALMOST))
    error = float(((scores[1:] - scores[1:].mean()) ** 2).sum() * (len(names) - 1) / len(names)) ** 0.5
    if not error > 0:  # also if a correlation without one participant is undefined
        note = "Without one of the participants the texts do not vary, so the interval is undefined."
        return Estimate(whole, n=len(names), note=note)
    found = estimate_by_t(float(scores[0]), error, len(names) - 1, len(names))
    low, high = (float(np.tanh(bound)) for bound in found.bounds if bound is not None)
    return Estimate(whole, Interval(low, high), found.p_value, len(names), found.df)


def _slope(values: Floats, solved: Floats, who: np.ndarray, people: int) -> Estimate:
    if people < _FEWEST:
        return undefined_estimate(
            f"With fewer than {_FEWEST} participants the slope is undefined. Use the correlation.", people
        )
    found = fit_logits(solved, np.column_stack([np.ones(values.size), values - values.mean()]), who)
    if found.note:
        return undefined_estimate(found.note, people)
    return estimate_by_t(float(found.values[1]), float(found.errors[1]), people - 1, people)
