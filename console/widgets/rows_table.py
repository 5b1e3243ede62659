"""Rows and columns of plain words: few enough to read at once, so they need no grid."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from console.widgets.markup import plain


def show_rows(
    rows: Sequence[Mapping[str, str]], columns: Mapping[str, str], *, numbers: Collection[str] = (), label: str = ""
) -> None:
    """Draws the table; `columns` maps a row's key to its title, `numbers` are those that stand to the right."""
    st.html(rows_html(rows, columns, numbers=numbers, label=label))


def rows_html(
    rows: Sequence[Mapping[str, str]], columns: Mapping[str, str], *, numbers: Collection[str] = (), label: str = ""
) -> str:
    """The table as one line of HTML; the first column names the row."""
    head = "".join(f'<th scope="col"{_right(name, numbers)}>{plain(title)}</th>' for name, title in columns.items())
    body = "".join(f"<tr>{_cells(row, columns, numbers)}</tr>" for row in rows)
    named = f' role="region" aria-label="{plain(label)}"' if label else ""
    return (
        f'<div class="ia-rows" tabindex="0"{named}><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _cells(row: Mapping[str, str], columns: Mapping[str, str], numbers: Collection[str]) -> str:
    first, *others = columns
    drawn = "".join(f"<td{_right(name, numbers)}>{plain(row.get(name, '')) or '–'}</td>" for name in others)
    return f'<th scope="row">{plain(row.get(first, ""))}</th>{drawn}'


def _right(name: str, numbers: Collection[str]) -> str:
    return ' class="ia-n"' if name in numbers else ""
