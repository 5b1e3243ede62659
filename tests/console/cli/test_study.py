"""`inferact study`: a design or a preset becomes a study; its table, plan and power; refusals are one sentence."""

import csv
import json

import pytest

from console.cli import run_command
from console.runs.export.formats import read_csv
from console.settings import settings
from console.studies.design import PlannedCondition, balance
from console.studies.design.yaml_file import load
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule


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


@pytest.mark.at_length
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


@pytest.mark.at_length
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


@pytest.fixture
def run(capsys):
    """A function that runs one `inferact study` command: (exit code, stdout, stderr)."""

    def command(*arguments):
        code = run_command(["study", *map(str, arguments)])
        return code, *capsys.readouterr()

    return command


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_bare_noun_lists_the_presets_with_their_questions(run):
    _, shown, _ = run("preset")
    assert "Appendix F of the InferAct paper" in shown
    listed = json.loads(run("preset", "list", "--json")[1])
    assert [row["preset"] for row in listed] == ["appendix-f", "false-alarms", "score-shown", "words-or-binary"]


def test_a_preset_is_shown_as_a_design_that_can_be_created(run, tmp_path):
    (tmp_path / "mine.yaml").write_text(run("preset", "show", "words-or-binary")[1])
    assert load(tmp_path / "mine.yaml").participants.human == 12
    assert run("create", tmp_path / "mine.yaml")[0] == 0


@pytest.mark.at_length
def test_appendix_f_runs_to_its_report_beside_the_papers_figures(run, tmp_path):
    code, told, _ = run("preset", "run", "appendix-f", "--tasks", 1, "--out", tmp_path / "report", "--json")
    assert (code, json.loads(told)["study"]) == (0, "appendix-f")
    assert "plan.md shows" not in (tmp_path / "report/report.html").read_text()
    published = rows(tmp_path / "report/tables/published.csv")
    assert {(row["detector"], row["feedback"]) for row in published if row["source"] == "here: simulated"} == {
        (detector, feedback) for detector in ("random", "rules", "full-validation") for feedback in ("words", "binary")
    }
    printed = {row["detector"]: float(row["percent"]) for row in published if row["source"] == "paper: people"}
    assert (printed["inferact-verb"], printed["none"], len(printed)) == (50.3, 33.0, 8)
    refused = run("preset", "run", "appendix-f", "--tasks", 2, "--out", tmp_path / "other")
    assert (refused[0], "Give this study another name with --study" in refused[2]) == (1, True)


def test_the_papers_methods_need_a_model(run, tmp_path):
    code, _, said = run("preset", "run", "appendix-f", "--with-model", "--tasks", 1, "--out", tmp_path / "report")
    assert (code, "No model is set. Set INFERACT_MODEL" in said) == (1, True)


@pytest.mark.at_length
def test_the_seven_methods_ask_a_model_and_what_was_stopped_goes_on(run, tmp_path, monkeypatch):
    short = ("preset", "run", "appendix-f", "--with-model", "--tasks", 1, "--out", tmp_path / "report", "--json")
    with serving(rule) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        monkeypatch.setenv("INFERACT_MODEL", "small")
        settings.cache_clear()
        assert run(*short)[0] == 0
        asked = endpoint.requests
        assert json.loads(run(*short)[1])["decisions"] == 0
    assert asked == endpoint.requests > 0
    here = [row for row in rows(tmp_path / "report/tables/published.csv") if row["source"] == "here: simulated"]
    assert len({row["detector"] for row in here}) == 7
