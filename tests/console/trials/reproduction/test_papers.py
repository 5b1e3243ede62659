"""A paper's tables: printed beside measured, continued after an interruption, and what is missing by name."""

import csv
from collections import Counter
from io import StringIO

import pytest
from sqlmodel import select

from console.cli import run_command
from console.database import reading
from console.errors import BadInput
from console.runs.trajectory_rows import task_spec
from console.settings import settings
from console.trials import quota_loop
from console.trials.quota_loop import QuotaLoop
from console.trials.reproduction import papers, report
from console.trials.reproduction.papers import Reproduction
from console.trials.reproduction.tables import Cell, list_left_out, list_printed
from storage import tables
from tests.sweeps import sweep


class Killed(Exception):
    """Stands for the end of the process."""


def killing(after):
    """A watch that ends the work once so many trials have been played."""
    played = 0

    class Watch:
        def __enter__(self):
            return self.tell

        def __exit__(self, *_):
            return None

        def tell(self, done, total):
            nonlocal played
            played += 1
            if played == after:
                raise Killed

    return lambda name: Watch()


def outcomes(run):
    with reading() as session:
        row = tables.Trajectory
        of_run = select(tables.Run.id).where(tables.Run.name == run).scalar_subquery()
        found = session.exec(select(row.trial, row.task_id, row.outcome).where(row.run_id == of_run))
        rows = sorted(found.all())
    first = min(task for _, task, _ in rows)
    return [(trial, task - first, outcome) for trial, task, outcome in rows]


@sweep("after", [2, 5], kept=1)
def test_a_loop_that_was_killed_ends_as_one_that_was_not(data_dir, tmp_path, monkeypatch, after):
    loop = QuotaLoop("hotpotqa", 4, "full-validation", "nl", trials=1)
    with pytest.raises(Killed):
        quota_loop.play_loop(loop, killing(after))
    resumed = outcomes(quota_loop.play_loop(loop))
    assert outcomes(quota_loop.play_loop(loop)) == resumed
    monkeypatch.setenv("INFERACT_DATA_DIR", str(tmp_path / "undisturbed"))
    settings.cache_clear()
    assert outcomes(quota_loop.play_loop(loop)) == resumed
    assert {trial for trial, *_ in resumed} == {0, 1}


@pytest.mark.at_length
def test_the_wanted_tables_have_printed_figures_beside_measured_ones(data_dir):
    cells = papers.reproduce(Reproduction("inferact", tasks=3, wanted=frozenset({5, 6})))
    assert {one.table for one in cells} == {5, 6}
    shop = {one.metric: one for one in cells if one.place[:2] == (5, "webshop")}
    assert [shop[name].printed for name in ("successful", "failed", "halted", "total")] == [90, 182, 28, 300]
    assert shop["total"].measured == 3 == sum(shop[name].measured for name in ("successful", "failed", "halted"))
    assert list_left_out(cells) == ["Table 6: 12 figures, not run: it needs the scores of a model on separate tasks."]


@pytest.mark.at_length
def test_a_command_writes_a_page_and_a_row_per_figure_and_plays_nothing_twice(data_dir, tmp_path, capsys):
    command = ["paper", "autoplan", "--offline", "--tasks", "6", "--tables", "1", "--out", str(tmp_path)]
    assert run_command(command) == 0
    assert "6 of 53 figures have a measured value." in capsys.readouterr().out
    sheet = (tmp_path / report.CSV).read_text()
    rows = list(csv.DictReader(StringIO(sheet)))
    heat = [row for row in rows if row["metric"] == "heat"]
    assert {row["row"]: row["printed"] for row in heat}["ReAct (0 shot)"] == "35.0"
    assert sum(int(row["n"]) for row in rows if row["n"]) == 6
    assert "<h2>Table 1</h2>" in (tmp_path / report.HTML).read_text()
    assert run_command(command) == 0
    assert (tmp_path / report.CSV).read_text() == sheet
    with reading() as session:
        assert len(session.exec(select(tables.Run)).all()) == 1


