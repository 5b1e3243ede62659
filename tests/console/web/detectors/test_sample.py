"""The metrics of a large run use a sample, which the page, the files and the commands state."""

import csv
import json

import pytest
from sqlalchemy import insert, update
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import reading, writing
from console.detection.evaluation import dashboard, metrics
from console.review.overview import build_overview
from console.runs import status
from console.trajectory import Label
from storage import tables
from tests.verdicts import a_run, judge, of_run

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED
MORE = 7_000
ALL = status.SAMPLED + MORE
STATED = f"5,000 of {ALL:,} trajectories"


@pytest.fixture
def large():
    """A run that the detector judges without an error, except for those whose digests come last: the first imported."""
    a_run("large", [BAD])
    with writing() as session:
        first = session.exec(select(tables.Trajectory)).one()
        row = {**first.model_dump(exclude={"id"}), "label": GOOD}
        rows = [row | {"digest": f"b{at:05}", "label": (GOOD, BAD)[at % 2]} for at in range(MORE - 1)]
        rows += [row | {"digest": f"a{at:05}", "label": (GOOD, BAD)[at % 2]} for at in range(status.SAMPLED)]
        first.digest = "b99999"
        session.execute(insert(tables.Trajectory), rows)
    wrong = [0.1, *((0.9, 0.1)[at % 2] for at in range(MORE - 1))]
    judge("large", "rules", [*wrong, *((0.1, 0.9)[at % 2] for at in range(status.SAMPLED))], latency_ms=1_000.0)
    return "large"


@pytest.mark.at_length
def test_the_metrics_are_those_of_the_smallest_digests(large):
    found = of_run(large, dashboard.build_dashboard)
    assert (found.figures["rules"]["macro_f1"], found.figures["rules"]["n"]) == (1.0, status.SAMPLED)
    assert of_run(large, metrics.evaluate)["rules"]["sample"] == {"trajectories": status.SAMPLED, "of": ALL}
    assert set(found.sample.add_to(found.figure_table())["sample"]) == {STATED}
    whole = dashboard.inspections_table(found.scores["rules"], found.population, 0.5, None, halted_free=False)
    assert whole["inspections"].tolist() == [ALL // 2]
    assert found.spending[["verdicts", "seconds"]].values.tolist() == [[ALL, ALL]]


@pytest.mark.at_length
def test_a_change_beyond_the_sample_does_not_measure_again(large):
    before = of_run(large, dashboard.dashboard_version)
    with writing() as session:
        verdicts = session.exec(select(tables.Verdict).order_by(tables.Verdict.id)).all()
        verdicts[0].threshold = 0.95
    assert of_run(large, dashboard.dashboard_version) == before
    with writing() as session:
        session.get_one(tables.Verdict, verdicts[-1].id).threshold = 0.95
    assert of_run(large, dashboard.dashboard_version) != before


def test_the_page_states_it(large, open_page, words):
    at = open_page("detectors")
    said = words(at)
    assert f"Results use a sample: {STATED}, those with the smallest content digests." in said
    flags = "rules flags 2,500 of 2,500 misaligned and 0 of 2,500 aligned trajectories, by gold label."
    assert flags in [one.value for one in at.text]
    assert f"About **{ALL // 2:,} inspections**" in said


@pytest.mark.at_length
def test_the_commands_and_their_files_state_it(large, capsys, tmp_path):
    def run(*arguments):
        assert run_command(arguments) == 0
        return capsys.readouterr().out

    of = {"trajectories": status.SAMPLED, "of": ALL}
    assert json.loads(run("evaluate", large, "--json"))["rules"]["sample"] == of
    assert f"use a sample: {STATED}" in run("evaluate", large)
    curve = json.loads(run("oversight", large, "--out", str(tmp_path / "curve.csv"), "--json"))
    assert (curve["sample"], curve["curves"][0]["flagged"]) == (of, 2_500)
    rows = csv.DictReader((tmp_path / "curve.csv").read_text().splitlines())
    assert {row["sample"] for row in rows} == {STATED}
    assert f"use a sample: {STATED}" in run("oversight", large)


def test_requirement_lines_are_counted_in_the_sample_and_reviewed_ones_in_the_run(large, open_page, words, capsys):
    line = {"kind": "thing", "binding": "", "value": "kettle", "standing": "met"}
    with writing() as session:
        verdicts = session.exec(select(tables.Verdict).order_by(tables.Verdict.id)).all()
        for at, one in enumerate(verdicts):
            # Beyond the sample each table has a second line.
            table = {"lines": [line] * (1 + (at < MORE)), "dropped": 0, "harmless": False}
            one.requirements = json.dumps(table)
        # The first and the last imported are decided.
        for one in (verdicts[0], verdicts[-1]):
            place = {"run_id": one.run_id, "trajectory_id": one.trajectory_id, "step": one.step, "kind": one.kind}
            item = tables.Item(**place, trial=0, priority=1.0, open_slots=0, verdict_id=one.id, created_ms=1)
            session.add(item)
            session.flush()
            told = {"feedback_type": "nl", "action_digest": "d", "budget_used": 1, "submit_key": f"s{one.id}"}
            times = {"claimed_ms": 1, "decided_ms": 2, "deliverable_ms": 2}
            session.add(tables.Decision(item_id=item.id, reviewer="ada", decision="reject", **told, **times))
    capsys.readouterr()
    assert run_command(["detector", "lines", large, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["verdicts"], told["lines"], told["reviewed"]) == (status.SAMPLED, status.SAMPLED, 2 + 1)
    assert told["sample"] == {"trajectories": status.SAMPLED, "of": ALL}
    assert run_command(["detector", "lines", large]) == 0
    assert f"use a sample: {STATED}" in capsys.readouterr().out
    said = "Verdicts and lines are counted in the sample, reviewed and corrected lines in the whole run."
    assert said in words(open_page("detectors"))


def test_a_run_of_the_size_of_a_sample_is_read_whole(data_dir):
    a_run("small", [BAD, GOOD] * 3)
    judge("small", "rules", [0.9, 0.1] * 3)
    with reading() as session:
        run = runs.get(session, "small")
        assert status.draw_sample(session, run).stated == ""
        assert "sample" not in metrics.evaluate(session, run)["rules"]


@pytest.mark.at_length
def test_the_overview_states_its_estimates_and_solves_no_more_tasks_than_there_are(large, open_page, words):
    with writing() as session:
        session.execute(update(tables.Trajectory).values(outcome="succeeded"))
        runs.get(session, large).detector = "rules"
        overview = build_overview(session, runs.get(session, large), 1)
    (flow,), (solved,) = overview.flows, overview.solved
    assert (flow.attempts, flow.solved, overview.tasks, solved.tasks) == (ALL, ALL, 1, 1)
    said = words(open_page("runs"))
    assert flow.judged == ALL
    assert f"Tasks solved are estimated from a sample of {STATED}; all other counts are exact." in said
    assert "Trial 0: **1 of 1 task** solved." in said
    assert f"This permanently deletes {ALL:,} trajectories with all items" in said
