"""The coverage of a file, on small logs with known calls and texts, and on mutants of them."""

import orjson
import pytest

from console.errors import UnreadableFile
from console.runs import ingest
from console.runs.log_reading import ImportChoice, read_file

WORDS = "Please look up the order 1234 and refund it to the card that paid."
SEEN = "The order 1234 was paid by card, and the refund is allowed until Friday."
SAID = "I have refunded the order; the money arrives within five days."


def conversation(**changes):
    record = {
        "id": "case-1",
        "messages": [
            {"role": "user", "content": WORDS},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order":"1234"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": SEEN},
            {"role": "assistant", "content": SAID},
        ],
    }
    return orjson.dumps(record | changes).decode() + "\n"


@pytest.fixture
def report(write):
    def of(text, **choice):
        spool = read_file(write("log.jsonl", text), **choice)
        spool.close()
        return spool.report

    return of


def test_a_whole_reading_says_its_calls_and_its_share(report):
    said = report(conversation()).coverage.summary()
    assert said.startswith("1 call of 1, 100% of the text")


def test_a_call_under_an_unknown_field_refuses_the_file_and_can_be_accepted(report):
    log = conversation().replace('"tool_calls"', '"later_calls"')
    with pytest.raises(UnreadableFile, match=r"1 of 1 calls were not read \(refund\)"):
        report(log)
    accepted = report(log, choice=ImportChoice(is_partial_accepted=True))
    assert "calls were not read" in accepted.fault


def test_a_message_under_an_unknown_field_refuses_the_file(report):
    log = conversation().replace(
        f'"content":{orjson.dumps(SAID).decode()}', f'"utterance":{orjson.dumps(SAID).decode()}'
    )
    with pytest.raises(UnreadableFile, match="utterance"):
        report(log)


def test_a_file_of_which_nothing_came_is_refused(report):
    with pytest.raises(UnreadableFile, match="Nothing was imported"):
        report('{"messages":[{"role":"user","content":"hi"}]}\n')


def observation(id, kind, name, asked, given):
    about = {"region": "The span was recorded in the second region of the provider."}
    facts = {"type": kind, "name": name, "startTime": id, "metadata": about}
    return {"id": id, **facts, "input": asked, "output": given}


def test_a_span_of_a_tool_that_wraps_the_arguments_is_the_call_of_the_model(write):
    use = {"type": "tool_use", "id": "u1", "name": "refund", "input": {"order": "1"}}
    spans = [
        observation("1", "GENERATION", "chat", WORDS, {"role": "assistant", "content": [use]}),
        observation("2", "TOOL", "refund", {"input": {"order": "1"}}, SEEN),
    ]
    spool = read_file(write("trace.json", orjson.dumps({"id": "t1", "observations": spans})))
    spool.close()
    coverage = spool.report.coverage
    assert (spool.report.calls, coverage.calls.doubled, coverage.calls.lost) == (1, 0, 0)
    (region,) = [one for one in coverage.unread if one.path == "observations[].metadata.region"]
    assert (region.count, region.is_message) == (2, False)
    assert "left out: observations[].metadata.region (2)" in coverage.summary()


def test_a_long_text_is_named_although_a_few_of_its_lines_stand_in_the_steps(report):
    told = (
        f"Here is the summary that nobody reads in this log.\n\n\n{SAID}\n\nIt says more, and then it says still more."
    )
    one = orjson.loads(conversation())
    for message, summary in zip(one["messages"][1:], (SAID, told + told[:50], SAID), strict=True):
        message["summary"] = summary
    coverage = report(orjson.dumps(one).decode() + "\n").coverage
    (summary,) = [one for one in coverage.unread if one.path == "messages[].summary"]
    assert (summary.count, summary.line, summary.is_message) == (1, 1, False)
    assert coverage.summary().startswith("1 call of 1, ")
    assert "messages[].summary (1)" in coverage.summary()


def test_a_result_without_its_content_is_named_although_its_text_stands_elsewhere(report):
    log = conversation(note=SEEN) + conversation(id="case-2").replace(
        f'"tool_call_id":"c1","content":"{SEEN}"', f'"tool_call_id":"c1","outcome":"{SEEN}"'
    )
    told = report(log)
    assert told.left_out["result without its content"].count == 1


def test_arguments_under_an_unknown_field_are_kept_and_named(report):
    told = report(conversation().replace('"arguments"', '"given"'))
    assert told.calls == 1
    assert any("known field for arguments" in what for what in told.left_out)


def test_an_answer_without_text_is_counted(report):
    log = conversation().replace(f'"content":"{SAID}"', '"content":""')
    assert "1 answer without text" in report(log).coverage.summary()


def test_another_reading_than_the_first_says_why(report, shared_data):
    log = shared_data("logs/swe-agent/marshmallow-1867.function_calling_replace.traj").read_text()
    told = report(log.replace('"observation":', '"seen":'))
    assert told.format != "swe-agent"
    assert "; not read as swe-agent: " in told.coverage.summary()


def test_a_canonical_file_accounts_for_itself(report):
    step = {"thought": "I pay.", "action": 'pay({"n":1})', "observation": SEEN, "remark": SAID}
    log = orjson.dumps({"task_id": "t1", "instruction": WORDS, "environment": "shop", "trial": 0, "steps": [step]})
    told = report(log.decode() + "\n")
    assert told.coverage.summary().startswith("1 call of 1, ")
    assert told.coverage.kept >= len(SAID)
    assert told.coverage.explained == len(WORDS + "I pay." + 'pay({"n":1})' + SEEN)
    assert "field remark of a step kept in extra" in told.left_out


def test_json_lines_whose_records_hold_a_list_of_a_wrapper_s_name_are_read(tmp_path, data_dir):
    talk = {"conversations": [{"from": "human", "value": "Pay"}, {"from": "gpt", "value": "Paid."}]}
    log = tmp_path / "talks.jsonl"
    log.write_bytes(orjson.dumps({"id": "a", **talk}) + b"\n" + orjson.dumps({"id": "b", **talk}) + b"\n")
    report = ingest.import_file(log, "r", "auto", lambda _: None)
    assert (report.rejected, report.imported, report.format) == ([], 2, "sharegpt")
