"""The history of a study: what happened to it, and what was changed in its runs meanwhile."""

from console import runs
from console.database import now_ms, reading, writing
from console.studies.results import history
from console.studies.sessions import joining, lifecycle, simulated, withdrawal
from storage import tables


def of(name):
    with reading() as session:
        return history(session, lifecycle.get(session, name).id)


def test_it_tells_openings_pauses_withdrawals_and_changed_settings(study):
    made = study(participants={"human": 1, "oracle": 1}, factors={}, tasks=1, trials=1)
    withdrawal.withdraw(joining.join(made.join_code).id)
    simulated.simulate("pilot")
    with writing() as session:
        run = session.get_one(tables.Run, 1)
        runs.set_budget(session, run, "7", now_ms())
    lifecycle.pause("pilot")
    found = of("pilot")
    assert found["event"].tolist() == ["created", "opened", "withdrawal", "budget set", "paused"]
    changed = found[found["event"] == "budget set"].iloc[0]
    assert (changed["before"], changed["after"], changed["participant"]) == ("2", "7", "P02")


def test_another_studys_history_is_its_own(study):
    study()
    study("other", opened=False)
    assert of("other")["event"].tolist() == ["created"]
