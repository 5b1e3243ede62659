"""Tables as HTML: metrics with their intervals and the best value marked, or plain texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from console.analysis.statistics.estimates import number
from console.web.widgets.browser import component
from console.web.widgets.markup import mark_names, plain, show_html


@dataclass(frozen=True, slots=True)
class FigureCell:
    """A metric's value with its interval; `reason` explains a value of None."""

    value: float | None
    interval: tuple[float, float] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """A column of metrics: its title, its meaning, its decimal digits, and the best value (max, min or none)."""

    title: str
    meaning: str
    digits: int = 3
    best: str = ""


Figures = Mapping[str, Mapping[str, FigureCell]]
Rows = Sequence[Mapping[str, str]]


def figures_html(rows: Figures, columns: Mapping[str, FigureColumn], ranked: Sequence[str]) -> str:
    """Return the table as HTML with the reasons for missing values.

    The best value of a column is marked if its interval excludes the next value of the `ranked` rows. The table needs
    the style sheet `figures`.
    """
    best = {name: _best(rows, name, heading, ranked) for name, heading in columns.items()}
    head = "".join(f'<th scope="col" title="{plain(one.meaning)}">{plain(one.title)}</th>' for one in columns.values())
    body = "".join(
        f'<tr><th scope="row">{plain(row)}</th>'
        + "".join(_cell(cells[name], columns[name], best[name] == row) for name in columns)
        + "</tr>"
        for row, cells in rows.items()
    )
    return (
        f'<div class="ia-figures" tabindex="0"><table><thead><tr><th scope="col">detector</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{_reasons(rows, columns)}"
    )


def _cell(cell: FigureCell, heading: FigureColumn, wins: bool) -> str:
    if cell.value is None:
        return f'<td class="none" title="{plain(cell.reason)}">–</td>'
    digits = f",.{heading.digits}f"
    interval = f"<small>{' to '.join(number(one, digits) for one in cell.interval)}</small>" if cell.interval else ""
    css, mark = (' class="best"', '<span aria-label="best of the column">★</span> ') if wins else ("", "")
    return f"<td{css}>{mark}{number(cell.value, digits)}{interval}</td>"


def _best(rows: Figures, name: str, heading: FigureColumn, ranked: Sequence[str]) -> str | None:
    """Return the row with the best value of a column, or None if its interval includes the next value."""
    sign = -1 if heading.best == "min" else 1
    values = sorted(
        ((sign * value, row) for row in ranked if (value := rows[row][name].value) is not None), reverse=True
    )
    if not heading.best or len(values) < 2:
        return None
    interval = rows[values[0][1]][name].interval
    is_apart = interval is not None and min(sign * bound for bound in interval) > values[1][0]
    return values[0][1] if is_apart else None


def _reasons(rows: Figures, columns: Mapping[str, FigureColumn]) -> str:
    """Return the list of reasons for missing values as HTML, each with the metrics and detectors concerned."""
    rows_of: dict[tuple[str, str], list[str]] = {}
    for row, cells in rows.items():
        lacking: dict[str, list[str]] = {}
        for name, heading in columns.items():
            if cells[name].value is None and cells[name].reason:
                lacking.setdefault(cells[name].reason, []).append(heading.title)
        for reason, titles in lacking.items():
            rows_of.setdefault((", ".join(titles), reason), []).append(row)
    lines = [f"{titles} of {', '.join(names)}: {reason}." for (titles, reason), names in rows_of.items()]
    return f"<ul>{''.join(f'<li>{mark_names(line)}</li>' for line in lines)}</ul>" if lines else ""


def capitalize(words: str) -> str:
    """Return the words with their first letter as a capital; a symbol such as `p`, `df` or `d'` stays as it is."""
    first = words.split(" ")[0].rstrip(",")
    return words if len(words) < 3 or len(first) < 2 or not first.isalnum() else words[:1].upper() + words[1:]


def show_grid(rows: Any, label: str, columns: Iterable[str] = (), **look: Any) -> Any:
    """Draw a table with `label` as its accessible name and these columns of a list (or all); return its selection."""
    if isinstance(rows, list):
        rows = [{capitalize(name): row[name] for name in columns or row} for row in rows]
        figures = (name for name in (rows or [{}])[0] if _are_figures([row[name] for row in rows]))
        aligned = dict.fromkeys(figures, st.column_config.Column(alignment="right"))
        look["column_config"] = aligned | look.get("column_config", {})
    return st.dataframe(rows, hide_index=True, alt=label, **look)


_FIGURE = re.compile(r"–|[<−+-]{0,2}\d[\d.,]*%?(?: (?:to|of) [−-]?\d[\d.,]*%?)?(?: [(\[][^)\]]*[)\]])?")


def _are_figures(cells: Sequence[object]) -> bool:
    """Return whether all texts of a column are figures, which align at their right like numbers."""
    return any(isinstance(cell, str) for cell in cells) and all(_FIGURE.fullmatch(str(cell or "–")) for cell in cells)


def show_rows(rows: Rows, columns: Mapping[str, str], *, numbers: Collection[str] = (), label: str = "") -> None:
    """Draw the table; `columns` maps each key of a row to a title, and the columns in `numbers` are right-aligned."""
    show_html(rows_html(rows, columns, numbers, label))


def open_row(
    rows: Rows, columns: Mapping[str, str], *, numbers: Collection[str], label: str, address: str
) -> int | None:
    """Draw the table with a link on each row, and return the `id` of the row that the visitor opened, else None.

    `address` precedes the `id` in the address of the link.
    """
    show_html(rows_html(rows, columns, numbers, label, address))
    pressed = component("pending_rows")(key="pending-rows", on_opened_change=lambda: None)
    return int(pressed.opened) if pressed.opened else None


def rows_html(
    rows: Rows, columns: Mapping[str, str], numbers: Collection[str] = (), label: str = "", address: str = ""
) -> str:
    """Return the table as HTML; the first column is the heading of its row, and its link if there is an `address`."""
    first, *others = columns
    head = "".join(f'<th scope="col"{_right(name, numbers)}>{plain(title)}</th>' for name, title in columns.items())
    body = ""
    for row in rows:
        cells = "".join(_cell_html(row.get(name, ""), name, numbers) for name in others)
        title = plain(row.get(first, ""))
        title = f'<a href="{plain(address + row["id"])}" data-item="{row["id"]}">{title}</a>' if address else title
        body += f'<tr><th scope="row"{_wrap(row.get(first, ""))}>{title}</th>{cells}</tr>'
    named = f' role="region" aria-label="{plain(label)}"' if label else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="ia-rows" tabindex="0"{named}>{table}</div>'


def _cell_html(text: str, name: str, numbers: Collection[str]) -> str:
    return f"<td{_right(name, numbers) or _wrap(text)}>{plain(text) or '–'}</td>"


def _right(name: str, numbers: Collection[str]) -> str:
    return ' class="ia-n"' if name in numbers else ""


_LONG_CHARS = 44


def _wrap(text: str) -> str:
    return ' class="ia-words"' if len(text) > _LONG_CHARS else ""
