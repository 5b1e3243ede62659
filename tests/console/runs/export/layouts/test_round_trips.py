"""What each way out brings back: the same trajectories, but for what the export said that its file does not hold."""

import json
from dataclasses import replace

import pytest

from console.cli import run_command
from console.database import database_url
from console.errors import Refused
from console.runs import export
from console.runs.export.layouts import LAYOUTS
from console.runs.importers import otel
from console.runs.importers.parts.json_records import Record
from tests.benchmarks.round_trips import try_log
from tests.console.runs.importers.samples import SAMPLES
from tests.logs import purchase, stuck, write_log
from tests.sweeps import sweep


@sweep("name", ["jsonl", "claude-code", "swe-agent", "tau-bench", "openhands", "inspect", "bfcl"])
def test_an_export_is_imported_as_the_same_trajectories_but_for_pictures(name, tmp_path, data_dir):
    tried = dict(try_log(f"sample {name}", SAMPLES[name].content, tmp_path))
    assert tried.keys() >= {"trajectories", "openai-messages", "otlp"}
    assert tried.pop("trajectories") == []
    assert {aspect for differs in tried.values() for aspect in differs} <= {"pictures"}


def test_an_export_names_what_its_file_does_not_hold(tmp_path, data_dir, capsys):
    log = tmp_path / "log.eval.json"
    log.write_bytes(SAMPLES["anthropic-messages"].content)
    assert run_command(["trajectory", "import", str(log), "--run", "r"]) == 0
    capsys.readouterr()
    assert run_command(["export", "otlp", "--run", "r", "--out", str(tmp_path / "out.jsonl")]) == 0
    assert "Not in the file: 1 picture" in capsys.readouterr().out
    assert run_command(["export", "otlp", "--run", "r", "--out", str(tmp_path / "b.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"]["picture"] == 1


def test_a_file_that_lost_a_unit_is_not_exported(tmp_path, data_dir, monkeypatch):
    log = write_log(tmp_path / "log.jsonl", purchase(1, wrong=True), stuck(2))
    assert run_command(["trajectory", "import", str(log), "--run", "r"]) == 0

    def write_one_line(_source, stream):
        stream.write(b"{}\n")
        return 2

    losing = replace(LAYOUTS["otlp"], write=write_one_line)
    monkeypatch.setitem(LAYOUTS, "losing", losing)
    with pytest.raises(Refused, match="holds 1 traces, but 2 were written"):
        export.export_layout(database_url(), "losing", "r", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_the_label_of_a_live_trace_is_not_taken_from_its_agent(tmp_path, data_dir):
    told = {"inferact.task_id": "t", "inferact.gold_label": "aligned", "inferact.outcome": "succeeded"}
    told |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    trace = [Record(1, {"traceId": "1" * 32, "spanId": "2" * 16, "attributes": told})]
    live, filed = (otel.read_trace(tmp_path, "1" * 32, trace, is_file=is_file).trajectory for is_file in (False, True))
    assert (live.task_id, live.label, live.outcome) == ("t", None, "finished")
    assert (filed.label, filed.outcome) == ("aligned", "succeeded")
