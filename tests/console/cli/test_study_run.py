"""`inferact study open|pause|close|simulate|board|withdraw`: what they print and refuse."""

import json

import pytest

from console.cli import run_command
from console.database import now_ms
from console.studies.design import Design
from console.studies.design.model import Participants
from console.studies.sessions import lifecycle


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
