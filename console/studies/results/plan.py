"""The plan of a study as a tidy table, so that the tables alone tell which contrasts were stated beforehand.

It stands alone as every table of results does.
"""

from __future__ import annotations

import pandas as pd
from sqlmodel import Session

from console.studies.design import Design
from console.studies.design.contrasts import plan_rows
from console.studies.results.data_dictionary import fields, typed
from storage import tables


def plan(session: Session, study_id: int) -> pd.DataFrame:
    """One row for each planned contrast and each condition that counts in it."""
    study = session.get_one(tables.Study, study_id)
    columns = fields("plan", ())
    rows = [{"study": study.name, **row} for row in plan_rows(Design.model_validate_json(study.design))]
    return typed(columns, pd.DataFrame(rows, columns=[field.name for field in columns], dtype=object))
