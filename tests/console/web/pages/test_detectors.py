"""The Detectors page: what it measures, what it says where nothing can be measured."""

import re

import pytest

from console.detection import batch
from console.runs import ingest
from console.trajectory import Label
from tests.logs import purchase, write_log
from tests.verdicts import a_run, judge

BAD, GOOD = Label.MISALIGNED, Label.ALIGNED


@pytest.fixture
def shop():
    """A run of 40 that two detectors without a probability and one with it have judged."""
    a_run("shop", [BAD, GOOD] * 20, environment="webshop", trials=[0, 1] * 20)
    judge("shop", "rules", [0.9, 0.2, 0.8, 0.6] * 10)
    judge("shop", "random", [0.4, 0.6, 0.7, 0.1] * 10)
    judge("shop", "token-prob", [0.9, 0.1, 0.3, 0.2] * 10, probability=lambda score: score, model="m", requests=1)
    return "shop"


def table_html(at):
    return next(block.proto.body for block in at.get("html") if "<table>" in block.proto.body)


def row_of(html, name):
    return re.search(rf'<th scope="row">{re.escape(name)}</th>(.*?)</tr>', html)[1]


def test_without_a_run_it_says_what_to_do(open_page, words):
    assert "No runs yet" in words(open_page("detectors"))


def test_without_verdicts_it_names_the_command(open_page, words):
    a_run("bare", [BAD, GOOD])
    at = open_page("detectors")
    assert "No verdicts yet" in words(at)
    assert "inferact detect bare --method rules" in words(at)
    assert not at.get("plotly_chart")


def test_without_labels_it_shows_what_is_flagged_and_nothing_else(open_page, words):
    a_run("unknown", [None] * 4)
    judge("unknown", "rules", [0.9, 0.1, 0.8, 0.2])
    at = open_page("detectors")
    assert "No labels yet" in words(at)
    assert "2 inspections" in words(at)
    assert "No confusion matrix" in words(at)


@pytest.mark.at_length
def test_with_labels_of_one_kind_dashes_come_with_their_reason(open_page, words):
    a_run("one", [BAD] * 5, carried_over=[4])
    judge("one", "rules", [0.9, 0.1, 0.8, 0.2, 0.9])
    at = open_page("detectors")
    assert "PR-AUC, ROC-AUC of rules: needs both aligned and misaligned labels" in table_html(at)
    assert "ECE, Brier of rules: no probability" in table_html(at)
    assert "after enough reviews, convert the scores (<code>inferact recalibrate</code>)" in table_html(at)
    assert "inferact recalibrate one --detector rules" in [one.value for one in at.code]
    flags = "rules flags 2 of 4 misaligned and 0 of 0 aligned trajectories, by gold label; "
    flags += "1 more is a copy of earlier trials."
    assert flags in [one.value for one in at.text]
    assert "nan" not in words(at).lower().replace("finance", "")


def test_each_detector_has_its_figures_and_its_flags_in_words(open_page, shop):
    page = open_page("detectors")
    html = table_html(page)
    rules, random = row_of(html, "rules"), row_of(html, "random")
    assert "best of the column" not in random
    assert any(re.match(r"rules flags \d+ of \d+ misaligned and \d+ of \d+ aligned", one.value) for one in page.text)
    told = [one.value.split(" flags ")[0] for one in page.text if " flags " in one.value]
    assert told == [name for name in re.findall(r'<th scope="row">(.*?)</th>', html) if name in told]
    assert "0.733" in rules
    assert re.search(r"<small>[\d.]+ to [\d.]+</small>", rules)
    assert 'class="none"' in rules
    assert 'class="none"' not in row_of(html, "token-prob")


def test_all_charts_are_there_each_with_its_downloads(open_page, shop):
    at = open_page("detectors")
    assert len(at.get("plotly_chart")) == 9
    labels = [button.label for button in at.get("download_button")]
    assert labels.count("Table (CSV)") == 10
    assert labels.count("Chart (HTML)") == 9
    assert "All scores (CSV)" in labels


