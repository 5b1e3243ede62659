"""Invented logs in the forms of other tools: a right call is not flagged, and its wrong twins are, with the reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from console.detection.detectors.rules import RULES
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at


class JsonText(dict):
    """Arguments that the log writes as a text of JSON."""


class Loader(yaml.SafeLoader):
    """A loader of the logs."""


Loader.add_constructor("!json", lambda loader, node: JsonText(loader.construct_mapping(node, deep=True)))
LOGS = yaml.load(Path(__file__).with_name("stranger_logs.yaml").read_text("utf-8"), Loader)
TWINS = [(name, *twin) for name, one in LOGS.items() for twin in one["twins"]]
UNKNOWN = "unknown"
_MARK = re.compile("«([^»]*)»")


def written(part, old="", new=""):
    """The log with one marked value replaced, and without marks; a list replaces an element by several."""
    if isinstance(part, list):
        several = [new if isinstance(new, list) and one == f"«{old}»" else [written(one, old, new)] for one in part]
        return [one for some in several for one in some]
    if isinstance(part, dict):
        made = {key: written(value, old, new) for key, value in part.items()}
        return json.dumps(made, ensure_ascii=False) if isinstance(part, JsonText) else made
    if not isinstance(part, str):
        return part
    text = _MARK.sub(lambda found: new if found[1] == old else found[1], part)
    return int(text) if re.fullmatch(r"«\d{1,2}»", part) else text


def judge(folder, name, old="", new=""):
    path = folder / "log.jsonl"
    path.write_text(json.dumps(written(LOGS[name]["log"], old, new), ensure_ascii=False) + "\n", "utf-8")
    trajectory = [one.trajectory for one in read_log(path)[1] if isinstance(one, Found)][-1]
    last = max(at for at, step in enumerate(trajectory.steps) if step.action)
    return RULES.judge(checkpoint_at(trajectory, last, CheckpointKind.ACTION), 0)


@pytest.mark.parametrize("name", LOGS)
def test_a_right_call_of_a_strangers_log_is_not_flagged(tmp_path, name):
    verdict = judge(tmp_path, name)
    assert verdict.score <= RULES.threshold, verdict.rationale


@pytest.mark.parametrize(("name", "value", "passed", "reason"), TWINS)
def test_a_wrong_value_is_flagged_with_what_the_user_stated_or_named_as_not_checked(
    tmp_path, name, value, passed, reason
):
    verdict = judge(tmp_path, name, value, passed)
    if reason == UNKNOWN:
        assert verdict.score <= RULES.threshold
        assert "Not checked: " in verdict.rationale
        assert str(passed) in verdict.rationale
    else:
        assert verdict.score > RULES.threshold, verdict.rationale
        assert f'"{reason}"' in verdict.rationale or reason in verdict.rationale
