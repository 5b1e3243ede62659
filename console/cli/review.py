"""`inferact review`: the review queue on the command line, for people and simulated reviewers, without gold labels."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.auth import audit_log
from console.auth.audit_log import Door
from console.auth.people import clean_name, find_person, refuse_disabled, resolve_reviewer, roles_of
from console.cli.output import (
    AnyRun,
    Json,
    RunName,
    RunOption,
    emit,
    emit_json,
    emit_table,
    noun,
    progress,
    run_by_default,
    say,
    show_table,
)
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput
from console.language import counted
from console.review import blinding, decisions, inbox, plain_text
from console.review.access import get_review_terms
from console.review.blinding import get_remedy, list_remedies
from console.review.edits import OtherTool
from console.review.simulated import INSPECTION_ORDERS, REVIEWERS, Noise
from console.review.simulated.simulate import SimulationPlan, as_dict, simulate
from console.runs import run_options
from console.trials import answer_rating
from storage import tables
from storage.queue import NoClaim
from storage.tables import RunKind

app = noun("Review pending items on the command line.", "review list --run hotpot")
Reviewer = Annotated[str, typer.Option("--reviewer", help="The reviewer's name.", callback=clean_name)]
Item = Annotated[int, typer.Argument(help="The item's id.")]
_MOST_ROWS = 1_000


@app.command("list", epilog="Example: inferact review list --run hotpot --json")
@run_by_default(app)
def list_items(run: AnyRun = None, as_json: Json = False) -> None:
    """List review items, the next item first."""
    with reading() as session:
        wanted = [runs.get(session, run)] if run else runs.list_runs(session)
        most = None if as_json else _MOST_ROWS + 1
        every = ({"run": one.name, **row} for one in wanted for row in inbox.list_items(session, one, most))
        rows = list(islice(every, most))
        nothing = inbox.explain_empty_queue(session, wanted[0]) if run else ""
    columns = ("run", "item_id", "trial", "kind", "status", "score", "detector", "claimed_by")
    emit_table(
        rows,
        columns,
        as_json,
        shown=rows[:_MOST_ROWS],
        empty=nothing or "The queue is empty. Fill the queue: inferact detect RUN --method rules",
    )
    if most and len(rows) > _MOST_ROWS:
        say(f"These are the first {_MOST_ROWS:,} items. Print all items with --json.")


@app.command("claim", epilog="Example: inferact review claim --run hotpot --reviewer ada")
def claim(run: RunOption, reviewer: Reviewer, as_json: Json = False) -> None:
    """Claim the next item and show everything that a reviewer may see of the item."""
    queue, (reviewer, roles) = review_queue(), _known(reviewer)
    with reading() as session:
        row = runs.get(session, run)
        claimed = decisions.claim_next_item(queue, session, row, reviewer, now_ms())
    if isinstance(claimed, NoClaim):
        reason = inbox.explain_no_item(claimed)
        emit({"item": None, "reason": reason}, as_json, reason)
        return
    with reading() as session:
        view = blinding.build_review_view(session, queue, row, claimed, reviewer, unblinded=False)
        # Checked early, so that no one reads an item that they cannot decide here.
        refusal = get_review_terms(session, claimed.item_id).refusal("respond", reviewer, roles, Door.CLI)
    if refusal:
        refusal += f" Escalate or release it: inferact review release {claimed.item_id} --reviewer {quote(reviewer)}"
    document = {"item": _item_document(view) | {"remedies": list(list_remedies(claimed))}, "reason": refusal or ""}
    lines = [f"REMEDY {n}  {plain_text.escape_hidden(one)}\n" for n, one in enumerate(list_remedies(claimed), start=1)]
    shown = f"ITEM {claimed.item_id}\n{plain_text.format_presentation(view.presentation)}{''.join(lines)}"
    emit(document, as_json, f"{refusal or ''}\n{shown}".lstrip())


@app.command(
    "decide", epilog='Example: inferact review decide 12 --reviewer ada --decision reject --feedback "wrong size"'
)
def decide(
    item: Item,
    reviewer: Reviewer,
    decision: Annotated[str, typer.Option(help="approve, reject, edit, respond or escalate.")],
    feedback: Annotated[str, typer.Option(help="Feedback for the agent.")] = "",
    edited_action: Annotated[str | None, typer.Option(help="With edit: the action to perform instead.")] = None,
    reason: Annotated[list[str] | None, typer.Option(help='A short reason ("wrong option"). Repeatable.')] = None,
    note: Annotated[
        str, typer.Option(help="With escalate: a note for the next reviewer, which the agent never gets.")
    ] = "",
    to: Annotated[str, typer.Option(help="With escalate: the colleague who should decide.")] = "",
    remedy: Annotated[int | None, typer.Option(min=1, help="With edit: number of the agent's remedy to use.")] = None,
    label: Annotated[str | None, typer.Option(help="With respond: aligned or misaligned.")] = None,
    other_tool: Annotated[
        bool, typer.Option("--other-tool", help="With edit: confirm a different tool than in the pending action.")
    ] = False,
    submit_key: Annotated[str | None, typer.Option(help="A key that prevents duplicate decisions.")] = None,
    as_json: Json = False,
) -> None:
    """Record a decision on an item that this reviewer has claimed."""
    reviewer = _written(reviewer)
    with reading() as session:
        claimed = decisions.get_claim(session, item, reviewer)
        run = session.get_one(tables.Run, claimed.run_id)
    if remedy is not None:
        if decision != "edit" or edited_action:
            raise BadInput(
                "--remedy needs --decision edit and replaces --edited-action. Remove one of the two options."
            )
        edited_action, other_tool = get_remedy(claimed, remedy), True
    answer = decisions.ReviewDecision(
        decision,
        feedback,
        edited_action,
        label,
        allow_other_tool=other_tool,
        door=Door.CLI,
        reason_codes=tuple(reason or ()),
        note=note,
        addressee=to,
    )
    try:
        row = decisions.submit(
            review_queue(), run, claimed, reviewer, answer, now_ms(), submit_key=submit_key, roles=_known(reviewer)[1]
        )
    except OtherTool as refusal:
        raise OtherTool(f"{refusal} Add --other-tool to confirm.") from refusal
    told = {name: getattr(row, name) for name in ("item_id", "decision", "label", "revision")}
    document = {"decision_id": row.id, **told, "decided_at": runs.iso(row.decided_ms)}
    emit(document, as_json, f"Recorded: {row.decision} on item {item} by {reviewer}.")


@app.command("release", epilog="Example: inferact review release 12 --reviewer ada")
def release(item: Item, reviewer: Reviewer, as_json: Json = False) -> None:
    """Return a claimed item to the queue; its inspection is refunded."""
    reviewer = _written(reviewer)
    with reading() as session:
        claimed = decisions.get_claim(session, item, reviewer)
    review_queue().release(item_id=item, reviewer=reviewer, token=claimed.token, now_ms=now_ms())
    emit({"item_id": item, "released": True}, as_json, f"Item {item} is pending again.")


@app.command("undo", epilog="Example: inferact review undo --run hotpot --reviewer ada")
def undo(run: RunOption, reviewer: Reviewer, as_json: Json = False) -> None:
    """Undo this reviewer's last undelivered decision; the item is claimed again."""
    reviewer = _written(reviewer)
    with reading() as session:
        row = runs.get(session, run)
        last = decisions.find_undelivered_decision(session, row, reviewer)
    if last is None:
        raise BadInput(
            f"{reviewer} has no decision in {run} that can still be undone. Undo a decision before the agent gets it."
        )
    again = review_queue().undo(item_id=last.item_id, reviewer=reviewer, now_ms=now_ms(), lease_ms=row.lease_ms)
    emit(
        {"item_id": again.item_id, "undone": True},
        as_json,
        f"Undone. {reviewer} has claimed item {again.item_id} again.",
    )


