"""Names of checkpoints."""

from console.studies.results.adjudication import checkpoint_key


def test_trial_0_has_the_short_name():
    assert checkpoint_key("kettle", 3, "action") == "kettle/3/action"
    assert checkpoint_key("kettle", 3, "action", 2) == "kettle/3/action/trial 2"
