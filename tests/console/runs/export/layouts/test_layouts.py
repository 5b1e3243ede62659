"""What leaves for other tools, and what stays out."""

import io
import json
from uuid import uuid4
from zipfile import ZipFile

import orjson
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import desc, select

from console.auth import audit_log
from console.cli import run_command
from console.errors import BadInput, Unknown
from console.runs.export import LAYOUTS, export_layout
from console.runs.importers import IMPORTERS, read_log
from console.runs.importers.records import Found
from console.runs.trajectory_rows import insert_rows, prepare
from console.trajectory import Outcome, Step, Trajectory
from storage import tables
from storage.engine import close, reading, writing
from storage.migrations import migrate

WITHOUT_INSPECT = [name for name in LAYOUTS if name != "inspect"]


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def all_text(content):
    if content[:2] != b"PK":
        return content.decode()
    with ZipFile(io.BytesIO(content)) as archive:
        tables_ = [pq.read_table(io.BytesIO(archive.read(n))).to_pylist() for n in archive.namelist() if "data/" in n]
        return json.dumps(tables_) + archive.read("README.md").decode()


def called(messages):
    """The (name, arguments) of the one call of the one message."""
    (message,) = messages
    (call,) = message["tool_calls"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


def test_a_conversation_to_train_on_has_calls_results_and_words(leaves):
    first = lines(leaves("openai-messages"))[0]
    assert set(first) == {"messages", "tools"}
    assert [message["role"] for message in first["messages"]] == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant"),
    ]
    call = first["messages"][3]["tool_calls"][0]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("refund", {"id": 7, "amount": 400})
    assert first["messages"][4] == {"role": "tool", "tool_call_id": call["id"], "content": "paid"}
    assert first["messages"][5]["content"] == "Done."
    assert [tool["function"]["name"] for tool in first["tools"]] == ["get_order", "refund"]


def test_a_rejected_action_is_worse_than_the_next_trials_and_an_edited_one_than_its_edit(leaves):
    pairs = lines(leaves("dpo"))
    assert [(called(pair["chosen"]), called(pair["rejected"])) for pair in pairs] == [
        (("refund", {"id": 7, "amount": 40}), ("refund", {"id": 7, "amount": 400})),
        (("refund", {"id": 7, "amount": 40}), ("refund", {"id": 7, "amount": 41})),
    ]
    assert [turn["role"] for turn in pairs[0]["prompt"]] == ["user", "assistant", "tool"]
    assert pairs[0]["prompt"][1]["tool_calls"][0]["id"] == pairs[0]["prompt"][2]["tool_call_id"]
    assert "order 7: 40 EUR" in pairs[0]["prompt"][2]["content"]
    assert [tool["function"]["name"] for tool in pairs[0]["tools"]] == ["get_order", "refund"]
    assert "paid" not in json.dumps(pairs[0])


def test_a_next_trial_that_was_rejected_as_well_is_preferred_to_nothing(url, leaves):
    with writing(url) as session:
        decided = session.get(tables.Item, 4)
        decided.trajectory_id = 2
        session.add(decided)
    assert len(lines(leaves("dpo"))) == 1


def test_labelled_actions_are_approved_rejected_and_edited_ones(leaves):
    rows = lines(leaves("kto"))
    assert [(called(row["completion"])[1]["amount"], row["label"]) for row in rows] == [
        *((400, False), (41, False), (40, True), (40, True)),
    ]
    assert len(lines(leaves("kto", "simulated"))) == 5
    with pytest.raises(Unknown, match="No export option named 'gold'"):
        leaves("kto", "gold")


@pytest.mark.parametrize("layout", WITHOUT_INSPECT)
def test_nothing_blind_or_private_leaves_unless_it_is_asked_for(leaves, layout):
    text = all_text(leaves(layout))
    for hidden in ("misaligned", "succeeded", "Ada", "Ben", "robot", "simulated words", "private.json", "reward 0"):
        # The label that a reviewer gave is theirs, and leaves with their answers.
        assert hidden not in text or (layout == "datasets" and hidden == "misaligned"), hidden


def test_what_is_asked_for_leaves_and_stands_in_the_audit(url, leaves):
    text = all_text(leaves("label-studio", "answers", "names", "gold"))
    assert all(shown in text for shown in ("Ada Love", "far too much", '"gold_label":"misaligned"'))
    assert "robot" not in text
    with reading(url) as session:
        run = session.get(tables.Run, 1)
        assert audit_log.has_event(session, run, "exported", "label-studio")
        detail = json.loads(session.exec(select(tables.Event.detail).order_by(desc(tables.Event.id))).first())
    assert detail["with"] == ["answers", "gold", "names"]


def test_annotation_tools_get_every_checkpoint_and_no_answer(leaves):
    tasks, records = json.loads(leaves("label-studio")), json.loads(leaves("argilla"))
    assert len(tasks) == len(records) == 5
    assert all("annotations" not in task for task in tasks)
    assert all(record["responses"] == {} and record["status"] == "pending" for record in records)
    assert tasks[0]["data"]["action"] == records[0]["fields"]["action"] == 'refund({"id":7,"amount":400})'
    answered = json.loads(leaves("argilla", "answers"))
    assert answered[0]["responses"]["words"][0]["value"] == "far too much"


