"""The settings files of the programs: add the hook, remove it again, find it, and test it by a call of its command."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inferact_client.errors import ClientError
from inferact_client.hook.answers import CANARY, CANARY_REACHED
from inferact_client.hook.hosts import Host
from inferact_client.hook.notes import state_folder, write_privately

ENTRY = Path(__file__).resolve().with_name("entry.py")
TIMEOUT_S = 600
_SHORT_S = 30
_CLOSED = (
    'case $? in 0) ;; 2) exit 2 ;; *) echo "The InferAct hook failed, so this call is blocked." >&2; exit 2 ;; esac'
)


def hook_command(host: Host, config: Path, timeout_s: int) -> str:
    """Return the shell command of the hook before a call; any exit other than 0 becomes 2, which blocks the call."""
    words = [sys.executable, str(ENTRY), "run", host.name, "--config", str(config), "--host-timeout", str(timeout_s)]
    return f"{shlex.join(words)}; {_CLOSED}"


def install(host: Host, path: Path, config: Path, timeout_s: int = TIMEOUT_S) -> None:
    """Add the hook to a settings file; raise ClientError if the file is not a JSON object."""
    before = path.read_text("utf-8") if path.exists() else None
    settings = _without_ours(read_settings(path))
    hooks = settings.setdefault("hooks", {})
    words = [sys.executable, str(ENTRY), "run", host.name, "--config", str(config)]
    short = shlex.join([*words, "--host-timeout", str(_SHORT_S)])
    _add(hooks, host.before, host, hook_command(host, config, timeout_s), timeout_s)
    for event in (*host.after, host.prompt):
        _add(hooks, event, host, short, _SHORT_S)
    after = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
    if not (record := _record_of(path)).exists():
        write_privately(record, json.dumps({"before": before, "after": after}))
    else:
        known = json.loads(record.read_text("utf-8"))
        write_privately(record, json.dumps({"before": known["before"], "after": after}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after, "utf-8")


def uninstall(path: Path) -> bool:
    """Restore the settings from before `install`, or only remove the hook; return whether there was a hook."""
    record = _record_of(path)
    if not path.exists():
        record.unlink(missing_ok=True)
        return False
    known = json.loads(record.read_text("utf-8")) if record.exists() else {}
    record.unlink(missing_ok=True)
    if known.get("after") == path.read_text("utf-8"):
        if known["before"] is None:
            path.unlink()
        else:
            path.write_text(known["before"], "utf-8")
        return True
    settings = read_settings(path)
    left = _without_ours(settings)
    if left == settings:
        return False
    path.write_text(json.dumps(left, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return True


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a file, or {} if the file does not exist; raise ClientError if it is not a JSON object."""
    if not path.exists():
        return {}
    try:
        settings = json.loads(path.read_text("utf-8"))
    except ValueError as broken:
        raise ClientError(f"{path} is not valid JSON ({broken}). Correct the file, then try again.") from broken
    if not isinstance(settings, dict) or not isinstance(settings.get("hooks", {}), dict):
        raise ClientError(f"{path} does not hold an object with hooks. Correct the file, then try again.")
    return settings


def find_hooks(settings: dict[str, Any], event: str) -> list[dict[str, Any]]:
    """Return our hooks of an event, each with the matcher of its group."""
    groups = settings.get("hooks", {}).get(event)
    found = [
        hook | {"matcher": group.get("matcher", "")}
        for group in (groups if isinstance(groups, list) else [])
        for hook in (group.get("hooks") or [] if isinstance(group, dict) else [])
    ]
    return [hook for hook in found if _is_ours(hook)]


def _add(hooks: dict[str, Any], event: str, host: Host, command: str, timeout_s: int) -> None:
    hook: dict[str, Any] = {"type": "command", "command": command, "timeout": timeout_s * host.units_per_s}
    if host.closed_since is not None and event == host.before:
        hook["onFailure"] = "block"
    if host.name == "gemini":
        hook["name"] = f"inferact-{event}"
    group: dict[str, Any] = {"hooks": [hook]}
    if event != host.prompt:
        group = {"matcher": host.matcher, **group}
    hooks.setdefault(event, []).append(group)


