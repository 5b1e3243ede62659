"""The floor of a results page: the console's shell and sign-in, and one constant Plotly chart."""

from pathlib import Path

from shell import show_shell

show_shell("console/web/pages/studies.py", Path(__file__).with_name("floor_results.py"))
