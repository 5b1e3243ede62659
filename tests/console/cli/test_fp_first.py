"""`inferact oversight fp-first`: the paper's quota from matrices, from runs, and played to the end."""

import json
from collections import Counter

import pytest
from sqlmodel import select

from console import runs
from console.actors import Actor, Move
from console.cli import run_command
from console.database import reading
from console.environments import ENVIRONMENTS
from console.runs.status import run_status
from console.trajectory import Label
from console.trials.quota_loop import QuotaLoop, list_success, play_loop
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.fakes.endpoint import serving
from tests.verdicts import a_run, judge

PLAYED = ("--env", "webshop", "--tasks", "12", "--method", "rules", "--budget", "50%", "--trials", "2")


@pytest.fixture
def fp_first(capsys):
    """A function from options to the exit code, stdout and stderr."""

    def run(*arguments):
        code = run_command(["oversight", "fp-first", *arguments])
        return code, *capsys.readouterr()

    return run


def test_without_a_matrix_it_tells_the_paper_s_own(fp_first):
    code, out, _ = fp_first("--json")
    document = json.loads(out)
    assert code == 0
    assert {row["budget"] for row in document["kept"]} == {136, 120, 53}
    first = document["kept"][0]
    assert (first["tp"], first["fp"], first["kept"]) == (117, 52, 84)
    assert document["success"] == []


def test_files_and_runs_can_be_mixed(fp_first, tmp_path):
    a_run("shop", [Label.MISALIGNED, Label.ALIGNED, Label.MISALIGNED])
    judge("shop", "rules", [0.9, 0.8, 0.7])
    path = tmp_path / "mine.csv"
    path.write_text("name,tp,fp,fn,tn\nmine,100,100,0,72\n")
    code, out, _ = fp_first("--confusion", str(path), "--confusion", "shop", "--budget", "2", "--json")
    kept = json.loads(out)["kept"]
    assert code == 0
    assert [(row["name"], row["run"], row["kept"]) for row in kept] == [("mine", None, 0), (None, "shop", 1)]
    line = fp_first("--confusion", str(path), "--budget", "136")[1].splitlines()[1]
    assert line.split() == ["mine", "100", "100", "0", "72", "272", "136", "36", "64", "0.360"]


@pytest.mark.at_length
def test_played_runs_have_success_by_method_feedback_and_trial(fp_first):
    code, out, _ = fp_first(*PLAYED, "--json")
    success = json.loads(out)["success"]
    assert code == 0
    assert [(row["feedback"], row["trial"]) for row in success] == [(f, n) for f in ("binary", "nl") for n in range(3)]
    for feedback in ("binary", "nl"):
        line = [row["success"] for row in success if row["feedback"] == feedback]
        assert line == sorted(line)
    assert success[0]["success"] == success[3]["success"]
    assert success[5]["success"] > success[3]["success"]


@pytest.mark.at_length
def test_the_same_command_again_plays_nothing_and_says_the_same(fp_first):
    first = fp_first(*PLAYED)
    again = fp_first(*PLAYED)
    assert first == again
    assert "webshop: % of tasks solved by trial N" in again[1]
    assert "N=2" in again[1]


@pytest.mark.at_length
def test_an_end_after_an_approved_action_is_decided_in_its_own_trial():
    wanted = {task.instruction: task.gold["actions"] for task in ENVIRONMENTS["alfworld"].tasks(0, 6)}

    async def treat_and_dawdle(view):
        plan = wanted[view.instruction]
        last = next((at for at, one in enumerate(plan) if one.split()[0] in ("clean", "heat", "cool")), 0)
        known = [*plan[: last + 1], *(["look", "inventory"] * 7)]
        return Move("", known[len(view.steps)])

    async def reflect(reflection):
        return "Put it in its place."

    made = Actor("dawdler", "Dawdler", treat_and_dawdle, reflect, step_caps={"alfworld": 14})
    loop = QuotaLoop("alfworld", 6, "full-validation", "nl", "dawdler", trials=2)
    name = play_loop(loop, cast=ActorAndEnvironments(made))
    with reading() as session:
        trials = run_status(session, runs.get(session, name))["trials"]
        decided = Counter(session.exec(select(tables.Item.kind).where(tables.Item.trial == 2)).all())
    assert [(row["trial"], row["tasks"], row["paused"]) for row in trials] == [(0, 6, 0), (1, 6, 0), (2, 6, 0)]
    assert set(decided) == {"action", "end"}
    assert [row["success"] for row in list_success([name], 2)] == [0.0, 0.0, 0.0]


@pytest.mark.at_length
def test_a_model_can_play_the_user_whose_feedback_comes_back(fp_first, monkeypatch):
    with serving("Feedback: that is not the colour that I asked for.") as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--env", "webshop", "--tasks", "4", "--method", "full-validation", "--trials", "1")
        code, out, _ = fp_first(*options, "--reviewer", "model-user", "--model", "llama", "--json")
        assert endpoint.requests > 0
    name = json.loads(out)["success"][-1]["run"]
    assert (code, name[-16:]) == (0, "model-user llama")
    with reading() as session:
        texts = set(session.exec(select(tables.Decision.feedback_text)).all())
    assert "that is not the colour that I asked for." in texts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--confusion", "nobody"), "No run named 'nobody'"),
        (("--confusion", "nowhere.csv"), "cannot be read"),
        (("--budget", "most"), "is not a valid budget"),
        (("--env", "webshop", "--method", ","), "Name at least one detector"),
    ],
)
def test_refusals_are_one_line(fp_first, arguments, said):
    code, out, error = fp_first(*arguments)
    assert (code, out) == (2, "")
    assert said in error
