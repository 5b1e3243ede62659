"""A gate on the console that is installed in this environment, without HTTP.

Packages or files with the same names as the console's packages can hide them.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from inferact_client.decision import REFUSED, UNREACHABLE, Check, Decision
from inferact_client.errors import CheckRefused, ClientError, ConsoleAway
from inferact_client.talk import Cancellation, person_s

CONSOLE = "inferact-console"
_OURS = {"console": "gate/checks.py", "storage": "queue/claims.py"}
"""The console's packages, each with a file that no other package of this name holds."""


def is_console_installed() -> bool:
    """Return whether the console's distribution is installed in this environment."""
    try:
        importlib.metadata.version(CONSOLE)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def find_clashes(folders: Iterable[Path] = ()) -> list[str]:
    """Return one sentence for each file or package that hides a package of the console.

    `folders` are further folders from which an agent may be started: a program's own folder comes before the installed
    packages.
    """
    owners = importlib.metadata.packages_distributions() if sys.version_info >= (3, 10) else {}
    found = [_import_clash(name) for name in _OURS] + [_owner_clash(name, {*owners.get(name, ())}) for name in _OURS]
    found += [_folder_clash(folder, name) for folder in folders for name in _OURS]
    return list(dict.fromkeys(sentence for sentence in found if sentence))


def _import_clash(name: str) -> str:
    """Return the sentence about a foreign module that `import name` finds."""
    loaded = sys.modules.get(name)
    try:
        spec = importlib.util.find_spec(name) if loaded is None else loaded.__spec__
    except (ImportError, ValueError):
        spec = None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    origin = spec.origin if spec is not None else getattr(loaded, "__file__", None)
    if any((Path(place) / _OURS[name]).is_file() for place in places):
        return ""
    return _sentence(Path(origin or places[0]), name) if origin or places else ""


def _owner_clash(name: str, owners: set[str]) -> str:
    """Return the sentence about another distribution that installed files into the package."""
    others = sorted(owners - {CONSOLE})
    if CONSOLE not in owners or not others:
        return ""
    return (
        f"The package {others[0]} has replaced files of {CONSOLE} in the folder {name}. Uninstall {others[0]}, then "
        f"run: pip install --force-reinstall --no-deps {CONSOLE}."
    )


def _folder_clash(folder: Path, name: str) -> str:
    """Return the sentence about a file or folder that hides the package from programs in this folder."""
    for path in (folder / f"{name}.py", folder / name / "__init__.py"):
        if path.is_file() and not (folder / name / _OURS[name]).is_file():
            return _sentence(path, name)
    return ""


def _sentence(path: Path, name: str) -> str:
    return f"{path} hides the package {name} of InferAct Console. Rename {path.name}, or use another folder."


_POLL_S = 0.2


