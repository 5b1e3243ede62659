"""`inferact prompt` as a person uses it."""

import json

import pytest
from typer.testing import CliRunner

from console.cli.prompt import app
from console.errors import BadInput, Unknown
from console.llm.prompts import fingerprint, list_templates
from console.settings import settings


@pytest.fixture
def run():
    """A function from arguments to what is printed; our own errors come through."""

    def ran(*arguments):
        done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return ran


def test_the_bare_noun_lists(run):
    assert "inferact/generic/infer_task" in run()


def test_the_list_has_slots_and_fingerprints(run):
    rows = {row["prompt"]: row for row in json.loads(run("list", "--json"))}
    assert sorted(rows) == list_templates()
    row = rows["token/webshop/judge"]
    assert row["slots"] == ["instruction", "option_a", "option_b", "trajectory"]
    assert row["fingerprint"] == fingerprint("token/webshop/judge")
    assert {row["origin"] for row in rows.values()} == {"packaged"}


def test_the_list_can_be_narrowed_to_a_method(run):
    rows = json.loads(run("list", "--method", "direct", "--json"))
    assert {row["prompt"].split("/")[0] for row in rows} == {"direct"}


def test_ones_own_file_is_marked_and_shown(run, tmp_path, monkeypatch):
    own = tmp_path / "prompts" / "direct" / "webshop" / "judge.txt"
    own.parent.mkdir(parents=True)
    own.write_text("Did it buy {{ instruction }}?")
    monkeypatch.setenv("INFERACT_PROMPTS_DIR", str(tmp_path / "prompts"))
    settings.cache_clear()
    shown = json.loads(run("show", "direct/webshop/judge", "--json"))
    assert (shown["origin"], shown["text"], shown["file"]) == ("own", "Did it buy {{ instruction }}?", str(own))


def test_a_template_is_rendered_with_texts_and_files(run, tmp_path):
    (tmp_path / "record.txt").write_text("Step 1\nAction: click[Buy Now]")
    text = run(
        *("render", "token/webshop/judge", "--slot", "option_a=True", "--slot", "option_b=False"),
        *("--slot", "instruction=a = b", "--file", f"trajectory={tmp_path / 'record.txt'}"),
    )
    assert "click[Buy Now]" in text
    assert "a = b" in text
    assert "A. True" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--slot", "option_a=True"], "needs values for option_b"),
        (["--slot", "option_a"], "Write NAME=TEXT"),
        (["--file", "option_a=nowhere"], "cannot be read"),
    ],
)
def test_what_is_missing_is_named(run, arguments, said):
    with pytest.raises(BadInput, match=said):
        run("render", "shared/any/letter", *arguments)


def test_an_unknown_template_is_answered_with_the_nearest(run):
    with pytest.raises(Unknown, match="token/webshop/judge"):
        run("show", "token/webshop/judg")
