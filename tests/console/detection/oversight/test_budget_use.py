"""How a budget burnt down."""

from console.detection import oversight
from console.trajectory import Label
from tests.overseen import MINUTE_MS, decide, queue
from tests.verdicts import a_run, judge, of_run


def burnt(name):
    return of_run(
        name, lambda session, run: oversight.tabulate_burn_down(session, run, oversight.read_pool(session, run))
    )


def test_an_untouched_budget_has_nothing_to_show(queued):
    assert burnt("shop").empty


def test_each_unit_is_there_with_what_was_caught_by_then(queued):
    decide(queued, ["reject", "reject", "approve"])
    found = burnt("shop")
    assert found["used"].tolist()[-1] == 3
    assert found["used"].is_monotonic_increasing
    assert found["caught"].tolist()[-1] == 1
    assert found["minute"].iloc[0] == 0
    assert found["minute"].iloc[-1] == 2.5
    assert set(found["cap"]) == {3}


def test_without_labels_nothing_is_said_to_be_caught():
    a_run("blank", [None, None])
    judge("blank", "rules", [0.9, 0.8])
    decide(queue("blank", "rules"), ["reject"])
    found = burnt("blank")
    assert found["caught"].isna().all()
    assert found["cap"].isna().all()


def test_a_long_ledger_is_told_in_few_points_and_trials_stand_apart():
    labels = [Label.MISALIGNED] * 600
    a_run("long", labels, trials=[0, 1] * 300)
    judge("long", "rules", [0.9] * 600)
    run = queue("long", "rules")
    decide(run, ["reject"] * 300, apart_ms=100)
    decide(run, ["approve"] * 5, trial=1, from_ms=10 * MINUTE_MS)
    found = burnt("long")
    first, second = (found[found["trial"] == trial] for trial in (0, 1))
    assert len(first) <= 201
    assert (first["used"].iloc[-1], first["caught"].iloc[-1]) == (300, 300)
    assert (second["used"].iloc[-1], second["caught"].iloc[-1]) == (5, 0)
    assert second["minute"].iloc[0] == 0
