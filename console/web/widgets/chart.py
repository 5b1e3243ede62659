"""A chart with downloads: its table as CSV, and the chart as an offline page."""

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
    """Draw the chart and its downloads; `picture` (png or svg) is the format of the image download.

    `leaving` is called with the name of a file before the file is created.
    """
    st.plotly_chart(figure, key=key, width="stretch", config=_config(file, picture))
    with st.popover("Download", key=f"{key}-download", type="tertiary"):
        st.download_button(
            "Table (CSV)",
            record_download(table, f"{file}.csv", leaving),
            f"{file}.csv",
            "text/csv",
            key=f"{key}-csv",
            on_click="ignore",
            type="tertiary",
        )
        st.download_button(
            "Chart (HTML)",
            record_download(lambda: chart_page(figure, file), f"{file}.html", leaving),
            f"{file}.html",
            "text/html",
            key=f"{key}-html",
            on_click="ignore",
            type="tertiary",
        )
        st.caption(f"To save a {picture.upper()} image, use the camera above the chart.")


@contextmanager
def preload_charts() -> Iterator[None]:
    """Draw an empty chart while data is read, so that the browser already loads the chart library.

    Loading the library for the first chart of a tab takes most of a second.
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


def record_download(
    make: Callable[[], str | bytes], file: str, leaving: Callable[[str], None]
) -> Callable[[], str | bytes]:
    """Return a function that records the download, then creates the file; if recording fails, no file is created."""

    def made() -> str | bytes:
        leaving(file)
        return make()

    return made


def chart_page(figure: go.Figure, file: str) -> str:
    """Return the chart as one HTML page that opens offline."""
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, config=_config(file, "svg"))
    return page


def _config(file: str, picture: str) -> dict[str, object]:
    taken = {"format": picture, "filename": file, "scale": 2 if picture == "png" else 1}
    return {"displaylogo": False, "toImageButtonOptions": taken, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
