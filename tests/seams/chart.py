"""A chart of one bar."""

import plotly.graph_objects as go


def seam_chart(table):
    """A bar for each row of (name, value)."""
    return go.Figure(go.Bar(x=table["name"], y=table["value"]), go.Layout(title="The seam in one bar"))


ENTRY = seam_chart
