"""A served console for the agent's side: the fixtures of the server's tests."""

from tests.console.server.conftest import api, decide, let_run, module_data, shared  # noqa: F401
