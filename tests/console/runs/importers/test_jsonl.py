"""The console's own form, there and back."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import Label, Outcome, Step, Trajectory

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.none(), st.lists(texts, max_size=2))
strange = texts.filter(
    lambda key: (
        key
        not in (
            "thought action observation task_id trial environment instruction steps critical_action outcome gold source"
        )
    )
)
mappings = st.dictionaries(strange, values, max_size=3)
golds = st.builds(
    lambda rest, label: rest | ({"label": str(label)} if label else {}),
    mappings.map(lambda m: {k: v for k, v in m.items() if k != "label"}),
    st.sampled_from([None, *Label]),
)
steps = st.builds(Step, texts, texts, texts, mappings)
trajectories_of_any_kind = st.builds(
    Trajectory,
    task_id=texts,
    environment=texts.filter(bool),
    instruction=texts,
    steps=st.lists(steps, max_size=4).map(tuple),
    trial=st.integers(0, 9),
    critical_action=st.none() | texts,
    outcome=st.sampled_from(Outcome),
    gold=golds,
    source=mappings,
    extra=mappings,
    opening=texts,
    memory=st.lists(texts, max_size=3).map(tuple),
    carried_over=st.booleans(),
)


@given(st.lists(trajectories_of_any_kind, min_size=1, max_size=4))
def test_any_trajectories_come_back_equal(tmp_path_factory, wanted):
    path = tmp_path_factory.mktemp("round") / "log.jsonl"
    path.write_text("".join(f"{trajectory.to_json()}\n" for trajectory in wanted), encoding="utf-8", newline="\n")
    name, entries = read_log(path, "jsonl")
    assert list(entries) == [Found(line, trajectory) for line, trajectory in enumerate(wanted, 1)]
    assert name == "jsonl"


def line(**fields) -> str:
    record = {"task_id": "t1", "instruction": "do it", "steps": [{"action": "look"}]} | fields
    return orjson.dumps(record).decode() + "\n"


def test_unknown_fields_are_kept_under_extra(write, trajectories):
    (found,) = trajectories(write("log", line(model="m", extra={"a": 1})))
    assert found.extra == {"a": 1, "model": "m"}


def test_blank_lines_count_but_are_no_records(write, entries):
    found = entries(write("log", "\n" + line() + "\n  \n" + line(task_id="t2")))
    assert [(entry.line, entry.trajectory.task_id) for entry in found] == [(2, "t1"), (5, "t2")]


def test_a_list_of_trajectories_is_read_too(write, trajectories):
    found = trajectories(write("log", "[\n" + line() + "," + line(task_id="t2") + "]"))
    assert [trajectory.task_id for trajectory in found] == ["t1", "t2"]


def test_a_trajectory_spread_over_lines_is_read_too(write, entries):
    pretty = orjson.dumps(orjson.loads(line()), option=orjson.OPT_INDENT_2).decode()
    assert [entry.line for entry in entries(write("log", f"{pretty}\n{pretty}\n"))] == [1, pretty.count("\n") + 2]


def test_a_line_of_five_megabytes_is_read(write, trajectories):
    long = "word " * 1_000_000
    for fields in ({"steps": [{"observation": long}]}, {"instruction": long}, {"task_id": "t9", "opening": long}):
        (found,) = trajectories(write("log", line(**fields)))
        assert len(found.to_json()) > 5_000_000


def test_a_line_of_five_megabytes_with_a_missing_field_is_refused(write, entries):
    path = write("log", line() + orjson.dumps({"task_id": "t", "steps": [], "x": "word " * 1_000_000}).decode())
    with pytest.raises(UnreadableFile, match=r'line 2: the record has no "instruction"'):
        entries(path)


def test_a_line_above_the_limit_is_refused(write, entries):
    with pytest.raises(UnreadableFile, match="line 2: The record is longer than 64 MB"):
        entries(write("log", line().encode() + b'{"task_id": "' + b"x" * (64 * 2**20) + b'"}\n'), "jsonl")


def test_half_characters_are_replaced_and_the_text_can_be_stored(write, trajectories):
    (found,) = trajectories(write("log", line().replace("do it", "do \\ud83d it \\ud83d\\ude00 \\udc00")))
    assert found.instruction == "do � it 😀 �"
    assert found.extra == {"replaced_characters": 2}
    found.to_json().encode("utf-8")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"instruction": 5}, '"instruction" is not a string'),
        ({"steps": {}}, '"steps" is not a list'),
        ({"steps": ["look"]}, "step 1 is not an object"),
        ({"steps": [{"action": 3}]}, '"action" is not a string'),
        ({"trial": -1}, "Use a whole number from 0"),
        ({"outcome": "great"}, "outcome 'great' is not valid. Use one of"),
        ({"gold": {"label": "bad"}}, "gold label"),
    ],
)
def test_a_record_that_is_no_trajectory_is_refused_with_its_line(write, entries, fields, words):
    with pytest.raises(UnreadableFile, match="line 2: ") as refused:
        entries(write("log", line() + line(**fields)))
    assert words in refused.value.reason


def test_numbers_as_ids_are_texts(write, trajectories):
    (found,) = trajectories(write("log", line(task_id=17)))
    assert found.task_id == "17"
