"""Charts: a table in, a Plotly figure out. A new chart is one file here and one line in CHARTS."""

from collections.abc import Callable

import pandas as pd
import plotly.graph_objects as go

from console.analysis.charts.agreement import agreement
from console.analysis.charts.budget_burn_down import budget_burn_down
from console.analysis.charts.confusion_matrix import confusion_matrix
from console.analysis.charts.contrast_forest import contrast_forest
from console.analysis.charts.feedback_length import feedback_length
from console.analysis.charts.flag_overlap import flag_overlap
from console.analysis.charts.model_mixing import model_mixing
from console.analysis.charts.override_by_score import override_by_score
from console.analysis.charts.oversight_curve import oversight_curve
from console.analysis.charts.pr_curve import pr_curve
from console.analysis.charts.published_overlay import published_overlay
from console.analysis.charts.reliability import reliability
from console.analysis.charts.roc_curve import roc_curve
from console.analysis.charts.score_histogram import score_histogram
from console.analysis.charts.study_success import study_success
from console.analysis.charts.success import success
from console.analysis.charts.threshold_sweep import threshold_sweep
from console.analysis.charts.time_over_session import time_over_session
from console.analysis.charts.trial_success import trial_success
from console.analysis.charts.user_study import user_study

Chart = Callable[[pd.DataFrame], go.Figure]

CHARTS: dict[str, Chart] = {
    "success": success,
    "trial-success": trial_success,
    "pr-curve": pr_curve,
    "roc-curve": roc_curve,
    "reliability": reliability,
    "score-histogram": score_histogram,
    "threshold-sweep": threshold_sweep,
    "confusion-matrix": confusion_matrix,
    "flag-overlap": flag_overlap,
    "model-mixing": model_mixing,
    "published-overlay": published_overlay,
    "oversight-curve": oversight_curve,
    "budget-burn-down": budget_burn_down,
    "study-success": study_success,
    "time-over-session": time_over_session,
    "override-by-score": override_by_score,
    "agreement": agreement,
    "feedback-length": feedback_length,
    "contrast-forest": contrast_forest,
    "user-study": user_study,
}
