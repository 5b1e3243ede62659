"""A table of plain words: escaped, its first column names the row, what is missing is a dash."""

from console.widgets.rows_table import rows_html

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
