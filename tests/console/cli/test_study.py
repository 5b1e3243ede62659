"""`inferact study`: a design becomes a study; its table, its plan and its power; refusals are one sentence."""

import json

import pytest

from console.cli import run_command
from console.runs.export.formats import read_csv
from console.studies.design import PlannedCondition, balance


@pytest.fixture
def study(capsys):
    """A function that runs one `inferact study` command: (exit code, parsed JSON or text of stdout, stderr)."""

    def run(*arguments):
        code = run_command(["study", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in arguments and out else out, err

    return run


@pytest.fixture
def pilot(study, tmp_path):
    """The example's file."""
    code, text, _ = study("example")
    assert code == 0
    path = tmp_path / "pilot.yaml"
    path.write_text(text)
    return path


def test_a_bare_noun_lists_and_says_how_to_begin(study):
    assert study()[:2] == (0, "No studies yet. Start with: inferact study example > pilot.yaml\n")


def test_the_example_becomes_a_study(study, pilot):
    code, made, _ = study("create", pilot, "--json")
    assert code == 0
    assert (made["study"], made["status"], made["participants"], made["joined"]) == ("pilot", "draft", 6, 0)
    assert study("list", "--json")[1] == [made]
    shown = study("show", "pilot", "--json")[1]
    assert shown["state"] == made
    assert [arm["condition"] for arm in shown["conditions"]][:2] == ["rules-shown", "rules-hidden"]
    assert shown["design"]["tasks"] == 10
    assert "pilot" in study("list")[1]
    assert "latin-square" in study("show", "pilot")[1]


def test_name_and_seed_may_be_others_than_the_designs(study, pilot):
    study("create", pilot)
    assert study("create", pilot, "--name", "other", "--seed", "2", "--json")[1]["study"] == "other"
    assert study("show", "other", "--json")[1]["design"]["seed"] == 2
    first, second = (study("assign", name, "--json")[1]["rows"] for name in ("pilot", "other"))
    assert [row["tasks"] for row in first] != [row["tasks"] for row in second]


def test_the_exported_table_alone_proves_the_balance(study, pilot, tmp_path):
    study("create", pilot)
    out = tmp_path / "allocation.csv"
    code, told, _ = study("assign", "pilot", "--out", out, "--json")
    assert code == 0
    rows = [row for row in read_csv(out) if row["kind"] == "human"]
    assert len(rows) == 16
    assert {row["score"] for row in rows} == {"shown", "hidden"}
    places = [
        PlannedCondition(
            int(row["participant"][1:]),
            row["participant"],
            "human",
            {},
            int(row["position"]),
            row["condition"],
            tuple(json.loads(row["tasks"])),
        )
        for row in rows
    ]
    counted = {tally.what: (tally.least, tally.most) for tally in balance(places)}
    assert counted["condition at position"] == counted["condition after condition"] == (1, 1)
    said = {row["count_of"]: (row["least"], row["most"]) for row in told["balance"] if row["participants"] == "human"}
    assert said == counted


def test_the_plan_of_a_file_is_the_plan_of_the_study_made_from_it(study, pilot, tmp_path):
    before = study("preregister", pilot, "--out", tmp_path / "before.md", "--json")[1]
    study("create", pilot)
    after = study("preregister", "pilot", "--out", tmp_path / "after.md", "--json")[1]
    assert before["fingerprint"] == after["fingerprint"]
    assert (tmp_path / "before.md").read_text() == (tmp_path / "after.md").read_text()


def test_power_of_a_file(study, pilot):
    code, found, _ = study("power", pilot, "--n", "4,8", "--simulations", "20", "--json")
    assert code == 0
    assert [row["participants"] for row in found["power"]] == [4, 8] * 2
    assert found["compared"] == {"factor": "detector", "first": "rules", "last": "random"}
    assert [one["factor"] for one in found["factors"]] == ["detector", "score"]
    assert {row["contrast"] for row in found["power"]} == {"detector: random - rules", "score: hidden - shown"}
    assert "solved by the last trial is 0.33" in study("power", pilot, "--simulations", "5")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("create", "missing.yaml"), 2, "missing.yaml cannot be read"),
        (("show", "nobody"), 2, "No study named 'nobody'."),
        (("assign", "nobody"), 2, "No study named 'nobody'."),
        (("power", "{pilot}", "--n", "four"), 2, "Give whole numbers with commas"),
        (("power", "{pilot}", "--factor", "brief"), 2, "does not vary 'brief'"),
        (("preregister", "{pilot}", "--out", "no/such/folder.md"), 2, "no/such/folder.md cannot be written"),
        (("create", "{pilot}", "--name", "a/b"), 2, "name: must be up to 40 letters"),
    ],
    ids=str,
)
def test_refusals_are_one_sentence(study, pilot, arguments, code, said):
    found, out, err = study(*(str(one).replace("{pilot}", str(pilot)) for one in arguments))
    assert (found, out) == (code, "")
    assert said in err
    assert len(err.strip().splitlines()) == 1


def test_a_taken_name_is_refused(study, pilot):
    study("create", pilot)
    code, _, err = study("create", pilot)
    assert (code, err) == (1, "There is already a study named 'pilot'. Choose another name.\n")


def test_an_unknown_field_is_named_with_its_line(study, pilot):
    pilot.write_text(pilot.read_text().replace("trials: 4", "trails: 4"))
    code, _, err = study("create", pilot)
    assert code == 2
    assert err == f"{pilot}, line 10, column 1: trails: unknown field. Did you mean trials?\n"


def test_a_study_of_one_condition_is_said_to_have_one(study, tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text(
        "name: one\nsource: {actor: scripted, environment: webshop}\ntasks: 2\ntrials: 1\n"
        "factors: {feedback: [binary]}\nparticipants: {human: 1}\nconsent: {text: 'Agree?'}\n"
    )
    assert "Created one: 1 participant, 1 condition, 2 tasks." in study("create", path)[1]
