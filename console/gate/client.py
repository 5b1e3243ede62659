"""The door: `Gate`, what an agent calls before a critical action."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Sequence
from typing import TypedDict, Unpack

from console import runs
from console.database import now_ms, writing
from console.detection.detectors import detector as detector_named
from console.environments import environment as environment_named
from console.errors import BadInput
from console.gate import store
from console.gate.judge import Tightened
from console.gate.policy.yaml_file import check_pattern
from console.gate.request import ActionLike, CheckRequest, StepLike, check_request
from console.gate.run import RunSpec, current, open_run
from console.gate.submit import SubmitOptions, submit
from console.gate.types import GateDecision
from console.gate.wait import Cancellation, Wait
from console.settings import Settings, settings

_REJECT = "reject"


class Waiting(TypedDict, total=False):
    """Which task it is, and how long to wait: `timeout_s` replaces the gate's own."""

    task_id: str | None
    trial: int
    timeout_s: float | None
    cancel: Cancellation | None


class Gate:
    """Asks for permission before critical actions: `check` answers at once, or when a person has decided.

    The run's policy in the console decides. A run that is made here gets one from `critical`, globs over actions, tool
    names and arguments (`refund_*`, `transfer.amount=*`; without any, those of the environment, and where it has none,
    every action): a detector judges what they match, a person is asked about everything else. For a run that is there
    they only make it stricter, as do `threshold`, `reviews_per_item` and `timeout_s`. A gate may be shared by threads
    and made again in any process. Raises BadInput.
    """

    def __init__(
        self,
        run: str,
        detector: str = "rules",
        critical: Sequence[str] = (),
        *,
        environment: str = "generic",
        threshold: float | None = None,
        budget: int | None = None,
        reviews_per_item: int = 1,
        timeout_s: float | None = None,
        on_timeout: str = _REJECT,
        on_spent_budget: str = _REJECT,
        poll_s: float = 0.2,
        undo_s: float = 5.0,
        url: str | None = None,
        agent: str | None = None,
    ) -> None:
        runs.check_name(run)
        detector_named(detector)
        if isinstance(critical, str):
            raise BadInput('critical is a list of patterns, such as ["refund_*"], not one text.')
        for pattern in critical:
            check_pattern(pattern)
        _check_rejects(on_timeout=on_timeout, on_spent_budget=on_spent_budget)
        _check_number("budget", budget, 0)
        _check_number("reviews_per_item", reviews_per_item, 1)
        for name, seconds in (("timeout_s", timeout_s), ("poll_s", poll_s), ("undo_s", undo_s)):
            _check_number(name, seconds, 0)
        patterns = tuple(critical) or environment_named(environment).critical or ("*",)
        undo_ms = round(undo_s * 1_000)
        self._wanted = RunSpec(
            run, environment, patterns, detector, threshold, budget, reviews_per_item, undo_ms, agent
        )
        self._critical, self._tightened = tuple(critical), Tightened(threshold, reviews_per_item)
        self._timeout_s, self._poll_s = timeout_s, poll_s
        self._given_url, self._url = url, ""

    def open(self) -> str:
        """Makes the run if there is none yet and returns the database's URL; the first check does so by itself."""
        if not self._url:
            url = Settings(database_url=self._given_url).database_url if self._given_url else settings().database_url
            open_run(url, self._wanted)
            self._url = url
        return self._url

    def check(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision:
        """Whether the action may run; where the detector flags it, the answer comes when a person has decided.

        Give each task a `task_id` of its own: it lets the gate know a question again after a crash.
        """
        found = self.ask(task, steps, action, **waiting)
        if isinstance(found, GateDecision):
            return found
        try:
            while (decision := found.look()) is None:
                time.sleep(self._poll_s)
        except KeyboardInterrupt:
            found.withdraw()
            raise
        return decision

    def ask(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision | Wait:
        """As `check`, but where a person has to decide, the wait itself, to be looked at when the caller likes."""
        asked = self._asked(task, steps, action, waiting)
        return submit(self._terms(waiting), asked)

    async def acheck(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision:
        """As `check`, without ever blocking the event loop; a cancelled task takes its item out of the queue."""
        asked, left = self._asked(task, steps, action, waiting), _Leaving()
        terms = await asyncio.to_thread(self._terms, waiting)
        try:
            found = await asyncio.to_thread(left.begin, terms, asked)
            while not isinstance(found, GateDecision):
                await asyncio.sleep(self._poll_s)
                found = await asyncio.to_thread(found.look) or found
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.to_thread(left.leave))
            raise
        return found

    def done(self, decision: GateDecision, observation: str = "") -> None:
        """Records what came of an action that was let run; safe to repeat. Raises BadInput where none was."""
        if decision.intent_id is None:
            raise BadInput("This decision let no stored action run, so there is no result to record.")
        with writing(self.open()) as session:
            run = current(session, self._wanted.name)
            store.finish(session, run, decision.intent_id, observation, now_ms())

    def _asked(self, task: str, steps: Sequence[StepLike], action: ActionLike, waiting: Waiting) -> CheckRequest:
        return check_request(
            task,
            steps,
            action,
            task_id=waiting.get("task_id"),
            trial=waiting.get("trial", 0),
            environment=self._wanted.environment,
        )

    def _terms(self, waiting: Waiting) -> SubmitOptions:
        seconds = waiting.get("timeout_s", self._timeout_s)
        _check_number("timeout_s", seconds, 0)
        timeout_ms = None if seconds is None else round(seconds * 1_000)
        return SubmitOptions(
            url=self.open(),
            run=self._wanted.name,
            agent=self._wanted.agent or "",
            critical=self._critical,
            tightened=self._tightened,
            timeout_ms=timeout_ms,
            cancel=waiting.get("cancel"),
        )


class _Leaving:
    """A task that may be cancelled while its question is on the way: whoever comes second takes the item back."""

    def __init__(self) -> None:
        self._begun: GateDecision | Wait | None = None
        self._left = threading.Event()

    def begin(self, terms: SubmitOptions, asked: CheckRequest) -> GateDecision | Wait:
        self._begun = submit(terms, asked)
        if self._left.is_set():
            self._withdraw()
        return self._begun

    def leave(self) -> None:
        self._left.set()
        self._withdraw()

    def _withdraw(self) -> None:
        if isinstance(self._begun, Wait):
            self._begun.withdraw()


def _check_rejects(**wanted: str) -> None:
    for name, word in wanted.items():
        if word != _REJECT:
            raise BadInput(f"{name} is {word!r}; it can only be {_REJECT!r}: what nobody decided on does not run.")


def _check_number(name: str, value: float | None, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < least:
        raise BadInput(f"{name} is {value!r}; it is a number of at least {least}, or None for no limit.")
