"""A gate on a served console, for callers of `console.gate`; new code uses `inferact_client` directly."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.errors import BadInput, ConsoleError, Refused
from console.gate.checks import Cancellation
from console.gate.policy.rules import DEADLINE_S, UNDO_S
from console.gate.request import CheckRequest, GateDecision, Reason
from console.review.edits import TOOL_SCHEMA

if TYPE_CHECKING:
    from inferact_client.decision import Decision
    from inferact_client.served import Served


class ServedConsole:
    """A served console, used by one agent for one run; its constructor raises BadInput for a bad address or token."""

    def __init__(self, address: str, token: str | None, run: Mapping[str, Any]) -> None:
        self.address, self._undo_s = address.rstrip("/"), run["undo_s"]
        self._served = _open_served(address, token, run)

    def check(self, request: CheckRequest, timeout_s: float | None, cancel: Cancellation | None) -> GateDecision:
        """Return the decision on a request; if the decision allows the action, begin the action."""
        return _convert(self._served.check(_describe(request), self._deadline_s(timeout_s), cancel))

    async def acheck(self, request: CheckRequest, timeout_s: float | None, cancel: Cancellation | None) -> GateDecision:
        """Return the decision, like `check`, without blocking the event loop; withdraw the check on cancellation."""
        return _convert(await self._served.acheck(_describe(request), self._deadline_s(timeout_s), cancel))

    def done(self, check_id: str, observation: str) -> None:
        """Record the result; raise Refused if the console rejects it, ConsoleError if it is unreachable."""
        from inferact_client.errors import CheckRefused, ClientError

        try:
            self._served.done(check_id, observation)
        except CheckRefused as refused:
            raise Refused(str(refused)) from refused
        except ClientError as away:
            raise ConsoleError(f"{away} The result is not recorded. Call done again.") from away

    def _deadline_s(self, timeout_s: float | None) -> float:
        """Return the longest time until the return, in seconds, that leaves a person `timeout_s` to decide."""
        person = DEADLINE_S if timeout_s is None else timeout_s
        return person + min((UNDO_S if self._undo_s is None else self._undo_s) + 1.0, person / 3)


def add_client_path() -> None:
    """Make `inferact_client` importable if the console is only on the path and not installed as a package."""
    if find_spec("inferact_client") is None:
        # The installed console does this by a path file, which counts in folders of installed packages only.
        sys.path.append(str(Path(__file__).resolve().parents[1] / "client"))


def _open_served(address: str, token: str | None, run: Mapping[str, Any]) -> Served:
    add_client_path()
    from inferact_client.errors import ClientError
    from inferact_client.served import Served

    try:
        return Served(address, token, run)
    except ClientError as unusable:
        raise BadInput(str(unusable)) from unusable


def _describe(request: CheckRequest) -> dict[str, Any]:
    record = request.record
    steps = [{"thought": one.thought, "action": one.action, "observation": one.observation} for one in record.steps]
    return {
        "task": record.instruction,
        "task_id": record.task_id if request.named else None,
        "trial": record.trial,
        "steps": steps,
        "action": request.action,
        "tool_schema": record.extra.get(TOOL_SCHEMA),
    }


def _convert(decision: Decision) -> GateDecision:
    reason = Reason(decision.reason) if decision.reason in list(Reason) else Reason.UNREACHABLE
    return GateDecision(
        decision.approved,
        decision.action,
        decision.feedback or decision.message,
        reason,
        item_id=decision.item_id,
        decision_id=decision.decision_id,
        score=decision.score,
        check_id=decision.check_id,
    )
