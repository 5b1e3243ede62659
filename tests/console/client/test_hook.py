"""The hook of coding agents, run by the very command that it writes into their settings."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from inferact_client.hook.hosts import HOSTS
from inferact_client.hook.settings_file import ENTRY
from sqlmodel import select

from console.database import reading
from storage.tables import Intent, Item
from tests.serving import free_port, new_agent
from tests.sweeps import sweep

SHELL = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command"}
OTHERS = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}]}, "b": 1}


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """A function that runs `inferact-hook` with a home of its own, and returns the finished process."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("INFERACT_HOOK_STATE", str(tmp_path / "state"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()

    def run(*words, **more):
        command = [sys.executable, str(ENTRY), *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, **more)

    return run


def settings_of(host):
    return HOSTS[host].settings_path("user", Path.cwd())


def command_of(host):
    """The command that the program runs before a call."""
    (group,) = json.loads(settings_of(host).read_text())["hooks"][HOSTS[host].before]
    return group["hooks"][0]["command"]


def send(host, event, command=None, timeout=60, **more):
    """Run the hook as the program does; return (exit code, answer or None, words on stderr)."""
    told = {"hook_event_name": HOSTS[host].before, "session_id": "s1", "tool_name": SHELL[host]} | event
    command = command or command_of(host)
    done = subprocess.run(
        ["sh", "-c", command], input=json.dumps(told), capture_output=True, text=True, timeout=timeout, **more
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture
def installed(hook, shared, api, module_data):
    """A function that installs the hook of a program for a run of its own."""

    def make(host, *more):
        token = new_agent(module_data, f"hook of {more[0] if more else host} {time.monotonic_ns()}")
        words = ("install", host, "--url", shared.url, "--run", f"hooks {host}", "--config", Path.home() / "hook.json")
        done = hook(*words, *more, env={**os.environ, "INFERACT_TOKEN": token})
        assert done.returncode == 0, done.stderr
        return done

    return make


def decide_soon(decide, run, *answer):
    def work():
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                decide(run, *answer)
            except Exception:
                time.sleep(0.05)
            else:
                return

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@sweep("host", HOSTS, kept=1)
def test_person_approves_rejects_and_edits_a_call(installed, decide, let_run, host):
    run, given = f"hooks {host}", {"command": "rm a.txt", "description": "Remove it"}
    let_run(run, "undo: 0\nrules: [{tool: read_file, then: allow}]\ndefault: ask")
    installed(host)
    prompt = {"hook_event_name": HOSTS[host].prompt, "prompt": "Remove the file a.txt.", "transcript_path": ""}
    assert send(host, prompt)[0] == 0
    allowed = send(host, {"tool_name": "read_file", "tool_input": {"path": "a.txt"}})
    assert allowed == (0, {} if host == "gemini" else None, "")

    waiting = decide_soon(decide, run, "reject", "Keep that file.")
    code, answer, words = send(host, {"tool_input": given, "tool_use_id": "c1", "timestamp": "1"})
    waiting.join()
    assert (code, "A person rejected this call" in words, "Keep that file." in words) == (2, True, True)
    said = json.dumps(answer)
    assert ('"deny"' in said, "Keep that file." in said) == (True, True)

    edited = f'{SHELL[host]}({{"command":"rm b.txt","description":"Remove it"}})'
    waiting = decide_soon(decide, run, "edit", "", edited)
    call = {"tool_input": given | {"command": "rm *.txt"}, "tool_use_id": "c2", "timestamp": "2"}
    code, answer, words = send(host, call)
    waiting.join()
    inner = answer["hookSpecificOutput"]
    runs = inner["tool_input"] if host == "gemini" else inner["updatedInput"]
    assert (code, runs["command"], words) == (0, "rm b.txt", "")
    assert "A reviewer changed this call before it ran" in json.dumps(answer)
    after = {"hook_event_name": HOSTS[host].after[0], "tool_response": {"output": "removed"}}
    assert send(host, call | after)[0] == 0
    with reading() as session:
        intents = session.exec(select(Intent).where(Intent.action == edited)).all()
        assert all(intent.finished_ms is not None for intent in intents)
        items = session.exec(select(Item)).all()
    assert {item.status for item in items} == {"delivered"}


@sweep("host", HOSTS, kept=1)
def test_settings_are_found_again_as_they_were(hook, host):
    path = settings_of(host)
    path.parent.mkdir(parents=True)
    before = json.dumps(OTHERS, indent=7)
    path.write_text(before)
    words = ("--config", Path.home() / "hook.json")
    for _ in range(2):
        assert hook("install", host, *words, "--url", "http://127.0.0.1:1", "--token", "t").returncode == 0
    settings = json.loads(path.read_text())
    assert len(settings["hooks"][HOSTS[host].before]) == (1 if host == "gemini" else 2)
    assert settings["hooks"]["PreToolUse"][0] == OTHERS["hooks"]["PreToolUse"][0]
    ours = settings["hooks"][HOSTS[host].before][-1]["hooks"][0]
    assert ours["timeout"] == (600_000 if host == "gemini" else 600)
    assert ours.get("onFailure") == ("block" if host == "claude" else None)
    assert hook("uninstall", host).returncode == 0
    assert path.read_text() == before

    hook("install", host, *words)
    settings = json.loads(path.read_text()) | {"added since": True}
    path.write_text(json.dumps(settings))
    hook("uninstall", host)
    assert json.loads(path.read_text()) == OTHERS | {"added since": True}

    path.write_text("{ not JSON")
    refused = hook("install", host, *words)
    assert (refused.returncode, "is not valid JSON" in refused.stderr) == (2, True)
    assert path.read_text() == "{ not JSON"


def test_whatever_fails_denies_the_call(hook, tmp_path):
    away = f"http://127.0.0.1:{free_port()}"
    words = ("--config", tmp_path / "hook.json", "--timeout", "4", "--url", away, "--token", "t")
    hook("install", "codex", *words)
    command, call = command_of("codex"), {"tool_input": {"command": "rm a"}}
    code, _, said = send("codex", call)
    assert (code, "could not be reached" in said) == (2, True)
    (tmp_path / "hook.json").write_text("not JSON")
    code, answer, said = send("codex", call)
    assert (code, "The InferAct hook failed" in said) == (2, True)
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"
    for broken in (command.replace("entry.py", "gone.py"), command.replace(sys.executable, "/no/python")):
        code, _, said = send("codex", call, broken)
        assert (code, bool(said.strip())) == (2, True)
    for event in ({"tool_input": "text"}, {"tool_name": ""}, {"hook_event_name": "Unknown"}):
        assert send("codex", event)[0] == 2
    done = subprocess.run(["sh", "-c", command], input="no JSON", capture_output=True, text=True, timeout=60)
    assert (done.returncode, bool(done.stderr)) == (2, True)


def test_watchdog_denies_before_the_program_ends_its_wait(hook, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        hook("install", "gemini", "--config", tmp_path / "c.json", "--timeout", "4", "--url", url, "--token", "t")
        began = time.monotonic()
        code, answer, _ = send("gemini", {"tool_input": {"command": "rm a"}})
    assert (code, answer["decision"]) == (2, "deny")
    assert time.monotonic() - began < 4


@pytest.mark.at_length
def test_check_names_every_way_in_which_a_call_could_run(installed, hook, tmp_path, monkeypatch):
    installed("claude")
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '2.1.330 (Claude Code)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("INFERACT_CLAUDE", str(program))
    config = ("--config", Path.home() / "hook.json")
    good = hook("check", "claude", *config)
    assert (good.returncode, good.stderr) == (0, ""), good.stderr
    program.write_text("#!/bin/sh\necho '2.1.200 (Claude Code)'\n")
    path, settings = settings_of("claude"), json.loads(settings_of("claude").read_text())
    ours = settings["hooks"]["PreToolUse"][0]
    del ours["hooks"][0]["onFailure"]
    ours["matcher"] = "Bash"
    path.write_text(json.dumps(settings | {"disableAllHooks": True}))
    bad = hook("check", "claude", *config)
    assert bad.returncode == 1
    for words in ("2.1.295 or later", "lacks onFailure", "leaves out some tools", "disableAllHooks"):
        assert words in bad.stderr
    path.write_text("{")
    assert "ignores such a file" in hook("check", "claude", *config).stderr
    path.unlink()
    assert "holds no hook" in hook("check", "claude", *config).stderr


@pytest.mark.at_length
@pytest.mark.parametrize("host", ["codex", pytest.param("gemini", marks=pytest.mark.at_length)])
def test_check_refuses_programs_that_cannot_fail_closed(installed, hook, host):
    installed(host)
    refused = hook("check", host)
    assert (refused.returncode, "cannot block a call whose hook does not run" in refused.stderr) == (1, True)
    (Path.home() / "hook.json").write_text('{"url": "http://127.0.0.1:1", "token": "t", "run": "r"}')
    assert "The hook denies every call" in hook("check", host).stderr


@pytest.mark.at_length
def test_check_of_a_program_that_is_gone_is_withdrawn(installed, let_run):
    let_run("hooks codex", "default: ask")
    installed("codex")
    told = {"hook_event_name": "PreToolUse", "session_id": "gone", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    hook = subprocess.Popen(
        ["sh", "-c", command_of("codex")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    hook.stdin.write(json.dumps(told).encode())
    hook.stdin.close()
    states, until = [], time.monotonic() + 60
    while time.monotonic() < until and "cancelled" not in states:
        with reading() as session:
            states = [str(state) for state in session.exec(select(Item.status).order_by(Item.id.desc()).limit(1))]
        if states == ["pending"] and not hook.stdout.closed:
            # A program that ends closes its side of the pipe.
            hook.stdout.close()
        time.sleep(0.1)
    assert states == ["cancelled"]
    assert hook.wait(timeout=30) == 2
