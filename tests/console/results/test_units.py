"""Names of checkpoints."""

from console.results.units import unit_of


def test_trial_0_has_the_short_name():
    assert unit_of("kettle", 3, "action") == "kettle/3/action"
    assert unit_of("kettle", 3, "action", 2) == "kettle/3/action/trial 2"
