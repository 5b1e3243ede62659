"""The table of figures: the best marked, the undefined a dash with its reason, nothing read as HTML.

A table of plain words: escaped, its first column names the row, what is missing is a dash.
"""

import json

import pytest
from streamlit.testing.v1 import AppTest

from console.web.widgets.tables import FigureCell, FigureColumn, capitalize, figures_html, rows_html

COLUMNS = {
    "f1": FigureColumn("F1", "higher is better", best="max"),
    "cost": FigureColumn("cost", "errors", 0, best="min"),
}


def table(rows, ranked=None):
    return figures_html(rows, COLUMNS, list(rows) if ranked is None else ranked)


def cells(f1, cost, spread=0.05):
    return {
        "f1": FigureCell(f1, (f1 - spread, f1 + spread)),
        "cost": FigureCell(cost, (cost - 20 * spread, cost + 20 * spread)),
    }


def test_the_best_of_a_column_is_marked_whichever_way_it_counts():
    html = table({"a": cells(0.7, 5), "b": cells(0.6, 3)})
    assert html.count("best of the column") == 2
    assert "★</span> 0.700" in html
    assert "★</span> 3" in html


def test_nothing_is_marked_where_the_interval_includes_the_next_value():
    assert "best of" not in table({"a": cells(0.7, 5, 0.2), "b": cells(0.6, 3, 0.2)})
    assert "best of" not in table({"a": {"f1": FigureCell(0.7), "cost": FigureCell(5)}, "b": cells(0.6, 9)})
    assert "best of" not in table({"a": cells(0.7, 5), "b": cells(0.7, 5)})


def test_rows_that_do_not_compete_and_single_rows_get_no_mark():
    rows = {"a": cells(0.7, 5), "b": cells(0.6, 3)}
    assert "best of" not in table(rows, ["a"])
    assert "best of" not in table({"a": rows["a"]})


def test_an_undefined_figure_is_a_dash_and_its_reason_stands_once_below():
    none = FigureCell(None, reason="it needs <both> kinds")
    html = table({"a": {"f1": none, "cost": FigureCell(5)}, "b": {"f1": none, "cost": FigureCell(3)}})
    assert html.count(">–</td>") == 2
    assert html.count("<li>") == 1
    assert "F1 of a, b: it needs &lt;both&gt; kinds" in html
    assert "nan" not in html.lower()


def test_names_and_intervals_are_plain_text():
    html = table({"<img src=x>": {"f1": FigureCell(0.7, (0.6, 0.8)), "cost": FigureCell(1234)}})
    assert "<img" not in html
    assert "0.600 to 0.800" in html
    assert "1,234" in html


TITLES = {"name": "who <b>", "n": "count"}


def test_text_can_only_ever_be_text():
    html = rows_html([{"name": "<img src=x onerror=alert(1)>", "n": "1"}], TITLES)
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "who &lt;b&gt;" in html


def test_the_first_column_heads_its_row_and_numbers_stand_right():
    html = rows_html([{"name": "P01", "n": "3"}], TITLES, numbers=("n",), label="People")
    assert '<th scope="row">P01</th><td class="ia-n">3</td>' in html
    assert 'role="region" aria-label="People"' in html
    assert '<th scope="col" class="ia-n">count</th>' in html


def test_what_is_missing_is_a_dash():
    assert "<td>–</td>" in rows_html([{"name": "P01"}], TITLES)


def test_a_long_text_may_wrap():
    assert '<td class="ia-words">' in rows_html([{"name": "P01", "n": "word " * 20}], TITLES)


@pytest.mark.parametrize(
    ("words", "head"),
    [("at most", "At most"), ("beyond budget", "Beyond budget"), ("id", "id"), ("p holm", "p holm"), ("d'", "d'"),
     ("95% low", "95% low"), ("solved, held back", "Solved, held back"), ("to date", "To date"), ("", "")],
)  # fmt: skip
def test_a_head_begins_with_a_capital_and_a_symbol_stays(words, head):
    assert capitalize(words) == head


def draw_figures():
    from console.web.widgets.tables import show_grid

    rows = [
        {"mean": "0.52", "interval": "0.10 to 0.93", "share": "3 of 6 (50%)", "day": "2026-11-28", "name": "7 days"},
        {"mean": "–", "interval": "–", "share": None, "day": "2026-11-29", "name": "2 days"},
    ]
    show_grid(rows, "Figures")


def test_figures_as_text_stand_right_like_numbers_and_words_and_dates_do_not():
    columns = json.loads(AppTest.from_function(draw_figures).run().dataframe[0].proto.columns)
    right = {name for name, column in columns.items() if column.get("alignment") == "right"}
    assert right == {"Mean", "Interval", "Share"}
