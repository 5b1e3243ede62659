"""The test of an installation: the settings file as the program reads it, and one call through its own command."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

from inferact_client.errors import ClientError
from inferact_client.hook.answers import CANARY, CANARY_REACHED
from inferact_client.hook.hosts import Host
from inferact_client.hook.settings_file import find_hooks, read_settings

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
