"""`Gate`: permission for an agent's critical actions, from a served console or from the console in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from inferact_client.decision import Check, Decision
from inferact_client.errors import ClientError
from inferact_client.steps import Transcript

if TYPE_CHECKING:
    from inferact_client.talk import Cancellation

DEADLINE_S = 1_800.0
"""Seconds after which a check returns, unless the gate or the check sets its own `deadline_s`."""


class Gate:
    """Permission for critical actions: `check` returns at once, or when a person has decided.

    `url` is the address of a served console and `token` the agent's token (`inferact agent add NAME`). Without `url`,
    the gate uses the console that is installed in this environment, with its own database.

    `deadline_s` is the latest moment of return: the time of the reviewer, the time to undo the decision and the start
    of the action are included. The console's policy decides what a person must approve. `critical` (globs over actions,
    tool names and arguments), `detector`, `threshold`, `budget`, `reviews_per_item` and `undo_s` can only tighten
    the policy.

    Threads, event loops and forked processes may share a gate. Raise ClientError if a setting is unusable.
    """

    def __init__(
        self,
        run: str,
        *,
        url: str | None = None,
        token: str | None = None,
        deadline_s: float = DEADLINE_S,
        detector: str = "rules",
        critical: Sequence[str] = (),
        threshold: float | None = None,
        budget: int | None = None,
        reviews_per_item: int = 1,
        undo_s: float | None = None,
        environment: str = "generic",
    ) -> None:
        if isinstance(critical, str):
            raise ClientError('critical is a single string. Give a list of patterns, such as ["refund_*"].')
        self.run, self.deadline_s = run, _check_seconds(deadline_s)
        settings = {
            "detector": detector,
            "critical": list(critical),
            "threshold": threshold,
            "budget": budget,
            "reviews_per_item": reviews_per_item,
            "undo_s": undo_s,
            "environment": environment,
        }
        if url is None and token is not None:
            raise ClientError(
                "A token works only with a served console. Give the console's address, such as "
                "http://127.0.0.1:8501, as url."
            )
        # Each way in is imported when it is used: the console in process loads its database.
        if url is None:
            from inferact_client.in_process import InProcess

            self._console: Any = InProcess(run, settings)
        else:
            from inferact_client.served import Served

            self._console = Served(url, token, {"run": run, **settings})

    def check(
        self,
        task: str,
        steps: Sequence[Any],
        action: str | Mapping[str, Any],
        *,
        task_id: str | None = None,
        trial: int = 0,
        tool_schema: Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
        cancel: Cancellation | None = None,
    ) -> Decision:
        """Return the decision on the action, and record that the action begins if it may run.

        `steps` are mappings with thought, action and observation, pairs (action, observation), or a `Transcript`;
        `action` is a text or a call `{"name": ..., "arguments": {...}}`. Give each task its own `task_id`, so that the
        console recognizes a repeated request after a crash. A reviewer's edit must match `tool_schema`, the JSON schema
        of the arguments. If `cancel` is set, withdraw the check.
        """
        seconds = self.deadline_s if deadline_s is None else _check_seconds(deadline_s)
        decision: Decision = self._console.check(
            _describe(task, steps, action, task_id, trial, tool_schema), seconds, cancel
        )
        return decision

    async def acheck(
        self,
        task: str,
        steps: Sequence[Any],
        action: str | Mapping[str, Any],
        *,
        task_id: str | None = None,
        trial: int = 0,
        tool_schema: Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
        cancel: Cancellation | None = None,
    ) -> Decision:
        """Like `check`, without blocking the event loop; if the asyncio task is cancelled, withdraw the check."""
        seconds = self.deadline_s if deadline_s is None else _check_seconds(deadline_s)
        decision: Decision = await self._console.acheck(
            _describe(task, steps, action, task_id, trial, tool_schema), seconds, cancel
        )
        return decision

    async def acheck_many(self, requests: Iterable[Mapping[str, Any]]) -> list[Decision]:
        """Return the decisions in order, waiting in parallel; each request holds the arguments of one `check`."""
        return list(await asyncio.gather(*(self.acheck(**request) for request in requests)))

    def check_many(self, requests: Iterable[Mapping[str, Any]]) -> list[Decision]:
        """Like `acheck_many`, for code without an event loop."""
        decisions: list[Decision] = _run_apart(self.acheck_many(list(requests)))
        return decisions

    def submit(
        self,
        task: str,
        steps: Sequence[Any],
        action: str | Mapping[str, Any],
        *,
        task_id: str | None = None,
        trial: int = 0,
        tool_schema: Mapping[str, Any] | None = None,
        hints: Mapping[str, bool] | None = None,
        expires_s: float | None = None,
    ) -> Check:
        """Submit a check and return it without waiting; `fetch` returns its decision later, from any process.

        The check expires at the deadline of its rule, else after `expires_s`, else after 30 minutes. Call `begin` just
        before the action runs. `hints` describes the tool: `read_only`, `destructive` and, so that a person
        decides, `changed`. Raise CheckRefused if the console refuses the check, ConsoleAway if it is unreachable.
        """
        asked = _describe(task, steps, action, task_id, trial, tool_schema) | _describe_hints(hints)
        check: Check = self._console.submit(asked, expires_s, self.deadline_s)
        return check

    async def asubmit(
        self,
        task: str,
        steps: Sequence[Any],
        action: str | Mapping[str, Any],
        *,
        task_id: str | None = None,
        trial: int = 0,
        tool_schema: Mapping[str, Any] | None = None,
        hints: Mapping[str, bool] | None = None,
        expires_s: float | None = None,
    ) -> Check:
        """Submit a check like `submit`, without blocking the event loop."""
        asked = _describe(task, steps, action, task_id, trial, tool_schema) | _describe_hints(hints)
        check: Check = await self._console.asubmit(asked, expires_s, self.deadline_s)
        return check

    def fetch(self, check_id: str, *, wait_s: float = 0.0) -> Check:
        """Return the check, after at most `wait_s` seconds; raise the errors of `submit`."""
        check: Check = self._console.fetch(check_id, _check_seconds(wait_s), self.deadline_s)
        return check

    async def afetch(self, check_id: str, *, wait_s: float = 0.0) -> Check:
        """Return the check like `fetch`, without blocking the event loop."""
        check: Check = await self._console.afetch(check_id, _check_seconds(wait_s), self.deadline_s)
        return check

    def begin(self, decision: Decision) -> Decision:
        """Record that the action begins now, and return the valid decision; `check` includes this step."""
        if not decision.approved or decision.check_id is None or decision.begun:
            return decision
        begun: Decision = self._console.begin(decision, self.deadline_s)
        return begun

    async def abegin(self, decision: Decision) -> Decision:
        """Record that the action begins now like `begin`, without blocking the event loop."""
        if not decision.approved or decision.check_id is None or decision.begun:
            return decision
        begun: Decision = await self._console.abegin(decision, self.deadline_s)
        return begun

    def done(self, decision: Decision | str, observation: str = "") -> None:
        """Record the result of an action that has begun; a repeated call changes nothing.

        A decision without a check needs no result. Raise CheckRefused if the action has not begun, ConsoleAway if the
        console is unreachable for a minute.
        """
        check_id = decision if isinstance(decision, str) else decision.check_id
        if check_id is not None:
            self._console.done(check_id, observation)

    async def adone(self, decision: Decision | str, observation: str = "") -> None:
        """Like `done`, without blocking the event loop."""
        check_id = decision if isinstance(decision, str) else decision.check_id
        if check_id is not None:
            await asyncio.to_thread(self._console.done, check_id, observation)

    def withdraw(self, check_id: str) -> Check:
        """Withdraw a pending check and return it; an existing decision stays."""
        check: Check = self._console.withdraw(check_id, self.deadline_s)
        return check

    async def awithdraw(self, check_id: str) -> Check:
        """Withdraw a pending check like `withdraw`, without blocking the event loop."""
        check: Check = await self._console.awithdraw(check_id, self.deadline_s)
        return check

    def close(self) -> None:
        """Close the connections of this process; the next call opens new connections."""
        self._console.close()


def _describe(
    task: str,
    steps: Sequence[Any],
    action: str | Mapping[str, Any],
    task_id: str | None,
    trial: int,
    tool_schema: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the request in the format of the console's API."""
    asked = {"task": task, "task_id": task_id, "trial": trial, "action": action, "tool_schema": tool_schema}
    if isinstance(steps, Transcript):
        return asked | {"steps": [], "transcript": {"format": steps.format, "text": steps.text}}
    return asked | {"steps": [_describe_step(step) for step in steps]}


def _describe_hints(hints: Mapping[str, bool] | None) -> dict[str, Any]:
    return {} if hints is None else {"hints": dict(hints)}


def _describe_step(step: Any) -> Mapping[str, Any]:
    if isinstance(step, Mapping):
        return step
    if isinstance(step, Sequence) and not isinstance(step, str) and len(step) == 2:
        return {"action": step[0], "observation": step[1]}
    if hasattr(step, "action") and hasattr(step, "observation"):
        return {"thought": getattr(step, "thought", ""), "action": step.action, "observation": step.observation}
    raise ClientError(
        "A step is invalid. Give each step as a mapping with action and observation, or as a pair of both."
    )


def _check_seconds(seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= 604_800:
        raise ClientError(f"{seconds!r} is not a valid time. Give a number of seconds from 0 to 604,800.")
    return float(seconds)


def _run_apart(work: Any) -> Any:
    """Run the coroutine to its end; if an event loop already runs in this thread, use another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(asyncio.run(work)))
    thread.start()
    thread.join()
    if not answers:
        raise ClientError("The checks were interrupted, so none of their calls may run. Submit the calls again.")
    return answers[0]