@pytest.mark.at_length
def test_fine_errors_are_an_option_of_the_household_table(data_dir, tmp_path):
    command = ["paper", "autoplan", "--offline", "--tasks", "6", "--tables", "1", "--out", str(tmp_path)]
    assert run_command(command) == run_command([*command, "--fine-errors"]) == 0
    assert "ALFWorld explains why an action had no effect." in (tmp_path / report.HTML).read_text()
    with reading() as session:
        found = {
            run.name.endswith(" fine errors"): {task_spec(task).options.get("errors") for task in of_run}
            for run in session.exec(select(tables.Run)).all()
            for of_run in [session.exec(select(tables.Task).where(tables.Task.run_id == run.id)).all()]
        }
    assert found == {False: {None}, True: {"fine"}}


def test_the_baselines_of_autoplan_play_in_its_loop_and_learn_the_appliances_too():
    asked = Reproduction("autoplan", model="m")
    for name in ("autoplan", "react", "react-0-shot"):
        found = papers._cast(asked, name).actor
        assert (found.step_cap("hotpotqa"), found.step_cap("alfworld")) == (10, 35)
    assert papers._cast(Reproduction("inferact", model="m"), "react").actor.step_cap("alfworld") is None


def test_text_on_the_page_is_escaped():
    page = report.render_page(Reproduction("inferact"), [Cell(1, "<b>shop</b>", "direct", "er", note="a & b")])
    assert "&lt;b&gt;shop&lt;/b&gt;" in page
    assert "a &amp; b" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("inferact",), "Add --offline"),
        (("inferact", "--offline", "--tables", "12"), "no table 12"),
        (("inferact", "--offline", "--tables", "x"), "not a list of numbers"),
        (("devils-advocate", "--offline", "--world", "browser=PAGES"), "does not act in a browser"),
    ],
)
def test_refusals_name_what_to_do(data_dir, tmp_path, capsys, arguments, said):
    (tmp_path / "tasks.yaml").write_text("tasks: []")
    arguments = [one.replace("PAGES", str(tmp_path)) for one in arguments]
    assert run_command(["paper", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_every_printed_figure_of_the_tables_is_there():
    per_table = Counter(one.table for one in list_printed("inferact"))
    # 9 methods and tasks of 3 models each have a PR-AUC only for the 4 methods with scores.
    assert per_table == {1: 63 * 3 + 36, 2: 27, 3: 51, 4: 10, 5: 12, 6: 12, 7: 3, 8: 72, 9: 7}
    assert Counter(one.table for one in list_printed("autoplan")) == {1: 47, 2: 4}
    assert len(list_printed("devils-advocate")) == 12


def test_a_table_that_the_paper_does_not_have_is_refused(data_dir):
    with pytest.raises(BadInput, match="Use one of 1, 2"):
        papers.reproduce(Reproduction("autoplan", wanted=frozenset({9})))


def test_a_chart_puts_each_measured_figure_beside_the_printed_ones():
    cells = [
        Cell(1, "webshop", "direct", "macro_f1", "<GPT>", 0.4),
        Cell(1, "webshop", "rules", "macro_f1", measured=0.7, low=0.6, high=0.8, n=20),
        Cell(1, "webshop", "rules", "cost", "GPT", 90.0, 3.0),
        Cell(1, "alfworld", "direct", "macro_f1", "GPT", 0.5, note="not run"),
    ]
    (chart,) = report.draw_charts(cells)
    assert "Macro-F1, webshop: here and in the paper" in chart
    assert '"x":[0.7]' in chart
    assert '"x":[0.4]' in chart
    assert "<GPT>" not in chart
    page = report.render_page(Reproduction("inferact"), cells)
    assert page.count('class="plotly-graph-div"') == 1
    assert "<script src" not in page
    assert "plotly" not in report.render_page(Reproduction("inferact"), cells[2:])