def _written(reviewer: str) -> str:
    """Return the person's name as stored, or a new name unchanged; raise Refused if the person is disabled."""
    with reading() as session:
        person = find_person(session, reviewer)
        if person is None:
            return reviewer
        refuse_disabled(person)
        return person.name


def _known(reviewer: str) -> tuple[str, frozenset[str]]:
    """Return the person's name and roles; add a new name as a reviewer, because this user can access the database."""
    with writing() as session:
        person, is_new = resolve_reviewer(session, reviewer, now_ms())
        name, roles = person.name, frozenset(map(str, roles_of(person.roles)))
        if is_new:
            audit_log.record(session, None, "person added", now_ms(), subject=name)
    if is_new:
        typer.echo(f"Added {name} as a reviewer.", err=True)
    return name, roles


def _item_document(view: blinding.ReviewView) -> dict[str, Any]:
    claim, checkpoint, flag = view.claim, view.checkpoint, view.presentation.flag
    table = view.presentation.requirements
    return {
        "item_id": claim.item_id,
        "trajectory_id": claim.trajectory_id,
        "trial": claim.trial,
        "kind": claim.kind,
        "instruction": checkpoint.instruction,
        "opening": checkpoint.opening,
        "steps": [step.to_dict() for step in checkpoint.steps],
        "thought": checkpoint.thought,
        "critical_action": checkpoint.action,
        "score": flag.score if flag else None,
        "detector": flag.detector if flag else None,
        "rationale": "\n".join(flag.reasons) if flag else None,
        "claim_expires_at": runs.iso(claim.lease_until_ms),
        "budget": {"cap": claim.budget_cap, "used": claim.budget_used},
        "requirements": table.to_dict() if table else None,
    }


