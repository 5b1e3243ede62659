"""The table of figures: the best marked, the undefined a dash with its reason, nothing read as HTML."""

from console.widgets.figure_table import Cell, Heading, figures_html

COLUMNS = {"f1": Heading("F1", "higher is better", best="max"), "cost": Heading("cost", "errors", 0, best="min")}


def table(rows, ranked=None):
    return figures_html(rows, COLUMNS, list(rows) if ranked is None else ranked)


def test_the_best_of_a_column_is_marked_whichever_way_it_counts():
    html = table({"a": {"f1": Cell(0.7), "cost": Cell(5)}, "b": {"f1": Cell(0.6), "cost": Cell(3)}})
    assert html.count("best of the column") == 2
    assert "★</span> 0.700" in html
    assert "★</span> 3" in html


def test_rows_that_do_not_compete_and_single_rows_get_no_mark():
    rows = {"a": {"f1": Cell(0.7), "cost": Cell(5)}, "b": {"f1": Cell(0.6), "cost": Cell(3)}}
    assert "best of" not in table(rows, ["a"])
    assert "best of" not in table({"a": rows["a"]})


def test_equals_are_all_marked():
    html = table({"a": {"f1": Cell(0.7), "cost": Cell(5)}, "b": {"f1": Cell(0.70001), "cost": Cell(6)}})
    assert html.count("★</span> 0.700") == 2


def test_an_undefined_figure_is_a_dash_and_its_reason_stands_once_below():
    none = Cell(None, reason="it needs <both> kinds")
    html = table({"a": {"f1": none, "cost": Cell(5)}, "b": {"f1": none, "cost": Cell(3)}})
    assert html.count(">–</td>") == 2
    assert html.count("<li>") == 1
    assert "– F1 of a, b: it needs &lt;both&gt; kinds" in html
    assert "nan" not in html.lower()


def test_names_and_intervals_are_plain_text():
    html = table({"<img src=x>": {"f1": Cell(0.7, (0.6, 0.8)), "cost": Cell(1234)}})
    assert "<img" not in html
    assert "0.600 – 0.800" in html
    assert "1,234" in html
