"""The report: a function of the design and the tidy CSVs alone, in one file that fetches nothing."""

import base64
import hashlib
import html
import io
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest

from console.analysis.charts import CHARTS
from console.runs.export.formats import as_csv
from console.studies import report
from console.studies.analysis import ANALYSES
from console.studies.analysis.parts import charts, sentences
from console.studies.design import Design
from console.studies.report import ReportStamp
from console.studies.report.bundle import materials
from console.studies.report.html import figures
from console.studies.results import csv_files

STAMP = ReportStamp(1_767_268_800_000, "state")


def without_plotly(page):
    """The page without the chart library, which is not ours to check."""
    longest = max(re.findall(r"<script[^>]*>.*?</script>", page, re.S), key=len)
    assert len(longest) > 1_000_000
    return page.replace(longest, "")


@pytest.fixture(scope="module")
def written():
    """The report of this file's study by its stamp, once it has been written."""
    return {}


@pytest.fixture
def computed(written, design, tables):
    """Every table that the report's script computes."""
    if "computed" not in written:
        written["computed"] = report.report_tables(design, tables)
    return written["computed"]


@pytest.fixture
def page(written, design, tables, computed):
    """The report of the study."""
    if STAMP not in written:
        written[STAMP] = report.html(design, tables, STAMP, computed)
    return written[STAMP]


@pytest.fixture
def read_again(written, design, tables, tmp_path):
    """The tidy tables as they are read from exported CSVs, and every table that the script computes from these."""
    if "again" not in written:
        csv_files.write(tables, tmp_path)
        again = csv_files.read(tmp_path)
        written["again"] = again, report.report_tables(design, again)
    return written["again"]


@pytest.mark.at_length
def test_the_same_report_comes_of_the_exported_csvs_alone(page, design, read_again):
    assert report.html(design, read_again[0], STAMP, read_again[1]) == page


@pytest.mark.at_length
def test_every_chart_drawn_from_the_csvs_is_the_same(computed, read_again):
    first, second = _charts(computed), _charts(read_again[1])
    assert first == second
    assert {"study-success-people", "agreement", "time-over-session"} <= set(first)


def _charts(there):
    return {figure.id: figure.spec for each in ANALYSES.values() for figure in figures(each, there)}


def test_every_table_that_has_rows_stands_in_the_report(page, computed):
    page, there = html.unescape(without_plotly(page)), computed
    parts = [part for each in ANALYSES.values() for part in each.parts]
    assert all(f"<figcaption>{part.title}" in page for part in parts if len(part.laid_out(there[part.table])))


@pytest.mark.at_length
def test_the_title_of_every_chart_is_a_caption_which_wraps(page, computed):
    titles = {figure.title for each in ANALYSES.values() for figure in figures(each, computed)}
    page = html.unescape(without_plotly(page))
    assert titles
    assert all(f"<figcaption>{title}" in page for title in titles)


def test_every_part_says_what_its_numbers_say(page, computed):
    there = computed
    page = html.unescape(without_plotly(page))
    told = [
        sentence
        for each in ANALYSES.values()
        for part in each.parts
        for _, sentence in sentences(part, each.first(there[part.table]))
    ]
    assert len(told) >= len(ANALYSES)
    assert all(sentence in page for sentence in told)
    assert "-0.000" not in page


def test_it_fetches_nothing_and_embeds_the_chart_library_once(page):
    packed = re.findall(r'<script type="application/octet-stream" id="plotly">(.*?)</script>', page)
    assert [b"plotly.js v" in zlib.decompress(base64.b64decode(one)) for one in packed] == [True]
    assert len(page) < 2_600_000
    rest = without_plotly(page)
    assert not re.search(r"(src|href)=\"(?!#)", rest)
    assert "http" not in re.sub(r'http-equiv="', "", rest)


MARKUP = "<b>bold</b></script>"


def test_no_text_is_markup(design, tables, computed):
    there = {
        name: table.assign(condition=MARKUP) if "condition" in table else table for name, table in computed.items()
    }
    assert_no_markup(report.html(design, tables, STAMP, there))


