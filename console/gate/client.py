"""The gate's client: `Gate`, which an agent calls before a critical action."""

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
from console.environments import ENVIRONMENTS
from console.errors import BadInput
from console.gate import checks
from console.gate.checks import Cancellation, CheckId, Wait
from console.gate.policy.rules import MAX_DEADLINE_S, UNDO_S
from console.gate.policy.yaml_file import MAX_RULES, check_pattern
from console.gate.request import MOST, ActionLike, Asker, CheckRequest, GateDecision, StepLike, Tightened, check_request
from console.gate.served_console import ServedConsole
from console.gate.store import RunSpec, open_run
from console.gate.submit import SubmitOptions, submit
from console.settings import Settings, settings


class CheckOptions(TypedDict, total=False):
    """Options of one check: the task's id and trial, the time to wait, and a signal to cancel.

    `timeout_s` replaces the gate's own timeout. `tool_schema` is the JSON schema of the tool's arguments; a reviewer's
    edit must match this schema. `hints` are the fields of `ToolHints` that are known.
    """

    task_id: str | None
    trial: int
    timeout_s: float | None
    cancel: Cancellation | None
    tool_schema: Mapping[str, Any] | None
    hints: Mapping[str, bool] | None


class Gate:
    """Permission for critical actions: `check` returns at once, or when a person has decided.

    The stored policy of the run decides. If this gate creates the run, the policy comes from `critical`: globs over
    actions, tool names and arguments (`refund_*`, `transfer.amount=*`). A detector judges the actions that match a
    glob, and a person is asked about all other actions. If `critical` is empty, a person is asked about every action.

    For an existing run, `critical`, `threshold`, `reviews_per_item` and `timeout_s` can only tighten its policy. A
    person is asked about every action that the detector `rules` flags, even if `detector` names another detector.
    Threads may share a gate, and each process may create its own. Raise BadInput if a setting is invalid.

    A person can decide until the rule's deadline, else for `timeout_s`, else for 30 minutes; a later decision does not
    allow the action. In process, a shorter `timeout_s` of `check` ends the check as well; over HTTP it ends only the
    wait.

    A reviewer can undo a decision for the time that the rule or the policy sets as `undo`, else 5 seconds. `undo_s` can
    only lengthen this time. If a gate in process creates the run, `undo_s` replaces the 5 seconds.

    To use a served console instead of a database, give its address (http or https) as `url`. Then `token` is an agent's
    token (`inferact agent add NAME`).
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
        poll_s: float = 0.2,
        undo_s: float | None = None,
        url: str | None = None,
        agent: str | None = None,
        token: str | None = None,
    ) -> None:
        runs.check_name(run)
        detector_named(detector)
        if isinstance(critical, str):
            raise BadInput('critical is a single string. Give a list of patterns, such as ["refund_*"].')
        if len(critical) > MAX_RULES:
            raise BadInput(f"critical has {len(critical):,} patterns. Give at most {MAX_RULES}.")
        for pattern in critical:
            check_pattern(pattern)
        _refuse_number("budget", budget, 0)
        _refuse_number("reviews_per_item", reviews_per_item, 1)
        _refuse_number("threshold", threshold, 0, 1)
        for name, seconds in (("timeout_s", timeout_s), ("poll_s", poll_s), ("undo_s", undo_s)):
            _refuse_number(name, seconds, 0)
        patterns = tuple(critical) or ENVIRONMENTS[environment].critical or ("*",)
        own_undo_ms = 0 if undo_s is None else round(undo_s * 1_000)
        undo_ms = round(UNDO_S * 1_000) if undo_s is None else own_undo_ms
        spec = RunSpec(run, environment, patterns, detector, threshold, budget, reviews_per_item, undo_ms, agent)
        self._spec = replace(spec, judged=tuple(critical))
        self._asker = Asker(name=agent or "agent")
        self._critical, self._tightened = tuple(critical), Tightened(detector, threshold, reviews_per_item, own_undo_ms)
        self._undo_s = undo_s
        self._timeout_s, self._poll_s = timeout_s, poll_s
        self._given_url, self._url, self._is_open = url, "", False
        is_served = url is not None and url.startswith(("http://", "https://"))
        self._served = ServedConsole(url or "", token, self._question(critical)) if is_served else None
        if token is not None and self._served is None:
            raise BadInput(
                "A token works only with a served console. Give the console's address, such as "
                "http://127.0.0.1:8501, as url."
            )

    def open(self) -> str:
        """Create the run if it does not exist, and return the database's URL; the first check calls `open`.

        If the gate uses a served console, return the console's address; the console creates the run itself.
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
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **options: Unpack[CheckOptions]
    ) -> GateDecision:
        """Return the decision on the action; if a person is asked, wait for the person's decision.

        Give each task its own `task_id`, so that the gate recognizes a repeated request after a crash.
        """
        request = self._request(task, steps, action, options)
        if self._served is not None:
            return self._served.check(request, self._timeout_of(options), options.get("cancel"))
        answer = self._submit_request(request, options, begins=True)
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
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **options: Unpack[CheckOptions]
    ) -> GateDecision | Wait:
        """Return the decision, or a `Wait` to poll later if a person has to decide.

        Call `begin` just before the action runs. Raise BadInput if the gate uses a served console.
        """
        if self._served is not None:
            raise BadInput("A served console cannot return a `Wait`. Use check, acheck or the HTTP API.")
        return self._submit_request(self._request(task, steps, action, options), options, begins=False)

    def ask_for(
        self, asker: Asker, task: str, steps: Sequence[StepLike], action: ActionLike, **options: Unpack[CheckOptions]
    ) -> GateDecision | Wait:
        """Return the decision or a `Wait`, like `ask`, for an agent with a token that has not sent a heartbeat yet.

        Such an agent chooses the run's name itself. A person is therefore asked about every action of a run that the
        agent creates.
        """
        # The check itself looks for the run and creates it if it does not exist.
        spec = replace(self._spec, judged=(), is_agents=asker.agent_id is not None)
        request = self._request(task, steps, action, options)
        return submit(replace(self._options(options), run=spec, asker=asker, opens=True, beats=False), request)

    def _submit_request(self, request: CheckRequest, options: CheckOptions, *, begins: bool) -> GateDecision | Wait:
        self.open()
        return submit(replace(self._options(options), begins=begins), request)

    def begin(self, decision: GateDecision) -> GateDecision:
        """Record that the action starts now; on a second call, return `already_handed_out`.

        `check` calls `begin` automatically. Return the decision unchanged if it does not allow the action or the action
        has already begun.
        """
        if not decision.approved or decision.check_id is None or decision.intent_id is not None:
            return decision
        return checks.begin_check(self.open(), CheckId(decision.check_id), self._asker)

    async def acheck(
        self, task: str, steps: Sequence[StepLike], action: ActionLike, **options: Unpack[CheckOptions]
    ) -> GateDecision:
        """Return the decision, like `check`, without blocking the event loop; withdraw the item on cancellation."""
        request = self._request(task, steps, action, options)
        if self._served is not None:
            return await self._served.acheck(request, self._timeout_of(options), options.get("cancel"))
        cancellable = _CancellableSubmit()
        await asyncio.to_thread(self.open)
        begun = replace(self._options(options), begins=True)
        try:
            answer = await asyncio.to_thread(cancellable.submit, begun, request)
            while not isinstance(answer, GateDecision):
                await asyncio.sleep(self._poll_s)
                answer = await asyncio.to_thread(answer.look) or answer
        except asyncio.CancelledError:
            # Not `to_thread`: an event loop that ends now cancels a task before its first step.
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, cancellable.cancel))
            raise
        return await asyncio.to_thread(self.begin, answer)

    def done(self, decision: GateDecision, observation: str = "") -> None:
        """Record the result of an allowed action once. Raise BadInput if the action was not allowed."""
        if self._served is not None and decision.approved and decision.check_id is not None:
            self._served.done(decision.check_id, observation)
            return
        if decision.intent_id is None:
            raise BadInput(
                "Cannot record a result, because the decision did not allow the action. Call done only if "
                "decision.approved."
            )
        with writing(self.open()) as session:
            # By the check's id, because numbers such as the intent's are given again after a restore.
            checks.record_result(session, CheckId(decision.check_id or ""), self._asker, observation, now_ms())

    def _request(self, task: str, steps: Sequence[StepLike], action: ActionLike, options: CheckOptions) -> CheckRequest:
        return check_request(
            task,
            steps,
            action,
            task_id=options.get("task_id"),
            trial=options.get("trial", 0),
            environment=self._spec.environment,
            tool_schema=options.get("tool_schema"),
            hints=options.get("hints"),
        )

    def _options(self, options: CheckOptions) -> SubmitOptions:
        timeout_s = self._timeout_of(options)
        return SubmitOptions(
            url=self._database(),
            run=self._spec,
            critical=self._critical,
            tightened=self._tightened,
            timeout_ms=None if timeout_s is None else round(timeout_s * 1_000),
            cancel=options.get("cancel"),
            asker=self._asker,
        )

    def _timeout_of(self, options: CheckOptions) -> float | None:
        """Return the seconds that the agent waits, at most a week, or None if it waits for the check's deadline."""
        seconds = options.get("timeout_s", self._timeout_s)
        _refuse_number("timeout_s", seconds, 0)
        return None if seconds is None else min(seconds, MAX_DEADLINE_S)

    def _question(self, critical: Sequence[str]) -> dict[str, Any]:
        spec = self._spec
        return {
            "run": spec.name,
            "environment": spec.environment,
            "critical": list(critical),
            "detector": spec.detector,
            "threshold": spec.threshold,
            "budget": spec.budget_cap,
            "reviews_per_item": spec.reviews_per_item,
            "undo_s": self._undo_s,
        }


class _CancellableSubmit:
    """A submission that can be cancelled while it runs; the later of `submit` and `cancel` withdraws the item."""

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


def _refuse_number(name: str, value: float | None, least: int, most: int = MOST) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise BadInput(f"{name} is {value!r}. Use a number from {least} to {most}, or None for no limit.")
