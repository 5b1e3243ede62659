"""What the commands of live runs share: how many tasks where, a round behind a progress bar, what it did in words."""

from __future__ import annotations

from collections.abc import Callable

from console.commands.output import progress
from console.errors import BadInput
from console.trials.round import Advance
from console.trials.start import playable


def task_counts(env: str | None, tasks: str) -> dict[str, int]:
    """How many tasks of each environment, of `--env` and `--tasks`; raises BadInput."""
    if env is None:
        raise BadInput(f"Say where the Actor acts: --env {','.join(playable())}, or --actor replay --from RUN.")
    names = [name.strip() for name in env.split(",") if name.strip()]
    numbers = tasks.split(",")
    if len(numbers) not in (1, len(names)) or not all(number.strip().isdecimal() for number in numbers):
        raise BadInput(f"--tasks is one whole number, or one for each of {', '.join(names)}; not {tasks!r}.")
    return dict(zip(names, map(int, numbers * (len(names) if len(numbers) == 1 else 1)), strict=True))


def play(run: str, work: Callable[..., Advance], **options: int | None) -> Advance:
    """One round of a live run behind a progress bar; `work` is the engine's function."""
    with progress(f"{run}: trials") as (bar, task):
        return work(run, progress=lambda n, total: bar.update(task, completed=n, total=total), **options)


def said(run: str, done: Advance) -> str:
    """What the round did, and what to do where something did not go on."""
    parts = [f"{done.delivered} decisions delivered", f"{done.revealed} tasks got their next trial"]
    parts += [f"{done.carried_over} solved ones were carried over"] if done.carried_over else []
    parts += [f"{done.unknown} trials ended because nobody knows whether their action ran"] if done.unknown else []
    sentences = [f"{', '.join(parts)}, {done.queued} new items wait.", *done.problems]
    if done.nothing_recorded:
        sentences.append(f"{done.nothing_recorded} tasks have no recorded next trial.")
    if done.interrupted:
        sentences.append(f"{done.interrupted} trials were interrupted; go on with: inferact run resume {run}")
    return " ".join(sentences)
