"""Charts: functions from a table to a Plotly figure.

A new chart needs one function or file here and one line in BUILT_IN. Other packages add charts as plug-ins.
"""

from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts import detectors, runs, studies
from console.settings import Registry

Chart = Callable[[pd.DataFrame], go.Figure]

BUILT_IN: dict[str, Chart] = {
    "success": runs.success,
    "trial-success": runs.trial_success,
    "pr-curve": detectors.pr_curve,
    "roc-curve": detectors.roc_curve,
    "reliability": detectors.reliability,
    "score-histogram": detectors.score_histogram,
    "threshold-sweep": detectors.threshold_sweep,
    "confusion-matrix": detectors.confusion_matrix,
    "flag-overlap": detectors.flag_overlap,
    "model-mixing": detectors.model_mixing,
    "published-overlay": detectors.published_overlay,
    "oversight-curve": runs.oversight_curve,
    "budget-burn-down": runs.budget_burn_down,
    "protocols": runs.protocols,
    "study-success": studies.study_success,
    "time-over-session": studies.time_over_session,
    "override-by-score": studies.override_by_score,
    "agreement": studies.agreement,
    "feedback-length": studies.feedback_length,
    "contrast-forest": studies.contrast_forest,
    "user-study": studies.user_study,
}
CHARTS: Registry[Chart] = Registry("chart", "inferact.charts", None, BUILT_IN)
