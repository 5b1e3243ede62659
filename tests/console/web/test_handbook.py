"""The handbook: every command and snippet in it works, and its dictionary names every column that is exported."""

import contextlib
import re
import shlex
import socket
import tomllib
from pathlib import Path

import pytest
import typer

from console.auth import agents
from console.cli import app, run_command
from console.database import now_ms, writing
from console.detection.detectors import Detector
from console.detection.detectors.rules import RULES
from console.environments import ENVIRONMENTS
from console.gate.policy import CheckFacts, read_policy, ruling
from console.runs.export import KINDS
from console.settings import Registry, settings
from console.trajectory import from_json
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoints
from console.web.handbook import CHAPTERS, chapter, mark_commands, meanings, split_wide_tables
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule
from tests.logs import purchase, write_log

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(inferact [^`]+)`")
WITH_COMMANDS = ["reviewer", "researcher", "developer", "operator"]
README = (Path(__file__).resolve().parents[3] / "README.md").read_text("utf-8")
SMALL = {
    "tasks: 10 ": "tasks: 1 ",
    "trials: 4 ": "trials: 2 ",
    "human: 4": "human: 1",
    "  score: [shown, hidden]": "",
    "[[detector, score]]": "[]",
    "practice: 2 ": "practice: 0 ",
    "attention: 1": "attention: 0",
    "known_good: 1": "known_good: 0",
    "known_bad: 1": "known_bad: 0",
}
"""What keeps the example of a study short here."""

SHORTER = {
    "demo": ["--no-serve"],
    "study power": ["--simulations", "2"],
    "study preset run": ["--tasks", "1"],
}


def fences(name):
    """(language, text) of each block of a chapter."""
    return FENCE.findall(chapter(name))


@pytest.fixture(scope="module")
def commands():
    """The whole command line."""
    return typer.main.get_command(app)


@pytest.fixture
def home(tmp_path, monkeypatch, data_dir):
    """A working directory with what the chapters speak of: a log and its run, a person, scores, a model's endpoint."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "my-agent.jsonl", *(purchase(n, wrong=n < 3) for n in range(6)))
    Path("my-detector.csv").write_text("label,score\n" + "misaligned,0.9\naligned,0.1\n" * 4)
    with serving(rule) as endpoint, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        given = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "k", "INFERACT_MODEL": "m", "INFERACT_PORT": port}
        for name, value in given.items():
            monkeypatch.setenv(name, str(value))
        settings.cache_clear()
        yield tmp_path


def typed(line):
    """The exit code of a line as it is typed; its port is taken, so that a server ends at once."""
    words, _, target = line.partition(" > ")
    arguments = shlex.split(words)[1:]
    arguments += next((more for command, more in SHORTER.items() if " ".join(arguments).startswith(command)), [])
    if not target:
        return run_command(["m" if argument == "MODEL" else argument for argument in arguments])
    with open(target, "w") as file, contextlib.redirect_stdout(file):  # noqa: PTH123
        code = run_command(arguments)
    _make_small(Path(target))
    return code


def _make_small(design):
    text = design.read_text()
    for old, new in SMALL.items():
        assert old in text
        text = text.replace(old, new)
    design.write_text(text)


LONGER = {"researcher", "operator"}


def prepared(name):
    """What a chapter takes for done."""
    if name == "reviewer":
        assert run_command(["trajectory", "import", "my-agent.jsonl", "--run", "first"]) == 0
        assert run_command(["detect", "first", "--method", "full-validation"]) == 0
        assert run_command(["person", "invite", "Ada"]) == 0
    if name == "developer":
        Path("refunds.yaml").write_text(next(text for language, text in fences(name) if language == "yaml"))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.at_length] * (name in LONGER)) for name in WITH_COMMANDS],
)
def test_every_command_of_a_chapter_works_in_its_order(home, name, capsys):
    prepared(name)
    lines = [line for language, text in fences(name) if not language for line in text.splitlines()]
    assert lines
    for line in lines:
        assert line.startswith("inferact ")
        assert (typed(line), line) == (int(line == "inferact serve"), line), capsys.readouterr().err


@pytest.mark.parametrize("name", [*CHAPTERS])
def test_every_command_that_a_sentence_names_is_there_with_its_options(name, commands):
    for said in SPAN.findall(chapter(name).replace("\n", " ")):
        command, words = commands, said.split()[1:]
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert not hasattr(command, "commands") or command.invoke_without_command, said
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, said


def test_the_snippets_of_the_developer_let_nothing_run_that_nobody_approved(home, monkeypatch, capsys):
    Path("refunds.yaml").write_text(next(text for language, text in fences("developer") if language == "yaml"))
    assert run_command(["policy", "set", "support-bot", "refunds.yaml", "--create"]) == 0
    with writing() as session:
        token = agents.add(session, "support-bot", now_ms())
    monkeypatch.setenv("INFERACT_TOKEN", token)
    given = {"TOKEN": token}
    first, second, of_langchain, _ = (text for language, text in fences("developer") if language == "python")
    served = 'url="http://127.0.0.1:8501", token=os.environ["INFERACT_TOKEN"], deadline_s=1800'
    assert served in first
    exec(first.replace(served, "deadline_s=0.3"), given)
    exec(second, given)
    said = capsys.readouterr().out
    assert "No person decided in time" in said
    assert "Refunded" not in said
    compile(of_langchain, "developer.md", "exec")


def test_the_plugin_of_the_developer_is_a_detector_that_flags_deletions():
    *_, text = (text for language, text in fences("developer") if language == "python")
    (points,) = (text for language, text in fences("developer") if language == "toml")
    given = {}
    exec(text, given)
    registry = Registry("detector", "inferact.detectors", Detector, {"deletions": given["DELETIONS"]})
    actions = {"delete_order({})": 0.9, "get_order({})": 0.1}
    assert {action: registry["deletions"].judge(at(action), 0).score for action in actions} == actions
    assert tomllib.loads(points)["project"]["entry-points"] == {registry.group: {"deletions": "deletions:DELETIONS"}}


def at(action):
    """A checkpoint before this action."""
    return Checkpoint("generic", "tidy up", "", (), 0, CheckpointKind.ACTION, action=action)


def test_the_policy_of_the_developer_says_what_the_chapter_says(home):
    policy = read_policy(next(text for language, text in fences("developer") if language == "yaml"))
    wanted = {
        'refund_order({"order":13,"amount":20})': "ask",
        'refund_order({"order":12,"amount":999999})': "ask",
        'refund_order({"order":12,"amount":20})': "judge",
        'refund_order({"order":12})': "ask",
        "transfer({})": "ask",
        "drop_table({})": "deny",
        "mcp__shop__get_order({})": "allow",
    }
    assert {text: str(ruling(policy, CheckFacts(text, task="refund order 12")).then) for text in wanted} == wanted


def test_the_other_snippets_are_read(home):
    (record,) = (text for language, text in fences("researcher") if language == "json")
    shown = from_json(" ".join(record.split()))
    assert shown.critical_action == "click[Buy Now]"
    (point,) = checkpoints(shown, ENVIRONMENTS[shown.environment].critical)
    assert RULES.judge(point, 0).score > RULES.threshold, "its commands end on an Inbox that is empty"
    (labels,) = (text for language, text in fences("researcher") if language == "toml")
    assert tomllib.loads(labels)["parser"] == "reference"


def test_what_the_readme_shows_to_be_typed_stands_in_a_chapter():
    chapters = "\n".join(chapter(name) for name in WITH_COMMANDS)
    shown = FENCE.findall(README)
    lines = [
        line for language, text in shown if not language for line in text.splitlines() if line.startswith("inferact")
    ]
    assert len(lines) > 3
    assert [line for line in lines if f"\n{line}\n" not in chapters] == []
    assert [text for language, text in shown if language and text not in chapters] == []


def test_every_chapter_is_reached_from_the_readme():
    assert [name for name in CHAPTERS if name != "data" and f"(console/web/handbook/{name}.md)" not in README] == []


def test_the_dictionary_holds_every_column_and_no_other():
    columns = {column.name for source in KINDS.values() for column in source.columns}
    assert set(meanings()) == columns
    assert all(f"| `{name}` |" in chapter("data") for name in columns)


def test_the_page_opens_at_the_readers_own_chapter_and_every_chapter_opens(open_page, data_dir):
    for role, first in {"reviewer": "What a reviewer does", "researcher": "A first look"}.items():
        at = open_page("help", role=role)
        assert [title.value for title in at.title] == ["Help"]
        assert first in at.markdown[-1].value
    for name in CHAPTERS:
        shown = [found.value for found in open_page("help", chapter=name).markdown]
        texts = [part.strip() for part in split_wide_tables(mark_commands(chapter(name))) if isinstance(part, str)]
        assert set(texts) <= set(shown)


def test_a_wide_table_is_apart_from_the_text_and_keeps_every_cell():
    text = chapter("figures")
    parts = list(split_wide_tables(text))
    wide = [part for part in parts if not isinstance(part, str)]
    assert [len(rows) for rows in wide] == [7, 7]
    assert wide[0][0]["misaligned"] == "186 of 237"
    assert {len(row) for rows in wide for row in rows} == {9}
    kept = sum(part.count("|") for part in parts if isinstance(part, str)) + sum(10 * (len(rows) + 2) for rows in wide)
    assert kept == text.count("|")
    assert list(split_wide_tables(chapter("reviewer"))) == [chapter("reviewer")]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_decimal_has_its_zero(name):
    prose = re.sub(r"```.*?```|`[^`]*`", "", chapter(name), flags=re.DOTALL)
    assert re.findall(r"(?<![\w.])\.\d+", prose) == []