def test_the_threshold_moves_the_matrix_the_inspections_and_the_command(open_page, shop, words):
    at = open_page("detectors")
    at.selectbox(key="threshold-detector").select("rules").run()
    assert "**30 inspections**" in words(at)
    at.slider(key="threshold-shop-rules").set_value(0.7).run()
    assert "**20 inspections**" in words(at)
    assert [code.value for code in at.code] == ["inferact detect shop --method rules --threshold 0.7"]
    assert {metric.label: metric.value for metric in at.metric}["Macro-F1"] == "1.000"


@pytest.mark.at_length
def test_what_errors_cost_changes_the_weighted_cost_alone(open_page, shop):
    at = open_page("detectors")
    equal = row_of(table_html(at), "random")
    assert "Weighted cost" not in table_html(at), "with equal costs it is the cost, in other digits"
    at.number_input(key="miss_cost").set_value(5.0).run()
    before = row_of(table_html(at), "random")
    at.number_input(key="miss_cost").set_value(10.0).run()
    after = row_of(table_html(at), "random")
    assert "200.0" not in before
    unweighted, *cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in (equal, before, after)]
    changed = [place for place, (old, new) in enumerate(zip(*cells, strict=True)) if old != new]
    assert changed == [3]
    assert [cell for place, cell in enumerate(cells[0]) if place != 3] == unweighted


@pytest.mark.at_length
def test_two_detectors_are_compared(open_page, shop):
    at = open_page("detectors")
    at.selectbox(key="pair-first").select("rules").run()
    at.selectbox(key="pair-second").select("random").run()
    table = next(frame.value for frame in at.dataframe if "Difference" in frame.value.columns)
    assert table["Figure"].tolist() == ["Macro-F1", "AP"]
    assert table["Difference"].iloc[0].startswith("+")
    assert any("McNemar" in text.value for text in at.text)


@pytest.mark.at_length
def test_models_of_one_method_get_their_map_and_paid_requests_are_told(open_page, shop, words):
    for name, model in (("inferact-prob@a", "a"), ("inferact-prob@a+b", "a+b")):
        judge(shop, name, [0.9, 0.2] * 20, model=model, requests=2, prompt_tokens=50, cost_usd=0.01)
    at = open_page("detectors")
    assert "Models of inferact-prob" in [heading.value for heading in at.header]
    spent = next(frame.value for frame in at.dataframe if "Requests" in frame.value.columns).set_index("Detector")
    assert spent.loc["inferact-prob@a", "Requests"] == 80
    assert spent.loc["inferact-prob@a", "Cost usd"] == pytest.approx(0.4)
    assert "figures published in the InferAct paper" in words(at)


@pytest.mark.at_length
def test_unread_replies_are_counted_and_measured_apart(open_page, shop):
    unread = lambda score: '{"unparsed":true}' if score == 1 else "{}"  # noqa: E731
    judge(shop, "direct", [1.0, 1.0, 0.9, 0.1] * 10, parameters=unread, model="m", requests=1)
    at = open_page("detectors")
    assert row_of(table_html(at), "direct").endswith("<td>20</td>")
    texts = [text.value for text in at.text]
    assert "direct on the 20 trajectories with readable replies: Macro-F1 1.000, cost 0, ER 1.000." in texts


@pytest.mark.at_length
def test_new_verdicts_show_at_the_next_look(open_page, shop):
    at = open_page("detectors")
    assert "full-validation" not in table_html(at)
    judge(shop, "full-validation", [1.0] * 40)
    at.run()
    assert "full-validation" in table_html(at)


@pytest.mark.at_length
def test_the_page_measures_across_runs_and_says_where_there_is_only_one(open_page, words, tmp_path):
    for name, start in (("first", 0), ("second", 100)):
        records = [purchase(start + n, wrong=n % 3 == 0) for n in range(12)]
        ingest.import_file(write_log(tmp_path / f"{name}.jsonl", *records), name, "auto", lambda _: None)
        batch.detect(name, ["rules"])
        at = open_page("detectors")
        at.button(key="across").click().run()
        if name == "first":
            assert "1 of the runs has labelled" in " ".join(text.value for text in at.text)
    table = next(table.value for table in at.dataframe if "Across: AUC" in table.value)
    assert set(table["Detector"]) >= {"rules", "stacked", "length-only", "steps-only", "ending-only"}
    assert "learnt on the other sources alone" in words(at)
