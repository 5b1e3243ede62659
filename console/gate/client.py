"""The client of the gate: `Gate`, what an agent calls before a critical action."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from console import runs
from console.database import now_ms, writing
from console.detection.detectors import detector as detector_named
from console.environments import environment as environment_named
from console.errors import BadInput
from console.gate import checks, store
from console.gate.checks import CheckId
from console.gate.http_client import ServedConsole, is_served
from console.gate.policy.policy_store import Tightened
from console.gate.policy.rules import DEADLINE_S
from console.gate.policy.yaml_file import MAX_RULES, check_pattern
from console.gate.request import MOST, ActionLike, Asker, CheckRequest, StepLike, check_request
from console.gate.run_spec import RunSpec, open_run
from console.gate.submit import SubmitOptions, submit
from console.gate.types import GateDecision
from console.gate.wait import Cancellation, Wait
from console.settings import Settings, settings

_REJECT = "reject"


class Waiting(TypedDict, total=False):
    """Which task it is, and how long to wait: `timeout_s` replaces the gate's own.

    `tool_schema` is the JSON schema of the tool's arguments, which a reviewer's edit has to fit.
    """

    task_id: str | None
    trial: int
    timeout_s: float | None
    cancel: Cancellation | None
    tool_schema: Mapping[str, Any] | None


class Gate:
    """Asks for permission before critical actions: `check` answers at once, or when a person has decided.

    The run's policy in the console decides. A run that is made here gets one from `critical`, globs over actions, tool
    names and arguments (`refund_*`, `transfer.amount=*`; without any, those of the environment, and where it has none,
    every action): a detector judges what they match, a person is asked about everything else. For a run that is there
    they only make it stricter, as do `threshold`, `reviews_per_item` and `timeout_s`; what `rules`, the console's own
    detector, flags is asked about whatever `detector` says. A gate may be shared by threads
    and made again in any process. Raises BadInput.

    A person has 30 minutes to decide, or `timeout_s` or the rule's deadline where that is less; what is decided later
    never lets the action run. With a `url` of http or https and an agent's `token` (`inferact agent add NAME`) it asks
    a served console instead of a database.
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
        token: str | None = None,
    ) -> None:
        runs.check_name(run)
        detector_named(detector)
        if isinstance(critical, str):
            raise BadInput('critical is a list of patterns, such as ["refund_*"], not one text.')
        if len(critical) > MAX_RULES:
            raise BadInput(f"critical has {len(critical):,} patterns; give at most {MAX_RULES}.")
        for pattern in critical:
            check_pattern(pattern)
        _refuse_approval(on_timeout=on_timeout, on_spent_budget=on_spent_budget)
        _refuse_number("budget", budget, 0)
        _refuse_number("reviews_per_item", reviews_per_item, 1)
        _refuse_number("threshold", threshold, 0, 1)
        for name, seconds in (("timeout_s", timeout_s), ("poll_s", poll_s), ("undo_s", undo_s)):
            _refuse_number(name, seconds, 0)
        patterns = tuple(critical) or environment_named(environment).critical or ("*",)
        undo_ms = round(undo_s * 1_000)
        spec = RunSpec(run, environment, patterns, detector, threshold, budget, reviews_per_item, undo_ms, agent)
        self._spec = replace(spec, judged=patterns)
        self._asker = Asker(name=agent or "agent")
        self._critical, self._tightened = tuple(critical), Tightened(detector, threshold, reviews_per_item)
        self._timeout_s, self._poll_s = timeout_s, poll_s
        self._given_url, self._url, self._is_open = url, "", False
        self._served = ServedConsole(url or "", token, self._question(critical)) if is_served(url) else None
        if token is not None and self._served is None:
            raise BadInput("A token is for a served console: give its address, such as http://127.0.0.1:8501, as url.")

    def open(self) -> str:
        """Makes the run if there is none yet and returns the database's URL; the first check does so by itself.

        Where a served console is asked, it makes the run, and its address is returned.
        """
        if self._served is not None:
            return self._served.address
        if not self._is_open:
            open_run(self._database(), self._spec)
            self._is_open = True
        return self._database()

    def _database(self) -> str:
        if not self._url:
            given = Settings(database_url=self._given_url) if self._given_url else settings()
            self._url = given.database_url
        return self._url

    def check(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision:
        """Whether the action may run; where a person is asked, the answer comes when they have decided.

        Give each task a `task_id` of its own: it lets the gate know a request again after a crash.
        """
        request = self._request(task, steps, action, waiting)
        if self._served is not None:
            return self._served.check(request, self._timeout_of(waiting), waiting.get("cancel"))
        answer = self._asked(request, waiting, begins=True)
        if isinstance(answer, GateDecision):
            return self.begin(answer)
        try:
            while (decision := answer.look()) is None:
                time.sleep(self._poll_s)
        except KeyboardInterrupt:
            answer.withdraw()
            raise
        return self.begin(decision)

    def ask(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision | Wait:
        """As `check`, but where a person has to decide, the wait itself, to be looked at when the caller likes.

        Whatever it lets run has not begun: say `begin` just before. Raises BadInput where a served console is asked.
        """
        if self._served is not None:
            raise BadInput("Over HTTP there is no wait to hand out; use check or acheck, or the API itself.")
        return self._asked(self._request(task, steps, action, waiting), waiting, begins=False)

    def ask_for(
        self, asker: Asker, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision | Wait:
        """As `ask`, for an agent that showed its token, and that has said nothing of a heartbeat yet.

        Such an agent chooses the run's name itself, so where it makes the run everything asks a person.
        """
        # No look of its own at the run: the check's looks for it, and makes it where there is none.
        spec = replace(self._spec, judged=(), is_agents=asker.agent_id is not None)
        request = self._request(task, steps, action, waiting)
        return submit(replace(self._options(waiting), run=spec, asker=asker, opens=True, beats=False), request)

    def _asked(self, request: CheckRequest, waiting: Waiting, *, begins: bool) -> GateDecision | Wait:
        self.open()
        return submit(replace(self._options(waiting), begins=begins), request)

    def begin(self, decision: GateDecision) -> GateDecision:
        """Says that the action runs now, once: a second time it is `already_handed_out`. `check` does so by itself.

        A decision that lets nothing run, or has begun, comes back as it is.
        """
        if not decision.approved or decision.check_id is None or decision.intent_id is not None:
            return decision
        return checks.begun(self.open(), CheckId(decision.check_id), self._asker)

    async def acheck(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **waiting: Unpack[Waiting]
    ) -> GateDecision:
        """As `check`, without ever blocking the event loop; a cancelled task takes its item out of the queue."""
        request = self._request(task, steps, action, waiting)
        if self._served is not None:
            return await self._served.acheck(request, self._timeout_of(waiting), waiting.get("cancel"))
        cancellable = _CancellableSubmit()
        await asyncio.to_thread(self.open)
        options = replace(self._options(waiting), begins=True)
        try:
            answer = await asyncio.to_thread(cancellable.submit, options, request)
            while not isinstance(answer, GateDecision):
                await asyncio.sleep(self._poll_s)
                answer = await asyncio.to_thread(answer.look) or answer
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.to_thread(cancellable.cancel))
            raise
        return await asyncio.to_thread(self.begin, answer)

    def done(self, decision: GateDecision, observation: str = "") -> None:
        """Records what came of an action that was let run; safe to repeat. Raises BadInput where none was."""
        if self._served is not None and decision.approved and decision.check_id is not None:
            self._served.done(decision.check_id, observation)
            return
        if decision.intent_id is None:
            raise BadInput("This decision let no stored action run, so there is no result to record.")
        with writing(self.open()) as session:
            run = store.current_run(session, self._spec.name)
            store.finish(session, run, decision.intent_id, observation, now_ms())

    def _request(self, task: str, steps: Sequence[StepLike], action: ActionLike, waiting: Waiting) -> CheckRequest:
        return check_request(
            task,
            steps,
            action,
            task_id=waiting.get("task_id"),
            trial=waiting.get("trial", 0),
            environment=self._spec.environment,
            tool_schema=waiting.get("tool_schema"),
        )

    def _options(self, waiting: Waiting) -> SubmitOptions:
        return SubmitOptions(
            url=self._database(),
            run=self._spec,
            critical=self._critical,
            tightened=self._tightened,
            timeout_ms=round(self._timeout_of(waiting) * 1_000),
            cancel=waiting.get("cancel"),
            asker=self._asker,
        )

    def _timeout_of(self, waiting: Waiting) -> float:
        """Seconds that a person has, at most the half hour that nobody exceeds."""
        seconds = waiting.get("timeout_s", self._timeout_s)
        _refuse_number("timeout_s", seconds, 0)
        return DEADLINE_S if seconds is None else min(seconds, DEADLINE_S)

    def _question(self, critical: Sequence[str]) -> dict[str, Any]:
        """What a served console is told of the run with every question."""
        spec = self._spec
        return {
            "run": spec.name,
            "environment": spec.environment,
            "critical": list(critical),
            "detector": spec.detector,
            "threshold": spec.threshold,
            "budget": spec.budget_cap,
            "reviews_per_item": spec.reviews_per_item,
            "undo_s": spec.undo_ms / 1_000,
        }


class _CancellableSubmit:
    """A task that may be cancelled while its request is on the way: whoever comes second takes the item back."""

    def __init__(self) -> None:
        self._answer: GateDecision | Wait | None = None
        self._cancelled = threading.Event()

    def submit(self, options: SubmitOptions, request: CheckRequest) -> GateDecision | Wait:
        self._answer = submit(options, request)
        if self._cancelled.is_set():
            self._withdraw()
        return self._answer

    def cancel(self) -> None:
        self._cancelled.set()
        self._withdraw()

    def _withdraw(self) -> None:
        if isinstance(self._answer, Wait):
            self._answer.withdraw()


def _refuse_approval(**wanted: str) -> None:
    for name, word in wanted.items():
        if word != _REJECT:
            raise BadInput(f"{name} is {word!r}; it can only be {_REJECT!r}: what nobody decided on does not run.")


def _refuse_number(name: str, value: float | None, least: int, most: int = MOST) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise BadInput(f"{name} is {value!r}; it is a number from {least} to {most}, or None for no limit of your own.")
