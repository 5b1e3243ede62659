"""The libraries of the other tools read what we write; `pip install -e ".[interop]"` brings them."""

import io
import json
from zipfile import ZipFile

import pytest

from console.runs.export.layouts.annotation import INTERFACE
from console.runs.importers import read_log
from console.runs.importers.parts.files import plain_files
from console.runs.trajectory_rows import insert_rows, prepare
from storage import tables
from storage.engine import writing
from tests.console.runs.export.layouts.conftest import NOON, RECORDS, refund

pytestmark = pytest.mark.filterwarnings("default")
EXTRA = 'comes with the extra interop: pip install -e ".[interop]"'


def library(name):
    return pytest.importorskip(name, reason=f"{name} {EXTRA}")


def lines(content):
    return [json.loads(line) for line in content.splitlines()]


def test_datasets_loads_the_folder_and_both_its_tables(leaves, tmp_path):
    datasets = library("datasets")
    ZipFile(io.BytesIO(leaves("datasets", "gold"))).extractall(tmp_path / "folder")
    cache = str(tmp_path / "cache")
    trajectories = datasets.load_dataset(str(tmp_path / "folder"), split="train", cache_dir=cache)
    answers = datasets.load_dataset(str(tmp_path / "folder"), "answers", split="train", cache_dir=cache)
    assert (len(trajectories), len(answers)) == (5, 3)
    assert trajectories[0]["steps"][1]["action"] == 'refund({"id":7,"amount":400})'
    assert trajectories["gold_label"] == ["misaligned", "aligned", "misaligned", "aligned", "misaligned"]
    card = library("huggingface_hub").DatasetCard.load(tmp_path / "folder" / "README.md")
    assert (card.data.license, card.data.pretty_name) == ("unknown", "desk")


@pytest.mark.parametrize(("layout", "columns"), [("dpo", ["chosen", "prompt", "rejected"]),
                                                 ("kto", ["completion", "label", "prompt"])])  # fmt: skip
def test_trls_checks_take_the_pairs(leaves, tmp_path, layout, columns):
    datasets, data_utils = library("datasets"), library("trl.data_utils")
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(leaves(layout))
    loaded = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert sorted(loaded.column_names) == sorted([*columns, "tools"])
    for example in loaded:
        assert data_utils.is_conversational(example)
        assert data_utils.maybe_extract_prompt(example) == example
    unpaired = data_utils.maybe_unpair_preference_dataset(loaded)
    assert sorted(unpaired.column_names) == ["completion", "label", "prompt", "tools"]


def test_chat_templates_with_tools_take_the_prompt(leaves):
    """TRL puts a chat template around each turn; those with tools want each result after a call with its id."""
    jinja2 = library("jinja2")
    strict = jinja2.Template(
        "{% set ns = namespace(open=[]) %}{% for m in messages %}"
        "{% if m.role == 'tool' and m.tool_call_id not in ns.open %}{{ 1/0 }}{% endif %}"
        "{% if m.tool_calls %}{% set ns.open = m.tool_calls | map(attribute='id') | list %}{% endif %}"
        "<{{ m.role }}>{{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments }}]{% endfor %}{% endfor %}"
    )
    for pair in lines(leaves("dpo")):
        (chosen,) = pair["chosen"]
        whole = strict.render(messages=[*pair["prompt"], chosen])
        assert whole.endswith(f"[refund {chosen['tool_calls'][0]['function']['arguments']}]")


def test_openai_takes_the_messages_as_it_types_them(leaves):
    pydantic = library("pydantic")
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

    message, tool = (pydantic.TypeAdapter(list[kind]) for kind in (ChatCompletionMessageParam, ChatCompletionToolParam))
    for example in lines(leaves("openai-messages")):
        message.validate_python(example["messages"])
        tool.validate_python(example["tools"])


def test_inspect_reads_its_own_log(leaves, tmp_path):
    log = library("inspect_ai.log")
    path = tmp_path / "desk.eval"
    path.write_bytes(leaves("inspect", "gold"))
    read = log.read_eval_log(str(path))
    assert (read.status, read.eval.task, len(read.samples)) == ("success", "desk", 5)
    first = next(sample for sample in read.samples if (sample.id, sample.epoch) == ("t-1", 1))
    assert [call.function for message in first.messages for call in getattr(message, "tool_calls", None) or []] == [
        "get_order",
        "refund",
    ]
    assert first.scores["gold"].value == "I"
    (approval,) = (event for event in first.events if event.event == "approval")
    assert (approval.decision, approval.explanation, approval.approver) == ("reject", "far too much", "reviewer 1")
    assert approval.call.arguments == {"id": 7, "amount": 400}
    assert approval.call.id in [
        call.id for message in first.messages for call in getattr(message, "tool_calls", None) or []
    ]


def test_inspect_keeps_each_of_several_trajectories_of_one_task_and_trial(url, leaves, tmp_path):
    log = library("inspect_ai.log")
    with writing(url) as session:
        further = [prepare(refund(amount), ["refund"]) for amount in (401, 402)]
        insert_rows(session, session.get_one(tables.Run, 1), further, NOON)
    path = tmp_path / "desk.eval"
    path.write_bytes(leaves("inspect"))
    keys = [(sample.id, sample.epoch) for sample in log.read_eval_log(str(path)).samples]
    assert len(set(keys)) == len(keys) == len(RECORDS) + 2
    ((_, plain),) = plain_files(path, tmp_path / "unpacked")
    read = [
        (one.trajectory.task_id, one.trajectory.trial, one.trajectory.steps[1].action) for one in read_log(plain)[1]
    ]
    again = [("t-1", 0, refund(amount).steps[1].action) for amount in (401, 402)]
    assert sorted(read) == sorted([*((one.task_id, one.trial, one.steps[1].action) for one in RECORDS), *again])


def test_opentelemetry_parses_the_traces(leaves):
    service = library("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    json_format = library("google.protobuf.json_format")
    for line in leaves("otlp").splitlines():
        request = json_format.Parse(line, service.ExportTraceServiceRequest())
        spans = request.resource_spans[0].scope_spans[0].spans
        assert [span.name for span in spans][:3] == ["invoke_agent", "chat", "execute_tool get_order"]
        assert all(span.end_time_unix_nano > span.start_time_unix_nano for span in spans)


def test_label_studio_takes_tasks_and_annotations_under_the_interface(leaves):
    library("label_studio_sdk")
    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface(INTERFACE)
    for task in json.loads(leaves("label-studio", "answers")):
        annotations = task.pop("annotations", [])
        assert interface.validate_task(task)
        assert all(interface.validate_annotation(annotation) for annotation in annotations)


def test_argilla_reads_the_records(leaves, tmp_path):
    library("argilla")
    from argilla.records._io import JsonIO

    path = tmp_path / "records.json"
    path.write_bytes(leaves("argilla", "answers"))
    records = JsonIO._records_from_json(path)
    assert [record.fields["action"] for record in records][:1] == ['refund({"id":7,"amount":400})']
    assert records[0].responses["decision"][0].value == "reject"
    assert [record.to_dict()["fields"]["chat"] for record in records] == [
        record["fields"]["chat"] for record in json.loads(path.read_bytes())
    ]
