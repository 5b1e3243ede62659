"""A chart with its downloads: the table behind it, and the chart itself as a page that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import plotly.graph_objects as go
import streamlit as st


def show_chart(
    figure: go.Figure,
    table: Callable[[], bytes],
    *,
    key: str,
    file: str,
    picture: str = "png",
    leaving: Callable[[str], None],
) -> None:
    """Draws the figure; `picture` (png or svg) is what the camera in its tool bar saves.

    `leaving` is told the name of a file before it is handed out.
    """
    st.plotly_chart(figure, key=key, width="stretch", config=_config(file, picture))
    with st.popover("Download", key=f"{key}-download", type="tertiary"):
        st.download_button(
            "Table (CSV)",
            recorded(table, f"{file}.csv", leaving),
            f"{file}.csv",
            "text/csv",
            key=f"{key}-csv",
            on_click="ignore",
            type="tertiary",
        )
        st.download_button(
            "Chart (HTML)",
            recorded(lambda: page_of(figure, file), f"{file}.html", leaving),
            f"{file}.html",
            "text/html",
            key=f"{key}-html",
            on_click="ignore",
            type="tertiary",
        )
        st.caption(f"As a picture ({picture.upper()}): the camera above the chart.")


@contextmanager
def chart_ahead() -> Iterator[None]:
    """An empty chart while the rows of one are read, so that the browser has by then loaded what draws charts.

    That takes it most of a second, and it begins with the first chart of a tab.
    """
    if _DRAWN in st.session_state:
        yield
        return
    place = st.empty()
    place.plotly_chart(go.Figure(layout={"xaxis": _HIDDEN, "yaxis": _HIDDEN}), config={"staticPlot": True})
    try:
        yield
    except Exception:
        place.empty()
        raise
    place.empty()
    st.session_state[_DRAWN] = True


_DRAWN = "ia_chart_drawn"
_HIDDEN = {"visible": False}


def recorded(make: Callable[[], str | bytes], file: str, leaving: Callable[[str], None]) -> Callable[[], str | bytes]:
    """The making of a file that is recorded first: what cannot be recorded does not leave."""

    def made() -> str | bytes:
        leaving(file)
        return make()

    return made


def page_of(figure: go.Figure, file: str) -> str:
    """The chart as one HTML page that opens offline."""
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, config=_config(file, "svg"))
    return page


def _config(file: str, picture: str) -> dict[str, object]:
    taken = {"format": picture, "filename": file, "scale": 2 if picture == "png" else 1}
    return {"displaylogo": False, "toImageButtonOptions": taken, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