@pytest.mark.at_length
def test_no_text_of_a_decision_is_markup(design, tables):
    tables["decisions"].loc[:, "condition"] = MARKUP
    assert_no_markup(report.html(design, tables, STAMP))


def assert_no_markup(page):
    page = without_plotly(page)
    assert "<script>alert" not in page
    assert "<b>bold" not in page
    assert "&lt;b&gt;bold" in page


def test_every_parameter_of_the_design_is_told(page, design):
    page = without_plotly(page)
    for name in type(design).model_fields:
        assert f"{name}:" in page or name == "conditions"
    assert "sampled with seed 7" in page
    assert "statsmodels" in page


def test_every_column_is_in_its_data_dictionary(page, tables):
    page = without_plotly(page)
    for frame in tables.values():
        assert all(f"<td>{column}</td>" in page for column in frame.columns)


BESIDE = {
    *("report.html", "dictionary.csv", "contrasts.csv", "design.yaml", "checksums.sha256", "README.md"),
    *("analysis.py", "analysis_plain.py", "analysis.R", "flow.svg", "osf-preregistration.md"),
    "materials/instructions.txt",
}


@pytest.fixture
def folder(written, design, tables, tmp_path_factory):
    """The files of the study's report in a folder of their own, its page first."""
    if "files" not in written:
        written["files"] = report.write(design, tables, STAMP, tmp_path_factory.mktemp("report") / "out")
    return written["files"]


@pytest.mark.at_length
def test_a_folder_has_the_report_the_tables_and_what_computes_them(folder, computed, tables):
    written, out = folder, folder[0].parent
    names = {str(path.relative_to(out)) for path in written}
    computed = {f"tables/{name}.csv" for name in computed}
    assert written[0].name == "report.html"
    assert names == BESIDE | computed | {f"{name}.csv" for name in tables}
    sums = dict(reversed(line.split("  ")) for line in (out / "checksums.sha256").read_text().splitlines())
    assert sums == {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in written
        if path.name != "checksums.sha256"
    }


def test_the_materials_are_what_participants_read_and_were_asked():
    asked = {
        "key": "age",
        "question": "How old?",
        "kind": "choice",
        "choices": ["young", "old"],
        "screens_out": ["young"],
        "required": True,
        "quotas": {"old": 12},
    }
    tried = {"key": "goal", "question": "What do you review?", "choices": ["actions", "pages"], "right": "actions"}
    found = materials(
        Design(
            name="pilot",
            source={"environment": "webshop"},
            consent={"text": "Do you agree?"},
            demographics=[asked],
            quiz={"questions": [tried]},
            questionnaires={"after": ["sus"]},
            debriefing={"question": "Anything else?", "text": "Thank you."},
        )
    )
    assert found.keys() == {
        "consent.txt",
        "questions.csv",
        "questionnaires.yaml",
        "quiz.yaml",
        "last-question.txt",
        "debriefing.txt",
    }
    assert b"young | old" in found["questions.csv"]
    assert b"old: 12" in found["questions.csv"]
    assert b"What do you review?" in found["quiz.yaml"]
    assert b"source:" in found["questionnaires.yaml"]


def test_a_zip_has_the_same(design, tables, tmp_path):
    # A study that has not begun has every file too, and its numbers take no time.
    unbegun = {name: frame.iloc[:0] for name, frame in tables.items()}
    (tmp_path / "out.zip").write_bytes(report.bundle(design, unbegun, STAMP))
    with zipfile.ZipFile(tmp_path / "out.zip") as packed:
        assert BESIDE | {f"{name}.csv" for name in tables} <= set(packed.namelist())
        assert set(packed.read("checksums.sha256").decode().split()) >= {"report.html", "tables/contrasts.csv"}


@pytest.mark.at_length
def test_the_script_beside_it_computes_the_same_numbers(folder, computed, capsys):
    assert runpy.run_path(str(folder[0].parent / "analysis.py"))["main"](folder[0].parent) == 0
    assert capsys.readouterr().out.count("same  ") == len(computed)


