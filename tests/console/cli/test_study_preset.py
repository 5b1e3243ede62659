"""`inferact study preset`: a preset's design to change, and its study by simulated reviewers up to the report."""

import csv
import json

import pytest

from console.cli import run_command
from console.settings import settings
from console.studies.design.yaml_file import load
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule


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
