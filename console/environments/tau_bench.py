"""tau-bench: an airline's and a shop's service desk; the tools that write to the database are critical."""

from importlib.resources import files

from console.environments.environment import Environment
from console.trajectory.data_files import read_data

_WRITING_TOOLS = read_data(files(__package__) / "tau_bench.yaml", tuple[str, ...])

TAU_BENCH = Environment("tau-bench", "tau-bench", critical=_WRITING_TOOLS, talks=("respond",), instructed=True)
