"""The payment list: who has finished or was screened out, by which code, and what bonus the design's rule gives.

It is no table of results: those are published, and codes are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd
from sqlmodel import Session, col, select

from console.runs import iso
from console.studies.results.decisions import decisions
from console.studies.results.exclusions import exclusions
from console.studies.sessions.arrivals import keyed
from console.studies.sessions.lifecycle import design_of
from console.studies.sessions.stages import ParticipantStage
from storage import tables
from storage.tables import ParticipantKind

COLUMNS = (
    "participant",
    "outside_id",
    "state",
    "completion_code",
    "joined_at",
    "finished_at",
    "decisions",
    "right",
    "excluded_by",
    "bonus",
    "currency",
)
_NOBODY = (ParticipantStage.FREE, ParticipantStage.DECLINED, ParticipantStage.WITHDRAWN)
_STATES = {ParticipantStage.FINISHED: "finished", ParticipantStage.SCREENED_OUT: "screened out"}


def payments(session: Session, study: tables.Study, known_ids: Iterable[str] = ()) -> pd.DataFrame:
    """One row for each person who has come and not left; columns: COLUMNS.

    `outside_id` is the pseudonym of the id on the platform, and that id itself for those in `known_ids`: whoever has
    the platform's own list can tell whom to pay, the console alone cannot. `right` counts right decisions on the
    study's own items.
    """
    bonus, person = design_of(study).recruiting.bonus, tables.Participant
    named = {keyed(study, one): one for one in known_ids}
    made, rules = decisions(session, study.id or 0), exclusions(session, study.id or 0)
    own, out = made[made["purpose"] == ""], rules[rules["excluded"].astype(bool)]
    mine = (person.study_id == study.id, person.kind == ParticipantKind.HUMAN, col(person.stage).not_in(_NOBODY))
    rows = []
    for who in session.exec(select(person).where(*mine).order_by(col(person.number), col(person.id))):
        theirs = own[own["participant"] == who.code]
        right = int(theirs["correct"].fillna(False).sum())
        excluded_by = sorted(out[out["participant"] == who.code]["rule"].tolist())
        finished = who.stage == ParticipantStage.FINISHED
        paid = str(bonus.of(right if finished else 0, bool(excluded_by))) if bonus else ""
        state = _STATES.get(ParticipantStage(who.stage), "under way")
        outside = named.get(who.outside_id or "", who.outside_id or "")
        times = (iso(who.joined_ms) or "", iso(who.finished_ms) or "")
        counted = (len(theirs), right, " ".join(excluded_by), paid, bonus.currency if bonus else "")
        rows.append((who.code, outside, state, who.completion_code or "", *times, *counted))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def ids_in(text: str) -> list[str]:
    """Whatever could be an id in a list or a CSV of a platform."""
    return list(dict.fromkeys(re.findall(r"[A-Za-z0-9]{2,64}", text)))
