"""The generic environment, of any other agent: nothing is critical until a person says so."""

from console.environments.environment import Environment

GENERIC = Environment("generic", "Any agent")
