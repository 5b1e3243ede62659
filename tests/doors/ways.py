"""The ways in to the gate, and the program that plays one of them: `python ways.py NAME < question`.

The question is JSON: url, token, run, deadline_s, folder, task, and the calls that the model wants to make in one
message. The answer is JSON: the texts that the model got back, and the version of the framework. Runs in the
framework's own environment; only `inferact_client` must be on the path.
"""

import json
import os
import signal
import sys
from importlib import import_module
from typing import NamedTuple


class Way(NamedTuple):
    """A way in: the module and function of its agent, the module that it needs, and the package with its version.

    `program` is a command whose version counts instead; `INFERACT_<PROGRAM>` may name its file.
    """

    agent: str
    play: str
    module: str
    package: str
    program: str = ""


WAYS = {
    "plain": Way("plain_agents", "plain", "httpx", "httpx"),
    "side_by_side": Way("plain_agents", "side_by_side", "httpx", "httpx"),
    "langchain": Way("framework_agents", "langchain", "langchain", "langchain"),
    "langgraph_batched": Way("framework_agents", "langgraph_batched", "langchain", "langgraph"),
    "langgraph_per_call": Way("framework_agents", "langgraph_per_call", "langchain", "langgraph"),
    "pydantic_ai": Way("framework_agents", "pydantic_ai", "pydantic_ai", "pydantic-ai-slim"),
    "openai_agents": Way("framework_agents", "openai_agents", "agents", "openai-agents"),
    "openai_agents_approval": Way("framework_agents", "openai_agents_approval", "agents", "openai-agents"),
    "strands": Way("framework_agents", "strands", "strands", "strands-agents"),
    "strands_called": Way("framework_agents", "strands_called", "strands", "strands-agents"),
    "google_adk": Way("framework_agents", "google_adk", "google.adk", "google-adk"),
    "inspect": Way("more_framework_agents", "inspect", "inspect_ai", "inspect-ai"),
    "agent_framework": Way("more_framework_agents", "agent_framework", "agent_framework", "agent-framework-core"),
    "claude_agent_sdk": Way("program_agents", "claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk"),
    "claude_code": Way("program_agents", "claude_code", "claude_agent_sdk", "", "claude"),
    "codex": Way("program_agents", "codex", "httpx", "", "codex"),
    "gemini": Way("program_agents", "gemini", "httpx", "", "gemini"),
    "mcp_gateway": Way("program_agents", "mcp_gateway", "mcp, yaml", "mcp"),
}


def main():
    """Play one question."""
    # A shell's background job ignores Ctrl+C, and hands that on to its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The names of frameworks are those of installed packages, not of files beside this one.
    from agent_bench import open_bench

    way = WAYS[sys.argv[1]]
    bench = open_bench(json.load(sys.stdin))
    os.chdir(bench.folder)
    messages = getattr(import_module(way.agent), way.play)(bench)
    print("\n" + json.dumps({"messages": messages}))


if __name__ == "__main__":
    main()
