"""The empty chart that stands while the rows of one are read."""

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from console.web.widgets.chart import preload_charts

    with preload_charts():
        if st.session_state.get("reading"):
            st.stop()
        if st.session_state.get("broken"):
            raise ValueError
    st.text("read")


def test_an_empty_chart_stands_until_the_rows_are_read_and_once_a_tab():
    tab = AppTest.from_function(page)
    tab.session_state["reading"] = True
    assert len(tab.run().get("plotly_chart")) == 1
    tab.session_state["reading"] = False
    assert len(tab.run().get("plotly_chart")) == 0
    assert [said.value for said in tab.text] == ["read"]
    tab.session_state["reading"] = True
    assert len(tab.run().get("plotly_chart")) == 0


def test_where_the_rows_cannot_be_read_no_empty_chart_stays():
    tab = AppTest.from_function(page)
    tab.session_state["broken"] = True
    assert len(tab.run().exception) == 1
    assert len(tab.get("plotly_chart")) == 0