class InProcess:
    """The checks of one run in this environment's database; raise ClientError if no console is installed."""

    def __init__(self, run: str, settings: Mapping[str, Any]) -> None:
        if not is_console_installed():
            raise ClientError(
                "The console is not installed in this environment. Give url= and token= of a served console, or "
                "install inferact-console."
            )
        if clashes := find_clashes():
            raise ClientError(f"{clashes[0]} Or give url= and token= of a served console.")
        from console.errors import ConsoleError
        from console.gate import Gate, checks
        from console.gate.request import NOBODY

        self._checks, self._asker, self._error = checks, NOBODY, ConsoleError
        self._undo_s = settings["undo_s"]
        try:
            self._gate = Gate(run, **settings)
        except ConsoleError as unusable:
            raise ClientError(str(unusable)) from unusable

    def _as_steps(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request with the steps of its transcript, if it has one."""
        if "transcript" not in asked:
            return dict(asked)
        from console.gate.transcript import read_steps

        rest = {name: value for name, value in asked.items() if name != "transcript"}
        return rest | {"steps": read_steps(**asked["transcript"], action=asked["action"])}

    def check(self, asked: Mapping[str, Any], deadline_s: float, cancel: Cancellation | None) -> Decision:
        """Return the decision within `deadline_s`."""
        try:
            return _read(
                self._gate.check(**self._as_steps(asked), timeout_s=person_s(deadline_s, self._undo_s), cancel=cancel)
            )
        except Exception as failure:
            return self._failed(failure, asked)

    async def acheck(self, asked: Mapping[str, Any], deadline_s: float, cancel: Cancellation | None) -> Decision:
        """Return the decision within `deadline_s`, without blocking the event loop."""
        try:
            return _read(
                await self._gate.acheck(
                    **self._as_steps(asked), timeout_s=person_s(deadline_s, self._undo_s), cancel=cancel
                )
            )
        except Exception as failure:
            return self._failed(failure, asked)

    def submit(self, asked: Mapping[str, Any], expires_s: float | None, _deadline_s: float) -> Check:
        """Submit a check; raise CheckRefused if the console refuses the check."""
        try:
            answer = self._gate.ask(**self._as_steps(asked), timeout_s=expires_s)
        except self._error as refused:
            raise CheckRefused(str(refused)) from refused
        return self._as_check(answer)

    def fetch(self, check_id: str, wait_s: float, _deadline_s: float) -> Check:
        """Return a check after at most `wait_s` seconds; raise CheckRefused if the check does not exist."""
        ends = time.monotonic() + wait_s
        while True:
            answer = self._open(check_id)
            decision = answer.look() if hasattr(answer, "look") else answer
            if decision is not None or time.monotonic() >= ends:
                return self._as_check(answer if decision is None else decision)
            time.sleep(_POLL_S)

    async def asubmit(self, asked: Mapping[str, Any], expires_s: float | None, deadline_s: float) -> Check:
        """Submit a check like `submit`, in a thread."""
        return await asyncio.to_thread(self.submit, asked, expires_s, deadline_s)

    async def afetch(self, check_id: str, wait_s: float, deadline_s: float) -> Check:
        """Return a check like `fetch`; no thread waits between two queries."""
        ends = time.monotonic() + wait_s
        while True:
            check = await asyncio.to_thread(self.fetch, check_id, 0.0, deadline_s)
            if check.decision is not None or time.monotonic() >= ends:
                return check
            await asyncio.sleep(_POLL_S)

    async def abegin(self, decision: Decision, deadline_s: float) -> Decision:
        """Record that the action begins like `begin`, in a thread."""
        return await asyncio.to_thread(self.begin, decision, deadline_s)

    async def awithdraw(self, check_id: str, deadline_s: float) -> Check:
        """Withdraw a check like `withdraw`, in a thread."""
        return await asyncio.to_thread(self.withdraw, check_id, deadline_s)

    def begin(self, decision: Decision, _deadline_s: float) -> Decision:
        """Record that the action begins; return the valid decision."""
        try:
            at = self._checks.check_id(decision.check_id or "")
            return _read(self._checks.begin_check(self._gate.open(), at, self._asker))
        except self._error as refused:
            return replace(decision, approved=False, feedback=str(refused), reason=REFUSED)

    def withdraw(self, check_id: str, _deadline_s: float) -> Check:
        """Withdraw a check; raise CheckRefused if the check does not exist."""
        answer = self._open(check_id)
        return self._as_check((answer.withdraw() or answer) if hasattr(answer, "withdraw") else answer)

    def done(self, check_id: str, observation: str) -> None:
        """Record a result; raise CheckRefused, or ConsoleAway if the database cannot be used."""
        from console.database import now_ms, writing

        try:
            with writing(self._gate.open()) as session:
                at = self._checks.check_id(check_id)
                self._checks.record_result(session, at, self._asker, observation, now_ms())
        except self._error as refused:
            raise CheckRefused(str(refused)) from refused
        except Exception as away:
            advice = "Check it with inferact doctor, then try again."
            raise ConsoleAway(f"The console's database cannot be used ({away}). {advice}") from away

    def close(self) -> None:
        """Keep the console's database open, because other gates of this process use it."""

    def _open(self, check_id: str) -> Any:
        try:
            at = self._checks.check_id(check_id)
            return self._checks.open_wait(self._gate.open(), at, self._asker, beats=False)
        except self._error as refused:
            raise CheckRefused(str(refused)) from refused

    def _as_check(self, answer: Any) -> Check:
        """Return the console's decision, or its pending state, as a check."""
        if not hasattr(answer, "look"):
            return Check(answer.check_id, _read(answer))
        left_s = max((answer.check.ask.deadline_ms or 0) / 1_000 - time.time(), 0.0)
        return Check(answer.check.ask.token, None, left_s)

    def _failed(self, failure: Exception, asked: Mapping[str, Any]) -> Decision:
        """Return a decision that does not allow the action."""
        reason = REFUSED if isinstance(failure, self._error) else UNREACHABLE
        return Decision(False, str(asked["action"]), str(failure) or type(failure).__name__, reason)


def _read(decision: Any) -> Decision:
    call = decision.call
    return Decision(
        decision.approved,
        decision.action,
        decision.feedback,
        str(decision.reason),
        None if call is None else {"name": call.name, "arguments": call.arguments},
        decision.check_id,
        decision.item_id,
        decision.decision_id,
        decision.score,
        begun=decision.approved and decision.intent_id is not None,
    )
