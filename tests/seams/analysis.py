"""An analysis of one row, which is the same for every study."""

import pandas as pd

from console.studies.analysis.parts import Analysis, ResultPart


def seam_table(frames):
    """One row, whatever there is."""
    return pd.DataFrame({"name": ["seam"], "value": [4711]})


ENTRY = Analysis(
    tab="Seam",
    title="What the seam shows",
    lead="One row.",
    source="decisions.csv",
    tables={"seam-table": seam_table},
    parts=(
        ResultPart(
            table="seam-table",
            title="The one row",
            sentence=lambda table: "The seam holds.",
            chart="seam-chart",
            apart=(),
        ),
    ),
)