def _is_ours(hook: object) -> bool:
    return isinstance(hook, dict) and "inferact_client/hook/entry.py" in str(hook.get("command"))


def _without_ours(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without our hooks, and without the groups and events that become empty."""
    kept: dict[str, Any] = {}
    for event, groups in settings.get("hooks", {}).items():
        if not isinstance(groups, list):
            kept[event] = groups
            continue
        left = []
        for group in groups:
            hooks = group.get("hooks") if isinstance(group, dict) else None
            others = [hook for hook in hooks if not _is_ours(hook)] if isinstance(hooks, list) else hooks
            if others == hooks or others:
                left.append(group if others == hooks else {**group, "hooks": others})
        if left or not groups:
            kept[event] = left
    rest = {name: value for name, value in settings.items() if name != "hooks"}
    return {**rest, "hooks": kept} if kept or settings.get("hooks") == {} else rest


def _record_of(path: Path) -> Path:
    return state_folder() / "settings" / f"{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]}.json"


_CANARY_S = 40
_SWITCHES = ("disableAllHooks",)


def list_problems(host: Host, path: Path) -> Iterator[str]:
    """Yield one sentence for each reason why a call could run without the hook."""
    try:
        settings = read_settings(path)
    except ClientError as broken:
        yield f"{broken} {host.title} ignores such a file with all its hooks."
        return
    found = find_hooks(settings, host.before)
    if not found:
        yield f"{path} holds no hook for {host.before}. Run: inferact-hook install {host.name}"
        return
    for name in _SWITCHES:
        if settings.get(name):
            yield f"{path} sets {name}, so {host.title} runs no hook. Remove the setting."
    yield from _problems_of_hook(host, path, found[0])
    yield from _problems_of_version(host)


def _problems_of_hook(host: Host, path: Path, hook: dict[str, object]) -> Iterator[str]:
    if hook["matcher"] not in ("", "*", ".*"):
        yield f"{path}: the matcher {hook['matcher']!r} leaves out some tools. Run: inferact-hook install {host.name}"
    if host.closed_since is not None and hook.get("onFailure") != "block":
        yield f"{path}: the hook lacks onFailure: block. Run: inferact-hook install {host.name}"
    said = re.search(r"--host-timeout (\d+)", str(hook["command"]))
    units = hook.get("timeout")
    if said is None or not isinstance(units, int) or units < int(said[1]) * host.units_per_s:
        yield f"{path}: the timeout is shorter than the hook's own. Run: inferact-hook install {host.name}"
    yield from _problems_of_canary(host, str(hook["command"]))


def _problems_of_canary(host: Host, command: str) -> Iterator[str]:
    """Send a call through the command of the settings; the expected answer denies the call with a reason."""
    event = {
        "hook_event_name": host.before,
        "session_id": f"canary-{uuid.uuid4()}",
        "tool_name": CANARY,
        "tool_input": {"command": "true"},
    }
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=json.dumps(event), capture_output=True, text=True, timeout=_CANARY_S
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        yield f"The hook's command cannot be run ({type(failure).__name__})."
        return
    if done.returncode != 2:
        yield f"The hook's command exits with {done.returncode} instead of 2, so a failing hook lets calls run."
    elif CANARY_REACHED not in done.stderr:
        yield f"The hook denies every call: {done.stderr.strip()[:300]}"


def _problems_of_version(host: Host) -> Iterator[str]:
    version = read_version(host)
    shown = "of an unknown version" if version is None else ".".join(map(str, version))
    if host.closed_since is None:
        ways = "; ".join(host.opens)
        yield (
            f"{host.title} {shown} cannot block a call whose hook does not run. Calls run without the hook in these "
            f"cases: {ways}."
        )
    elif version is None:
        yield f"The version of {host.title} is unknown. Put {host.program} on the PATH, then try again."
    elif version < host.closed_since:
        needed = ".".join(map(str, host.closed_since))
        yield f"{host.title} {shown} runs a call whose hook fails. Update {host.title} to {needed} or later."


def read_version(host: Host) -> tuple[int, ...] | None:
    """Return the version of the installed program, or None if it is unknown."""
    program = os.environ.get(f"INFERACT_{host.name.upper()}") or shutil.which(host.program)
    if program is None:
        return None
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else None
