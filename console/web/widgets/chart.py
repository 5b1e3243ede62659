"""A chart with downloads: its table as CSV, and the chart as an offline page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

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
    """Draw the chart and its downloads, recorded by `leaving`; `picture` is the format of the image: png or svg."""
    st.plotly_chart(figure, key=key, width="stretch", config=_config(file, picture), alt=figure.layout.title.text)
    with st.popover("Download", key=f"{key}-download"):
        download("Table (CSV)", table, f"{file}.csv", "text/csv", f"{key}-csv", leaving=leaving, type="tertiary")
        made = partial(chart_page, figure, file)
        download("Chart (HTML)", made, f"{file}.html", "text/html", f"{key}-html", leaving=leaving, type="tertiary")
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


def download(
    label: str,
    make: Callable[[], str | bytes],
    file: str,
    media_type: str,
    key: str,
    *,
    leaving: Callable[[str], None] | None = None,
    type: Literal["primary", "secondary", "tertiary"] = "secondary",
) -> None:
    """Draw the download button of a file; pressing the button does not run the page again.

    `leaving` is called with the file's name before the file is created; if the call fails, no file is created.
    """

    def made() -> str | bytes:
        if leaving:
            leaving(file)
        return make()

    # Without a border, only the icon shows that the label is a button.
    icon = ":material/download:" if type == "tertiary" else None
    st.download_button(label, made, file, media_type, key=key, on_click="ignore", type=type, icon=icon)


def chart_page(figure: go.Figure, file: str) -> str:
    """Return the chart as one HTML page that opens offline."""
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, config=_config(file, "svg"))
    return page


def _config(file: str, picture: str) -> dict[str, object]:
    taken = {"format": picture, "filename": file, "scale": 2 if picture == "png" else 1}
    return {"displaylogo": False, "toImageButtonOptions": taken, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
