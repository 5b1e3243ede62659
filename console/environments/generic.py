"""Environments without a world: `tau-bench`, in which calls of writing tools are critical, and `generic`."""

from importlib.resources import files

from console.environments.environment import Environment
from console.trajectory.strict_yaml import read_data

_WRITING_TOOLS = read_data(files(__package__) / "tau_bench.yaml", tuple[str, ...])

TAU_BENCH = Environment("tau-bench", "tau-bench", critical=_WRITING_TOOLS, talks=("respond",), instructed=True)
GENERIC = Environment("generic", "Any agent")