@app.command("answers", epilog="Example: inferact review answers wiki --name wiki-answers")
def answers(
    source: Annotated[str, typer.Argument(help="The run whose answers are rated.")],
    name: Annotated[str, typer.Option("--name", help="The name of the rating, which is a new run.")],
    annotators: Annotated[int, typer.Option(min=1, help="Annotators per answer.")] = answer_rating.ANNOTATORS,
    as_json: Json = False,
) -> None:
    """Queue the answers of a run for rating: approve means correct, reject means incorrect, feedback is the comment."""
    count = answer_rating.start_rating(name, source, annotators)
    emit(
        {"run": name, "answers": count},
        as_json,
        f"{name} has {counted(count, 'answer')}, each for {counted(annotators, 'annotator')}.",
    )


@app.command("ratings", epilog="Example: inferact review ratings wiki-answers")
def ratings(name: Annotated[str, typer.Argument(help="The rating's name.")], as_json: Json = False) -> None:
    """Show the ratings of answers: majority, comments and agreement."""
    with reading() as session:
        found = answer_rating.get_ratings(session, runs.get(session, name))
    measures = {kind: one.value for kind, one in found.agreement.items()}
    if not as_json:
        rows = [{**asdict(one), "comments": " / ".join(one.comments)} for one in found.answers]
        show_table(
            rows,
            ("task_id", "answer", "correct", "incorrect", "majority", "comments"),
            empty="This rating has no answers.",
        )
    agreed = ", ".join(f"{kind} {_share(value)}" for kind, value in measures.items())
    emit(
        {"run": name, "accuracy": found.accuracy, "agreement": measures, "answers": found.answers},
        as_json,
        f"Correct by majority: {_share(found.accuracy)}. Agreement: {agreed}.",
    )


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


