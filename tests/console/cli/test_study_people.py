"""Links that open one place each, and the payment list, at the command line."""

import json

import pandas as pd
import pytest

from console.cli import run_command
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.studies.design import Design
from console.studies.results.participants import bonuses
from console.studies.sessions import joining, lifecycle
from console.studies.sessions.joining import Arrival
from storage.tables import Participant

PID = "5f1b2c3d4e5f6a7b8c9d0e1f"


@pytest.fixture
def pilot():
    """An open study whose people come from Prolific."""
    fields = {"name": "pilot", "source": {"environment": "webshop"}, "tasks": 1, "trials": 1}
    recruiting = {"platform": "prolific", "bonus": {"per_right": "0.1"}}
    made = lifecycle.create(Design(**fields, recruiting=recruiting), now_ms())
    return lifecycle.open_study(made.name)


def test_links_are_printed_and_each_opens_a_place(pilot, capsys):
    assert run_command(["study", "invite", "pilot", "--count", "2", "--json"]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert len(set(links)) == 2
    assert all(link.startswith("http://127.0.0.1:8501/participate?invitation=") for link in links)
    assert joining.join("", Arrival(invitation=links[1].partition("=")[2])).code == "P01"
    assert run_command(["study", "invite", "pilot", "--count", "0"]) == 2
    assert "Make 1 to 1,000 links at a time, not 0." in capsys.readouterr().err


def test_the_payment_list_names_those_whom_the_platforms_list_knows(pilot, tmp_path, capsys):
    joining.join(pilot.join_code, Arrival(pilot.join_code, given={"PROLIFIC_PID": PID}))
    ids, out = tmp_path / "export.csv", tmp_path / "payments.csv"
    ids.write_text(f"Submission id,Participant id\ns1,{PID}\n")
    assert run_command(["study", "payments", "pilot", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["participant"], row["state"], row["bonus"]) == ("P01", "under way", "0.00")
    assert row["outside_id"] != PID
    assert run_command(["study", "payments", "pilot", "--ids", str(ids), "--out", str(out)]) == 0
    assert PID in out.read_text()
    with reading() as session:
        (event,) = audit_trail.list_entries(session, AuditFilter(kind="study exported"))
    assert event.detail["what"] == "payments.csv"
    assert run_command(["study", "payments", "pilot", "--ids", str(tmp_path / "none.csv")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_the_payment_list_is_written_as_prolific_takes_it(pilot, tmp_path, capsys):
    other, out = "60aaaaaaaaaaaaaaaaaaaaaa", tmp_path / "upload.csv"
    people = [
        joining.join(pilot.join_code, Arrival(pilot.join_code, given={"PROLIFIC_PID": id})) for id in (PID, other)
    ]
    with writing() as session:
        session.get(Participant, people[0].id).stage = "finished"
    ids = tmp_path / "export.csv"
    ids.write_text(f"Submission id,Participant id\ns1,{PID}\ns2,{other}\n")
    command = ["study", "payments", "pilot", "--out", str(out), "--upload"]
    assert run_command([*command, "approve", "--ids", str(ids)]) == 0
    assert out.read_text() == f"{PID}\n"
    assert "1 participant." in capsys.readouterr().out
    assert run_command([*command, "bonus", "--ids", str(ids)]) == 0
    assert out.read_text() == "", "nobody has earned a bonus"
    assert run_command([*command, "bonus"]) == 2
    assert "Add --ids FILE --out FILE." in capsys.readouterr().err


def test_a_bonus_is_a_line_of_id_and_amount():
    paid = [(PID, "0.40"), ("kept-pseudonym", "0.10"), ("none", "0.00")]
    frame = pd.DataFrame(paid, columns=["outside_id", "bonus"])
    assert bonuses(frame, [PID, "none"]) == f"{PID},0.40\n"
