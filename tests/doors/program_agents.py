"""Agents that are programs: coding agents with the hook, the Claude Agent SDK, and an MCP client of the gateway."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from scripted_models import ScriptedModel

HERE = Path(__file__).parent
CODEX = """
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
"""


def find_program(name):
    """The file of a program: named by `INFERACT_<NAME>`, installed, or brought along by the SDK of Claude."""
    named = os.environ.get(f"INFERACT_{name.upper()}") or shutil.which(name)
    if named is None and name == "claude":
        import claude_agent_sdk

        named = str(Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude")
    return named


def claude_code(bench):
    """Claude Code with the hook in its settings."""
    words = ["-p", bench.task, "--allowedTools", "Bash"]
    return _play(bench, "claude", words, lambda model: {"ANTHROPIC_BASE_URL": model.url})


def codex(bench):
    """Codex with the hook, which it trusts by its option."""
    words = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    words += ["--dangerously-bypass-hook-trust", bench.task]

    def prepare(model):
        home = bench.folder / "home" / ".codex"
        home.mkdir(exist_ok=True, parents=True)
        (home / "config.toml").write_text(CODEX.format(url=model.url))
        return {"CODEX_HOME": str(home)}

    return _play(bench, "codex", words, prepare)


def gemini(bench):
    """Gemini CLI with the hook."""
    words = ["-p", bench.task, "--approval-mode", "yolo", "--skip-trust", "--model", "gemini-2.5-pro"]

    def prepare(model):
        settings = bench.folder / "home" / ".gemini" / "settings.json"
        settings.parent.mkdir(exist_ok=True, parents=True)
        if not settings.exists():
            known = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False}}
            settings.write_text(json.dumps(known | {"privacy": {"usageStatisticsEnabled": False}}))
        return {"GOOGLE_GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "none"}

    return _play(bench, "gemini", words, prepare)


def _command(bench, call):
    given = call["arguments"]
    words = [sys.executable, str(HERE / "agent_bench.py"), str(bench.folder), given["to"], str(given["amount"])]
    return shlex.join(words)


def _play(bench, name, words, prepare):
    """Run a coding agent whose model wants to run the transfers as shell commands; return what its model read."""
    home = bench.folder / "home"
    home.mkdir(exist_ok=True)
    with ScriptedModel([_command(bench, call) for call in bench.calls]) as model:
        env = {"HOME": str(home), "PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "none", "OPENAI_API_KEY": "none"}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "INFERACT_HOOK_STATE": str(bench.folder / "state")}
        env |= prepare(model)
        _install_hook(bench, name, env)
        log = (bench.folder / f"{name}.log").open("wb")
        program = subprocess.Popen(
            [find_program(name), *words], cwd=bench.folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        (bench.folder / "agent.pid").write_text(str(program.pid))
        code = program.wait(timeout=100)
        log.close()
        if code == -signal.SIGKILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if not model.results:
            print((bench.folder / f"{name}.log").read_text()[-1_500:], file=sys.stderr)
        return _read_by(model)


def _read_by(model):
    """What the model read: the results of its calls, and all of its last request."""
    return [*model.results.values(), json.dumps(model.requests[-1][1])]


def _install_hook(bench, name, env):
    """Install the hook by its command; its own time for a person is about the deadline of the bench."""
    timeout = int((bench.deadline_s + 4) / 0.8) + 1
    entry = [sys.executable, "-m", "inferact_client.hook.entry", "install", name, "--timeout", str(timeout)]
    entry += ["--url", bench.url, "--token", bench.token, "--run", bench.run]
    path = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    subprocess.run(entry, env=env | path, check=True, stdout=subprocess.DEVNULL, timeout=60)


def claude_agent_sdk(bench):
    """An agent of the Claude Agent SDK with `hooks(gate)`."""
    from claude_agent_sdk import ClaudeAgentOptions, query
    from inferact_client.adapters.claude_agent import hooks

    (bench.folder / "home").mkdir(exist_ok=True)
    os.environ["INFERACT_HOOK_STATE"] = str(bench.folder / "state")

    async def work(model):
        env = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none", "HOME": str(bench.folder / "home")}
        env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        options = ClaudeAgentOptions(hooks=hooks(bench.gate), env=env, cwd=bench.folder, allowed_tools=["Bash"])
        async for _ in query(prompt=bench.task, options=options):
            pass

    with ScriptedModel([_command(bench, call) for call in bench.calls]) as model:
        asyncio.run(work(model))
        return _read_by(model)


def mcp_gateway(bench):
    """An MCP client of `inferact-mcp serve`, whose server is a bank; all over stdio."""
    from mcp import Client, StdioServerParameters

    bank = {"command": sys.executable, "args": [str(HERE / "bank_server.py"), str(bench.folder)]}
    console = {"url": bench.url, "token": bench.token, "run": bench.run, "expires_s": bench.deadline_s * 0.75}
    config = bench.folder / "servers.yaml"
    config.write_text(json.dumps({"console": console, "servers": {"bank": bank}, "hold_s": bench.deadline_s + 40}))
    serve = "from inferact_client.mcp_gateway.command import main; main()"
    gateway = StdioServerParameters(
        command=sys.executable,
        args=["-c", serve, "serve", "--config", str(config)],
        env={"PYTHONPATH": os.environ["PYTHONPATH"]},
    )

    async def work():
        async with Client(gateway) as client:
            meta = {"inferact/task": bench.task}
            sent = [client.call_tool(call["name"], call["arguments"], meta=meta) for call in bench.calls]
            return await asyncio.gather(*sent)

    return [" ".join(part.text for part in result.content) for result in asyncio.run(work())]