@app.command("simulate", epilog="Example: inferact review simulate --run demo --reviewer oracle")
def simulate_reviewer(
    run: RunOption,
    reviewer: Annotated[str, typer.Option(help=f"The simulated reviewer: {', '.join(REVIEWERS)}.")] = "oracle",
    policy: Annotated[str, typer.Option(help=f"The inspection order: {', '.join(INSPECTION_ORDERS)}.")] = "priority",
    false_accept: Annotated[float, typer.Option(help="With noisy: share of misaligned actions approved.")] = 0.1,
    false_reject: Annotated[float, typer.Option(help="With noisy: share of aligned actions rejected.")] = 0.1,
    seconds: Annotated[float, typer.Option(help="With noisy: mean seconds per item.")] = 30.0,
    seed: Annotated[int, typer.Option(help="Random seed of orders, errors and wordings.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="With model-user: the model that simulates the user (default: INFERACT_MODEL).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a simulated reviewer with access to the gold targets decide all items within the budget."""
    noise = Noise(false_accept, false_reject, seconds) if reviewer == "noisy" else Noise()
    plan = SimulationPlan(reviewer, policy, noise, seed, model=model)
    with progress(f"{run}: reviewing") as tell:
        tally = simulate(run, plan, tell)
    with reading() as session:
        goes_on = runs.get(session, run).kind in (RunKind.LIVE, RunKind.REPLAY)
    named = quote(run)
    then = f"run next {named}" if goes_on else f"export decisions --run {named} --out {named}-decisions.csv"
    asked = f"The reviewer used {counted(tally.requests, 'model request')}. " if tally.requests else ""
    emit(
        as_dict(tally),
        as_json,
        f"{reviewer} inspected {tally.inspected} of {counted(tally.waiting, 'pending item')}: "
        f"{tally.approved} approved, {tally.rejected} rejected, {tally.responded} halted with feedback; "
        f"{tally.left} beyond the budget. {asked}Next: inferact {then}",
    )


@app.command("seed", epilog="Example: inferact review seed shop --from gold --count 10")
def seed(
    run: RunName,
    source: Annotated[str, typer.Option("--from", help="The run with gold labels, or with agreeing reviewers.")],
    count: Annotated[int, typer.Option(min=1, help="Number of items.")] = 10,
    as_json: Json = False,
) -> None:
    """Add known items to the queue of a run; their actions never run."""
    from console.trials import vigilance  # scipy, which few commands need

    added = vigilance.add_known_items(run, source, count)
    told = f"Added {counted(added, 'known item')} to {run}. The budget of {run} grew by the same number of inspections."
    emit({"run": run, "from": source, "added": added}, as_json, told)


@app.command("vigilance", epilog="Example: inferact review vigilance shop")
def show_vigilance(run: RunName, as_json: Json = False) -> None:
    """Show each reviewer's sensitivity (d') and criterion on known items, overall and by hour of work."""
    from console.trials import vigilance  # scipy, which few commands need

    with reading() as session:
        rows = [row.to_dict() for row in vigilance.measure(session, runs.get(session, run))]
    if as_json:
        emit_json({"run": run, "reviewers": rows})
        return
    show_table(
        [vigilance.in_words(row) for row in rows], vigilance.COLUMNS, empty=f"No one has decided a known item in {run}."
    )
    if rows:
        say(
            "If d' is above 0, the reviewer distinguishes misaligned from aligned actions. If the criterion is "
            "above 0, the reviewer tends to approve."
        )


@app.command("capacity", epilog="Example: inferact review capacity shop")
def show_capacity(
    run: RunName,
    stop: Annotated[
        bool | None, typer.Option("--stop/--no-stop", help="Give no item to a reviewer who would lower safety.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how reviewers' sensitivity and pace change with time, and when an inspection is expected to lower safety."""
    from console.review import capacity  # numpy and scipy, which few commands need

    if stop is not None:
        with writing() as session:
            capacity.set_stop(session, runs.get(session, run), stop, now_ms())
    with reading() as session:
        stops = run_options(runs.get(session, run)).stops_at_capacity
        found = capacity.measure_capacity(session, runs.get(session, run), now_ms())
    if as_json:
        emit_json({"run": run, "stops_at_capacity": stops, "reviewers": [one.to_dict() for one in found]})
        return
    rows = [capacity.in_words(row) for one in found for row in one.by_hour]
    show_table(rows, capacity.COLUMNS, empty=f"No one has decided an item in {run}.")
    for one in found:
        say(one.sentence)
    say(capacity.SCOPE)
    say(f"Stop at the capacity: {'on' if stops else 'off'}.")


@app.command("evasion", epilog="Example: inferact review evasion shop")
def show_evasion(
    run: RunName,
    label: Annotated[
        str,
        typer.Option("--label", help="Queue next trials without a reported outcome in a new run, for blind labels."),
    ] = "",
    study: Annotated[bool, typer.Option("--study", help="With --label: RUN is the name of a study.")] = False,
    as_json: Json = False,
) -> None:
    """Compare the next trials after feedback with and without the detector's reasons."""
    from console.analysis.statistics.feedback_evasion import describe_evasion
    from console.trials import evasion  # numpy and scipy, which few commands need

    if label:
        count = evasion.start_blind_labels(label, run, is_study=study)
        told = f"{counted(count, 'trial')} queued in {label}. Reviewers see no detector, thought or feedback there."
        emit({"run": label, "of": run, "queued": count}, as_json, told)
        return
    with reading() as session:
        found = evasion.measure_evasion(session, runs.get(session, run))
    rows = evasion.tabulate_evasion(found)
    told = describe_evasion(found)
    if as_json:
        emit_json({"run": run, "figures": rows, "sentence": told})
        return
    show_table([evasion.in_words(row) for row in rows], evasion.COLUMNS)
    say(told)