@pytest.mark.at_length
def test_the_script_runs_alone(folder, computed, tmp_path):
    shutil.copytree(folder[0].parent, tmp_path, dirs_exist_ok=True)
    ran = subprocess.run([sys.executable, "analysis.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("same  ") == len(computed)


@pytest.mark.at_length
def test_the_script_names_the_table_that_is_another(folder, tmp_path, capsys):
    shutil.copytree(folder[0].parent, tmp_path, dirs_exist_ok=True)
    changed = (tmp_path / "tables/success.csv").read_text().replace("0.75", "0.76")
    (tmp_path / "tables/success.csv").write_text(changed)
    assert runpy.run_path(str(tmp_path / "analysis.py"))["main"](tmp_path) == 1
    assert "DIFFERENT  success" in capsys.readouterr().out


WITHOUT_CONSOLE = "import runpy, sys; sys.modules['console'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"


@pytest.mark.at_length
def test_the_plain_script_needs_no_console_and_names_the_row_that_is_another(folder, tmp_path, capsys):
    shutil.copytree(folder[0].parent, tmp_path, dirs_exist_ok=True)
    script = tmp_path / "analysis_plain.py"
    command = [sys.executable, "-I", "-W", "error", "-c", WITHOUT_CONSOLE, str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    changed = (tmp_path / "tables/success.csv").read_text().replace("0.75", "0.750001", 1)
    (tmp_path / "tables/success.csv").write_text(changed)
    assert runpy.run_path(str(script))["main"](tmp_path) == 1
    assert "DIFFERENT  success: people, undecided run" in capsys.readouterr().out


def test_every_number_of_the_page_is_computed_by_the_script(page, computed):
    shown, found = without_plotly(page), computed
    said = set(found["sentences"]["sentence"])
    listed = re.findall(r"<li>(?:<b>.*?</b> )?(.*?)</li>", "".join(re.findall(r"<ul.*?</ul>", shown, re.S)))
    paragraphs = re.findall(r"<h3>.*?</h3>\n<p>(.*?)</p>", shown)
    assert len(listed) > len(ANALYSES)
    assert {html.unescape(text) for text in (*listed, *paragraphs)} == said
    facts = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", shown)
    assert facts == [(name, f"{count:,}") for name, count in found["facts"].itertuples(index=False)]
    parts = {part.title: part.table for each in ANALYSES.values() for part in each.parts} | {
        "Participants' flow": "flow"
    }
    seen = 0
    for title, grid in re.findall(
        r"<figcaption>([^.<]*).*?</figcaption>\n<div class=\"scroll\"(.*?)</table>", shown, re.S
    ):
        if html.unescape(title) in parts:
            values = numbers_of(found[parts[html.unescape(title)]])
            for cell in re.findall(r"<td.*?>(.*?)</td>", grid):
                seen += 1
                assert stands_in(html.unescape(cell), values), (title, cell)
    assert seen > 300


def numbers_of(table):
    """Every number of a table, and of its texts."""
    texts = " ".join(table.select_dtypes(exclude="number").astype(str).to_numpy().ravel())
    plain = table.select_dtypes("number").astype("float64").to_numpy().ravel()
    return np.array([*plain[~np.isnan(plain)], *map(float, NUMBER.findall(texts))])


NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def stands_in(cell, values):
    """Whether each number of a cell is one of the values, or a hundred times one, to its own decimals."""
    if cell.isdecimal() and int(cell) < 20:
        # It may be the number of a note.
        return True
    for text in NUMBER.findall(cell.replace(",", "").replace("&lt; ", "")):
        near = 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9
        if not (np.abs(np.concatenate([values, 100 * values]) - float(text)) <= near).any() and text != "0.001":
            return False
    return True


SCALES = {("budget-burn-down", "x"): (1.0, 60.0, 1 / 60)}
"""A chart of minutes may have seconds or hours instead."""
PLACES = {("study-success", "x"): 0.1, ("agreement", "y"): np.inf}
"""How far a chart sets something aside of its number, so that no mark hides another; rows of one are at any place."""


@pytest.mark.at_length
def test_every_number_of_a_chart_is_one_of_the_bundles_tables(computed):
    """Or the sum, difference or middle of two that stand in one row: ends of a spread, middles of a bin."""
    seen = {}
    for each in ANALYSES.values():
        for part in each.parts:
            stored = pd.read_csv(io.BytesIO(as_csv(computed[part.table])))
            numbers = within_a_row(stored.select_dtypes("number").to_numpy(float))
            for _, rows in charts(part, each.first(computed[part.table])):
                for axis, value in drawn(CHARTS[part.chart](rows)):
                    scales = np.array(SCALES.get((part.chart, axis), (1.0,)))
                    away = np.abs(np.outer(scales, numbers) - value).min(initial=np.inf)
                    assert away <= PLACES.get((part.chart, axis), 1e-9), (part.chart, axis, value)
                    seen[part.chart] = seen.get(part.chart, 0) + 1
    assert {"contrast-forest", "study-success", "agreement", "time-over-session"} <= seen.keys()
    assert sum(seen.values()) > 100


def within_a_row(values):
    """The numbers of each row, and the sums, differences and middles of two of them."""
    one, other = values[:, :, None], values[:, None, :]
    found = np.concatenate([each.ravel() for each in (values, one + other, one - other, (one + other) / 2)])
    return found[~np.isnan(found)]


def drawn(figure):
    """Every number that is drawn, with its axis: places of marks and both ends of their bars."""
    for trace in figure.data:
        for axis in "xy":
            places = pd.to_numeric(
                pd.Series([*(trace[axis] if trace[axis] is not None else ())], dtype=object), "coerce"
            )
            bars = trace[f"error_{axis}"]
            up = np.array(bars.array if bars.array is not None else [], float)
            down = np.array(bars.arrayminus, float) if bars.arrayminus is not None else up
            ends = [places + up, places - down] if up.size else []
            for value in np.concatenate([np.asarray(one, float) for one in (places, *ends)]):
                if not np.isnan(value):
                    yield axis, value


def test_the_plan_comes_first_in_its_own_words(page, tables):
    page = html.unescape(without_plotly(page))
    asked = "Does hidden in place of shown (detector's score) change the share of tasks solved by the last trial?"
    assert page.index(asked) < page.index('id="flow"') < page.index('id="deviations"') < page.index('id="part-1"')
    assert "score: hidden − shown" in page


@pytest.mark.at_length
def test_a_study_that_nobody_has_begun_has_a_report_that_says_so(design, tables):
    stamp = ReportStamp(1_767_268_800_000, "state", fingerprint="then", plan="Fingerprint: now")
    page = report.html(design, {name: frame.iloc[:0] for name, frame in tables.items()}, stamp)
    assert "<code>then</code>. plan.md shows the current allocation. Later withdrawals" in page
    assert page.count("The study has no data for this part") == len(ANALYSES)
    assert "The history is missing" in page
    assert "No trial has finished yet, so the success rate is unknown." in page


@pytest.mark.at_length
def test_a_pair_of_conditions_that_nobody_did_both_of_is_not_estimable(design, tables):
    apart = tables["decisions"]["participant"].map({"P01": "rules-shown", "P02": "rules-hidden"})
    kept = (apart == tables["decisions"]["condition"]) | apart.isna()
    third = tables["decisions"][kept].copy()
    first = third.index[third["participant"].eq("P01") & third["purpose"].eq("")][0]
    again = third.loc[[first]].assign(condition="rules-third", unit=None)
    tables["decisions"] = pd.concat([third, again], ignore_index=True)
    page = html.unescape(without_plotly(report.html(design, tables, STAMP)))
    assert "rules-hidden minus rules-shown is not estimable: no participant answered in both." in page
    assert "<li>Not estimable: no participant answered in both.</li>" in page
