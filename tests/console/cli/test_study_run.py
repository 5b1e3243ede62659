"""`inferact study` while people take part: open and close, invite, pay."""

import json

import pandas as pd
import pytest

from console.cli import run_command
from console.database import now_ms, reading, writing
from console.runs import audit_trail
from console.runs.audit_trail import AuditFilter
from console.studies.design import Design
from console.studies.design.model import Participants
from console.studies.results.participants import bonuses
from console.studies.sessions import joining, lifecycle
from console.studies.sessions.joining import Arrival
from storage.tables import Participant


@pytest.fixture
def command(capsys):
    """A function that runs one `inferact study` command: (exit code, parsed JSON or text of stdout, stderr)."""

    def run(*arguments):
        code = run_command(["study", *arguments])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in arguments and out else out, err

    return run


@pytest.fixture
def pilot(data_dir):
    """A draft with a person, an oracle and one who goes by the rules, in one condition of three tasks."""
    cast = {"human": 1, "oracle": 1, "rules": 1}
    source = {"actor": "scripted", "environment": "webshop"}
    return lifecycle.create(Design(name="pilot", source=source, tasks=3, trials=2, participants=cast), now_ms())


def test_a_study_is_opened_paused_and_closed(command, pilot):
    assert command("open", "pilot")[1] == f"pilot is open. People join with the code {pilot.join_code}.\n"
    assert command("pause", "pilot", "--json")[1]["status"] == "paused"
    assert command("close", "pilot")[0] == 0
    code, out, err = command("open", "pilot")
    assert (code, out, err) == (
        1,
        "",
        "Study 'pilot' is closed. Only a study that is draft or paused can become open.\n",
    )


@pytest.mark.parametrize(
    ("recruiting", "said"),
    [
        ({"by_invitation": True}, "People join with invitation links: inferact study invite pilot --count 12"),
        ({"platform": "sona"}, "People join from SONA with the link on the page Studies."),
        (None, "The study has simulated participants only: inferact study simulate pilot"),
    ],
)
def test_who_cannot_join_with_the_code_is_not_told_to(command, data_dir, recruiting, said):
    source = {"actor": "scripted", "environment": "webshop"}
    design = Design(
        name="pilot", source=source, tasks=1, trials=1, participants={"human": 1}, recruiting=recruiting or {}
    )
    if recruiting is None:
        design = design.model_copy(update={"participants": Participants(human=0, oracle=1)})
    lifecycle.create(design, now_ms())
    assert command("open", "pilot")[1] == f"pilot is open. {said}\n"


@pytest.mark.at_length
def test_simulated_participants_finish_and_the_board_says_so(command, pilot):
    code, _, err = command("simulate", "pilot")
    assert code == 1
    assert err.startswith("The study has not started yet")
    command("open", "pilot")
    tally = command("simulate", "pilot", "--json")[1]
    assert (tally["participants"], tally["conditions"]) == (2, 2)
    board = {row["kind"]: row for row in command("board", "pilot", "--json")[1]}
    assert (board["human"]["stage"], board["oracle"]["stage"], board["rules"]["stage"]) == (
        "free",
        "finished",
        "finished",
    )
    assert board["oracle"]["last_seen_at"].endswith("Z")
    assert "finished" in command("board", "pilot")[1]
    told = command("simulate", "pilot", "--all")[1]
    assert told.startswith("Finished: participants 1, conditions 1, decisions ")
    assert "known answer" not in told


@pytest.mark.at_length
def test_withdrawing_says_what_becomes_of_the_data(command, pilot):
    command("open", "pilot")
    command("simulate", "pilot")
    assert command("withdraw", "pilot", "P02")[1] == "Withdrew P02 from pilot. The participant's data is removed.\n"
    code, _, err = command("withdraw", "pilot", "P02")
    assert code == 2
    assert "No participant named 'P02'" in err
    assert command("withdraw", "pilot", "P01")[0] == 1


@pytest.mark.parametrize("verb", ["open", "pause", "close", "simulate", "board"])
def test_a_study_that_is_not_there_is_bad_input(command, pilot, verb):
    code, _, err = command(verb, "nope")
    assert (code, err) == (2, "No study named 'nope'. Known: pilot.\n")


PID = "5f1b2c3d4e5f6a7b8c9d0e1f"


@pytest.fixture
def study_of_platform():
    """An open study whose people come from Prolific."""
    fields = {"name": "pilot", "source": {"environment": "webshop"}, "tasks": 1, "trials": 1}
    recruiting = {"platform": "prolific", "bonus": {"per_right": "0.1"}}
    made = lifecycle.create(Design(**fields, recruiting=recruiting), now_ms())
    return lifecycle.open_study(made.name)


def test_links_are_printed_and_each_opens_a_place(study_of_platform, capsys):
    assert run_command(["study", "invite", "pilot", "--count", "2", "--json"]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert len(set(links)) == 2
    assert all(link.startswith("http://127.0.0.1:8501/participate?invitation=") for link in links)
    assert joining.join("", Arrival(invitation=links[1].partition("=")[2])).code == "P01"
    assert run_command(["study", "invite", "pilot", "--count", "0"]) == 2
    assert "Make 1 to 1,000 links at a time, not 0." in capsys.readouterr().err


def test_the_payment_list_names_those_whom_the_platforms_list_knows(study_of_platform, tmp_path, capsys):
    joining.join(study_of_platform.join_code, Arrival(study_of_platform.join_code, given={"PROLIFIC_PID": PID}))
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


def test_the_payment_list_is_written_as_prolific_takes_it(study_of_platform, tmp_path, capsys):
    other, out = "60aaaaaaaaaaaaaaaaaaaaaa", tmp_path / "upload.csv"
    people = [
        joining.join(study_of_platform.join_code, Arrival(study_of_platform.join_code, given={"PROLIFIC_PID": id}))
        for id in (PID, other)
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
