"""The command `inferact-hook`: install, check and uninstall the hook of a coding agent, and run it."""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from inferact_client.errors import ClientError
from inferact_client.hook.hosts import HOSTS, Host

_STARTED = time.monotonic()
_SHARE = 0.8
"""The share of the program's own timeout after which the hook denies the call."""
_SHORT_S = 5.0
"""Seconds for a request that does not wait for a person."""
_HOME_CONFIG = ".config/inferact/hook.json"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 if a check fails, or 2 for bad input and denied calls."""
    options = _parser().parse_args(arguments)
    if options.command == "run":
        run(HOSTS[options.host], Path(options.config), options.host_timeout)
    try:
        return int(options.work(options))
    except (ClientError, OSError) as failure:
        sys.stderr.write(f"inferact-hook: {failure}\n")
        return 2


def run(host: Host, config: Path, host_timeout_s: float) -> NoReturn:
    """Answer the event on standard input and exit; whatever fails, deny the call before the program's own timeout."""
    from inferact_client.hook.answers import Answer, deny

    once = threading.Lock()

    def leave(said: Answer) -> NoReturn:
        once.acquire()
        out = "" if said.out is None else json.dumps(said.out, ensure_ascii=True)
        try:
            os.write(1, out.encode())
            os.write(2, (said.error + "\n" if said.error else "").encode("utf-8", "replace"))
        finally:
            os._exit(said.exit)

    limit_s = host_timeout_s * _SHARE
    late = f"No decision came within {limit_s:.0f} seconds, so this call did not run. This is not a rejection."
    timer = threading.Timer(max(limit_s - (time.monotonic() - _STARTED), 0.1), leave, [deny(host, late)])
    timer.daemon = True
    timer.start()
    is_call = True
    try:
        signal.signal(signal.SIGTERM, _interrupt)
        event = json.loads(sys.stdin.buffer.read())
        is_call = event.get("hook_event_name") not in (host.prompt, *host.after)
        leave(_answer(host, event, config, limit_s))
    except BaseException as failure:
        words = f"The InferAct hook failed ({type(failure).__name__}: {failure}), so this call did not run."
        # A failure to note a request or a result must not stop the program.
        leave(deny(host, words) if is_call else Answer(1, None, words.replace(", so this call did not run", "")))


def _answer(host: Host, event: Any, config: Path, limit_s: float) -> Any:
    from inferact_client.gate import Gate
    from inferact_client.hook.answers import answer

    known = json.loads(config.read_text("utf-8"))
    gate = Gate(known["run"], url=known["url"], token=known["token"], deadline_s=min(limit_s, _SHORT_S))
    return answer(host, event, gate, limit_s - (time.monotonic() - _STARTED) - 1.0, _HostGone())


class _HostGone:
    """A cancellation that is set as soon as the program no longer reads the hook's answer."""

    def is_set(self) -> bool:
        if not hasattr(select, "poll"):
            return False
        pipe = select.poll()
        pipe.register(1, 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in pipe.poll(0))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _install(options: argparse.Namespace) -> int:
    from inferact_client.hook.notes import write_privately
    from inferact_client.hook.settings_file import install

    config = Path(options.config)
    if options.url or not config.exists():
        token = options.token or os.environ.get("INFERACT_TOKEN")
        if not options.url or not token:
            raise ClientError(
                "Give --url of the console and the agent's token: --token, or the variable INFERACT_TOKEN."
            )
        known = {"url": options.url, "token": token, "run": options.run}
        write_privately(config, json.dumps(known, indent=2) + "\n")
    for host in _chosen(options):
        path = host.settings_path(options.scope, Path.cwd())
        install(host, path, config.resolve(), options.timeout)
        sys.stdout.write(f"{host.title}: the hook is in {path}. Now run: inferact-hook check {host.name}" + "\n")
        if host.name == "codex":
            sys.stdout.write("Codex: open /hooks and trust the hook; until then Codex does not run it." + "\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    from inferact_client.hook.settings_file import list_problems

    failed = 0
    for host in _chosen(options):
        path = host.settings_path(options.scope, Path.cwd())
        problems = list(list_problems(host, path))
        for sentence in problems:
            sys.stderr.write(f"{host.title}: {sentence}" + "\n")
        if not problems:
            sys.stdout.write(f"{host.title}: the hook in {path} answers and fails closed." + "\n")
        failed += bool(problems)
    return 1 if failed else 0


def _uninstall(options: argparse.Namespace) -> int:
    from inferact_client.hook.settings_file import uninstall

    for host in _chosen(options):
        path = host.settings_path(options.scope, Path.cwd())
        done = "removed from" if uninstall(path) else "not found in"
        sys.stdout.write(f"{host.title}: the hook was {done} {path}." + "\n")
    return 0


def _chosen(options: argparse.Namespace) -> list[Host]:
    return [HOSTS[name] for name in options.hosts or HOSTS]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("inferact-hook", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    config = str(Path.home() / _HOME_CONFIG)
    for name, work, about in (
        ("install", _install, "Write the hook into the settings of the programs."),
        ("check", _check, "Send a canary call; exit with code 1 if a program runs it without the hook."),
        ("uninstall", _uninstall, "Restore the settings of the programs."),
    ):
        command = commands.add_parser(name, help=about, description=about)
        command.set_defaults(work=work)
        command.add_argument("hosts", nargs="*", choices=[*HOSTS, []], help="claude, codex, gemini (default: all)")
        command.add_argument("--scope", choices=("user", "project"), default="user", help="whose settings to change")
        command.add_argument("--config", default=config, help=f"file of url, token and run (default: {config})")
        if name == "install":
            command.add_argument("--url", help="address of the console")
            command.add_argument("--token", help="the agent's token (default: the variable INFERACT_TOKEN)")
            command.add_argument("--run", default="coding-agents", help="name of the run")
            command.add_argument("--timeout", type=int, default=600, help="seconds that the program waits for the hook")
    runs = commands.add_parser(
        "run", help="Answer one event on standard input. The program runs this command from its settings."
    )
    runs.add_argument("host", choices=HOSTS)
    runs.add_argument("--config", default=config)
    runs.add_argument("--host-timeout", type=float, required=True)
    return parser
