import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from console.analysis.statistics import session_effects


def test_with_equal_numbers_it_is_the_random_slope_model():
    draw = np.random.default_rng(4)
    rows = [
        (f"P{person}", place, own + (0.5 + tilt) * place + draw.normal(0, 0.5))
        for person, (own, tilt) in enumerate(draw.normal(0, [2, 0.3], (12, 2)))
        for place in range(8)
    ]
    frame = pd.DataFrame(rows, columns=["participant", "place", "value"])
    theirs = smf.mixedlm("value ~ place", frame, groups=frame["participant"], re_formula="~place").fit()
    found = session_effects.estimate_trend(frame, "place", "value")
    assert found.value == pytest.approx(theirs.fe_params["place"], abs=1e-3)
    assert found.interval.high - found.value == pytest.approx(2.20099 * theirs.bse_fe["place"], rel=0.02)


def test_a_participant_at_one_place_has_no_slope():
    frame = pd.DataFrame({"participant": ["a", "a", "b"], "place": [1, 2, 1], "value": [1, 3, 5]})
    found = session_effects.compute_slopes(frame, "place", "value")
    assert found.to_dict() == {"a": 2.0}
