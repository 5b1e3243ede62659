"""Every format's own log: each call, result, label, picture and decision is read, what is not understood is named."""

import codecs
from collections import Counter

import pytest

from console.errors import UnreadableFile
from console.runs.importers import read_log
from console.runs.importers.records import DECIDED, Found
from console.trajectory import from_json
from tests.console.runs.importers.samples import SAMPLES


@pytest.fixture(params=SAMPLES)
def name(request):
    return request.param


def found(entries):
    assert all(isinstance(entry, Found) for entry in entries), entries
    return [entry.trajectory for entry in entries]


def test_every_call_and_answer_is_read(write, entries, name):
    sample = SAMPLES[name]
    path = write("something.dat", sample.content)
    assert read_log(path)[0] == name
    read = found(entries(path))
    assert [[step.action for step in one.steps] for one in read] == sample.actions
    assert [one.label for one in read] == sample.labels
    assert {step.speaker for one in read for step in one.steps} - {""} == sample.speakers


def test_what_is_not_understood_is_counted_and_named(write, entries, name):
    sample = SAMPLES[name]
    read = entries(write("log", sample.content))
    told = Counter()
    for entry in read:
        told.update({what: one.count for what, one in entry.left_out.items()})
    assert told == sample.left_out


def test_pictures_and_decisions_are_kept(write, entries, name):
    sample = SAMPLES[name]
    read = entries(write("log", sample.content))
    shown = [picture for one in found(read) for step in one.steps for picture in step.pictures]
    shown += [picture for one in found(read) for picture in one.pictures]
    assert len(shown) == sample.pictures
    assert {picture.digest for picture in shown} == {digest for entry in read for digest in entry.pictures}
    assert sum(DECIDED in step.extra for one in found(read) for step in one.steps) == sample.decisions


def test_a_damaged_twin_is_refused_with_its_line_and_the_reason(write, entries, name):
    sample = SAMPLES[name]
    with pytest.raises(UnreadableFile) as refused:
        entries(write("log", sample.damaged), name)
    assert refused.value.line == sample.line
    assert sample.reason in refused.value.reason


def test_a_mark_and_windows_line_ends_change_nothing(write, trajectories, name):
    plain = trajectories(write("log", SAMPLES[name].content))
    marked = trajectories(write("log", codecs.BOM_UTF8 + SAMPLES[name].content.replace(b"\n", b"\r\n")))
    assert marked == plain


def test_canonical_and_back(write, trajectories, name):
    for one in trajectories(write("log", SAMPLES[name].content)):
        assert from_json(one.to_json()) == one