def test_the_card_of_a_datasets_folder_says_what_is_in_it(url, tmp_path):
    out = tmp_path / "folder"
    assert export_layout(url, "datasets", "desk", out, (), "cc-by-4.0") == 5
    card = (out / "README.md").read_text()
    head = yaml.safe_load(card.split("---")[1])
    assert head["license"] == "cc-by-4.0"
    assert {config["config_name"] for config in head["configs"]} == {"trajectories", "answers"}
    for said in ("- trajectories: 5", "- answers: 3", "- answer reject: 1", "feedback to the agent was possible"):
        assert said in card
    rows = pq.read_table(out / "data" / "trajectories.parquet").to_pylist()
    assert rows[0]["steps"][0] == {"thought": "Which order?", "action": LOOKED, "observation": "order 7: 40 EUR"}
    with pytest.raises(BadInput, match="already exists"):
        export_layout(url, "datasets", "desk", out)


LOOKED = 'get_order({"id":7})'


def test_traces_hold_a_span_for_the_agent_each_turn_and_each_call(leaves):
    trace = lines(leaves("otlp"))[0]
    spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [span["name"] for span in spans] == [
        *("invoke_agent", "chat", "execute_tool get_order", "chat", "execute_tool refund", "chat"),
    ]
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert {span["traceId"] for span in spans} == {spans[0]["traceId"]}
    assert [event["name"] for event in spans[3]["events"]] == ["inferact.review"]


def test_a_wrong_name_is_refused_in_a_sentence(url, tmp_path):
    with pytest.raises(Unknown, match="No export named 'nothing'"):
        export_layout(url, "nothing", "desk", tmp_path / "x.json")
    with pytest.raises(Unknown, match="No export option named 'secrets'"):
        export_layout(url, "dpo", "desk", tmp_path / "x.jsonl", ["secrets"])
    with pytest.raises(BadInput, match=r"dpo layout needs a \.jsonl file"):
        export_layout(url, "dpo", "desk", tmp_path / "x.csv")


def test_the_command_writes_a_layout(data_dir, capsys, tmp_path):
    log, out = tmp_path / "log.jsonl", tmp_path / "out.jsonl"
    log.write_text(Trajectory("a", "webshop", "buy", (Step("", "click[Buy Now]", "ok"),)).to_json())
    assert run_command(["trajectory", "import", str(log), "--run", "shop"]) == 0
    capsys.readouterr()
    assert run_command(["export", "openai-messages", "--run", "shop", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trajectories"] == 1
    assert json.loads(out.read_text())["messages"][0]["content"] == "buy"
    assert run_command(["export", "decisions", "--run", "shop", "--out", "d.csv", "--with", "gold"]) == 2


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
TRIMMED = WORDS.map(str.strip)
VALUES = st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS, st.lists, max_leaves=3)
CALLS = st.builds(
    lambda name, arguments: Step("", f"{name}({json_text(arguments)})"),
    st.from_regex(r"[a-z_]{1,9}", fullmatch=True).filter(lambda name: name not in ("respond", "think")),
    st.dictionaries(WORDS, VALUES, max_size=3),
)
SAID = WORDS.filter(str.strip).map(lambda words: Step("", f"respond({json_text({'content': words})})"))
RESULTS = [(Outcome.FINISHED, {}), (Outcome.SUCCEEDED, {"label": "aligned"}), (Outcome.FAILED, {"label": "misaligned"})]


def json_text(value):
    return orjson.dumps(value).decode()


@st.composite
def trajectories(draw):
    """Trajectories as any log of messages gives them."""
    bare = draw(st.lists(CALLS | SAID, min_size=1, max_size=4))
    steps = tuple(Step(draw(TRIMMED), step.action, draw(WORDS)) for step in bare)
    outcome, gold = draw(st.sampled_from(RESULTS))
    return Trajectory(
        draw(TRIMMED), "generic", draw(WORDS.filter(str.strip)), steps, draw(st.integers(0, 3)), None, outcome, gold,
        opening=draw(WORDS),
    )  # fmt: skip


ROUND_TRIPS = {"openai-messages": ("ids", "gold")}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The URL of a database that every example adds a run to."""
    url = f"sqlite:///{tmp_path_factory.mktemp('trips') / 'console.db'}"
    migrate(url)
    yield url
    close(url)


@pytest.mark.parametrize("name", [name for name in ROUND_TRIPS if name in IMPORTERS])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=trajectories())
def test_what_leaves_reads_back_as_it_was(tmp_path, empty, name, record):
    out = tmp_path / f"out.{LAYOUTS[name].suffix}"
    with writing(empty) as session:
        run = tables.Run(name=str(uuid4()), kind="archive", environment="generic", created_ms=1)
        session.add(run)
        session.flush()
        insert_rows(session, run, [prepare(record, [])], 1)
    export_layout(empty, name, run.name, out, ROUND_TRIPS[name])
    (back,) = [entry.trajectory for entry in read_log(out)[1] if isinstance(entry, Found)]
    assert back.content_digest() == record.content_digest()
