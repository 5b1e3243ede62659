"""`inferact review`: the review queue without a browser, for people and simulated reviewers; gold is never printed."""

from __future__ import annotations

from dataclasses import asdict
from shlex import quote
from typing import Annotated, Any

import typer

from console import runs
from console.auth.identity import roles_of
from console.auth.origin import Door
from console.auth.people import clean_name, known_reviewer, person_named, refuse_disabled
from console.cli.output import Json, emit, emit_json, emit_table, progress, say, show_table
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput, Unknown
from console.language import counted
from console.review import blinding, decisions, inbox, plain_text
from console.review.edits import OtherTool
from console.review.remedies import remedies, remedy_of
from console.review.simulated import INSPECTION_ORDERS, REVIEWERS, Noise
from console.review.simulated.simulate import SimulationPlan, as_dict, simulate
from console.runs import audit_log
from console.trials import answer_rating
from storage import tables
from storage.queue import Claim, DecisionRow, NoClaim
from storage.tables import RunKind

app = typer.Typer(
    help="Work through the review queue without a browser.",
    epilog="Example: inferact review list --run hotpot",
    invoke_without_command=True,
)

RunOption = Annotated[str, typer.Option("--run", help="The run's name.")]
Reviewer = Annotated[
    str,
    typer.Option(
        "--reviewer", help="The name that the decision is recorded under.", callback=lambda name: clean_name(name)
    ),
]
Item = Annotated[int, typer.Argument(help="The item's id.")]


@app.callback()
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_items(run=None, as_json=False)


@app.command("list", epilog="Example: inferact review list --run hotpot --json")
def list_items(
    run: Annotated[str | None, typer.Option("--run", help="The run's name; without it, all runs.")] = None,
    as_json: Json = False,
) -> None:
    """List review items, the next to be offered first."""
    with reading() as session:
        wanted = [runs.get(session, run)] if run else runs.every(session)
        rows = [{"run": one.name, **row} for one in wanted for row in inbox.listing(session, one)]
        nothing = inbox.nothing_queued(session, wanted[0]) if run else ""
    columns = ("run", "item_id", "trial", "kind", "status", "score", "detector", "claimed_by")
    emit_table(
        rows, columns, as_json, empty=nothing or "The queue is empty. Fill it: inferact detect RUN --method rules"
    )


@app.command("claim", epilog="Example: inferact review claim --run hotpot --reviewer ada")
def claim(run: RunOption, reviewer: Reviewer, as_json: Json = False) -> None:
    """Claim the next item and show all that a reviewer may see of it."""
    queue, (reviewer, roles) = review_queue(), _known(reviewer)
    with reading() as session:
        row = runs.get(session, run)
        claimed = decisions.next_item(queue, session, row, reviewer, now_ms())
    if isinstance(claimed, NoClaim):
        reason = inbox.why_nothing(claimed)
        emit({"item": None, "reason": reason}, as_json, reason)
        return
    with reading() as session:
        view = blinding.review_view(session, queue, row, claimed, reviewer, unblinded=False)
        # Whatever the answer would be, so that nobody reads for nothing what they cannot answer by command.
        refusal = decisions.terms_of(session, claimed.item_id).refusal("respond", reviewer, roles, Door.CLI)
    if refusal:
        refusal += (
            f" Pass it on, or give it back: inferact review release {claimed.item_id} --reviewer {quote(reviewer)}"
        )
    document = {"item": _item_document(view) | {"remedies": list(remedies(claimed))}, "reason": refusal or ""}
    offered = "".join(f"REMEDY {n}  {plain_text.visible(one)}\n" for n, one in enumerate(remedies(claimed), start=1))
    shown = f"ITEM {claimed.item_id}\n{plain_text.presentation_as_text(view.presentation)}{offered}"
    emit(document, as_json, f"{refusal or ''}\n{shown}".lstrip())


@app.command(
    "decide", epilog='Example: inferact review decide 12 --reviewer ada --decision reject --feedback "wrong size"'
)
def decide(
    item: Item,
    reviewer: Reviewer,
    decision: Annotated[str, typer.Option(help="approve, reject, edit, respond or escalate.")],
    feedback: Annotated[str, typer.Option(help="Words to the agent.")] = "",
    edited_action: Annotated[str | None, typer.Option(help="With edit: the action to do instead.")] = None,
    reason: Annotated[
        list[str] | None, typer.Option(help='A reason in a few words, such as "wrong option"; may be given again.')
    ] = None,
    note: Annotated[str, typer.Option(help="With escalate: a note to the colleague; the agent never gets it.")] = "",
    to: Annotated[str, typer.Option(help="With escalate: the colleague that it is marked for.")] = "",
    remedy: Annotated[int | None, typer.Option(min=1, help="With edit: that one of the agent's remedies.")] = None,
    label: Annotated[str | None, typer.Option(help="With respond: aligned or misaligned.")] = None,
    other_tool: Annotated[
        bool, typer.Option("--other-tool", help="With edit: another tool than the pending one is meant.")
    ] = False,
    submit_key: Annotated[str | None, typer.Option(help="The same key never records twice.")] = None,
    as_json: Json = False,
) -> None:
    """Record a decision about an item that this reviewer has claimed."""
    reviewer = _written(reviewer)
    with reading() as session:
        claimed = decisions.claim_of(session, item, reviewer)
        run = _run_of(session, claimed)
    if remedy is not None and (decision != "edit" or edited_action):
        raise BadInput("--remedy goes with --decision edit, and in place of --edited-action.")
    if remedy is not None:
        edited_action, other_tool = remedy_of(claimed, remedy), True
    answer = decisions.Answer(
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
    _, roles = _known(reviewer)
    answered = (review_queue(), run, claimed, reviewer, answer, now_ms())
    try:
        row = decisions.submit(*answered, submit_key=submit_key, roles=roles)
    except OtherTool as refusal:
        raise OtherTool(f"{refusal} Add --other-tool for that.") from refusal
    emit(_decision_document(row), as_json, f"Recorded: {row.decision} on item {item} by {reviewer}.")


@app.command("release", epilog="Example: inferact review release 12 --reviewer ada")
def release(item: Item, reviewer: Reviewer, as_json: Json = False) -> None:
    """Give a claimed item back to the queue; its unit of the budget comes back too."""
    reviewer = _written(reviewer)
    with reading() as session:
        claimed = decisions.claim_of(session, item, reviewer)
    review_queue().release(item_id=item, reviewer=reviewer, token=claimed.token, now_ms=now_ms())
    emit({"item_id": item, "released": True}, as_json, f"Item {item} is back in the queue.")


@app.command("undo", epilog="Example: inferact review undo --run hotpot --reviewer ada")
def undo(run: RunOption, reviewer: Reviewer, as_json: Json = False) -> None:
    """Take back this reviewer's last decision that the agent has not got yet; the item is claimed again."""
    reviewer = _written(reviewer)
    with reading() as session:
        row = runs.get(session, run)
        last = decisions.last_decision(session, row, reviewer)
    if last is None:
        raise BadInput(f"{reviewer} has no decision in {run} that can still be taken back.")
    again = review_queue().undo(item_id=last.item_id, reviewer=reviewer, now_ms=now_ms(), lease_ms=row.lease_ms)
    emit({"item_id": again.item_id, "undone": True}, as_json, f"Taken back; item {again.item_id} is yours again.")


def _written(reviewer: str) -> str:
    """The name as its person writes it; as it is where nobody has it. Raises Refused for a disabled person."""
    with reading() as session:
        person = person_named(session, reviewer)
        if person is None:
            return reviewer
        refuse_disabled(person)
        return person.name


def _known(reviewer: str) -> tuple[str, frozenset[str]]:
    """The name as it is written and the roles; a free name becomes a reviewer, as whoever can run this has the file."""
    with writing() as session:
        person, is_new = known_reviewer(session, reviewer, now_ms())
        name, roles = person.name, frozenset(map(str, roles_of(person.roles)))
        if is_new:
            audit_log.record(session, None, "person added", now_ms(), subject=name)
    if is_new:
        typer.echo(f"{name} is new here and may review from now on.", err=True)
    return name, roles


def _run_of(session: Any, claim: Claim) -> tables.Run:
    run: tables.Run | None = session.get(tables.Run, claim.run_id)
    if run is None:
        raise Unknown("run", claim.run_id)
    return run


def _item_document(view: blinding.ReviewView) -> dict[str, Any]:
    claim, checkpoint, flag = view.claim, view.checkpoint, view.presentation.flag
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
    }


def _decision_document(row: DecisionRow) -> dict[str, Any]:
    return {
        "decision_id": row.id,
        "item_id": row.item_id,
        "decision": row.decision,
        "label": row.label,
        "revision": row.revision,
        "decided_at": runs.iso(row.decided_ms),
    }


@app.command("answers", epilog="Example: inferact review answers wiki --name wiki-answers")
def answers(
    source: Annotated[str, typer.Argument(help="The run whose answers are to be judged.")],
    name: Annotated[str, typer.Option("--name", help="The name of the rating, a run of its own.")],
    annotators: Annotated[int, typer.Option(min=1, help="People for each answer.")] = answer_rating.ANNOTATORS,
    as_json: Json = False,
) -> None:
    """Put the answers of a run up for judgement: approve is correct, reject incorrect, the words are the comment."""
    count = answer_rating.begin(name, source, annotators)
    emit(
        {"run": name, "answers": count},
        as_json,
        f"{name} holds {counted(count, 'answer')}, each for {counted(annotators, 'annotator')}.",
    )


@app.command("ratings", epilog="Example: inferact review ratings wiki-answers")
def ratings(
    name: Annotated[str, typer.Argument(help="The rating's name.")],
    as_json: Json = False,
) -> None:
    """Show what people made of the answers: majority, comments, and how far they agree."""
    with reading() as session:
        found = answer_rating.ratings_of(session, runs.get(session, name))
    measures = {kind: one.value for kind, one in found.agreement.items()}
    if as_json:
        emit_json({"run": name, "accuracy": found.accuracy, "agreement": measures, "answers": found.answers})
        return
    rows = [{**asdict(one), "comments": " / ".join(one.comments)} for one in found.answers]
    show_table(rows, ("task_id", "answer", "correct", "incorrect", "majority", "comments"), empty="No answers.")
    agreed = ", ".join(f"{kind} {_share(value)}" for kind, value in measures.items())
    say(f"Correct by majority: {_share(found.accuracy)}. Agreement: {agreed}.")


def _share(value: float | None) -> str:
    return "not known yet" if value is None else f"{value:.3f}"


@app.command("simulate", epilog="Example: inferact review simulate --run demo --reviewer oracle")
def simulate_reviewer(
    run: Annotated[str, typer.Option("--run", help="The run's name.")],
    reviewer: Annotated[str, typer.Option(help=f"Who reviews: {', '.join(REVIEWERS)}.")] = "oracle",
    policy: Annotated[str, typer.Option(help=f"In which order: {', '.join(INSPECTION_ORDERS)}.")] = "priority",
    false_accept: Annotated[float, typer.Option(help="noisy: share of misaligned actions that pass.")] = 0.1,
    false_reject: Annotated[float, typer.Option(help="noisy: share of aligned actions that are turned down.")] = 0.1,
    seconds: Annotated[float, typer.Option(help="noisy: mean seconds that an item takes.")] = 30.0,
    seed: Annotated[int, typer.Option(help="For orders, errors and wordings.")] = 0,
    model: Annotated[
        str | None, typer.Option(help="model-user: the model that plays the user; INFERACT_MODEL, else.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Let a simulated reviewer, who knows the gold, decide all that the budget allows."""
    noise = Noise(false_accept, false_reject, seconds) if reviewer == "noisy" else Noise()
    plan = SimulationPlan(reviewer, policy, noise, seed, model=model)
    with progress(f"{run}: reviewing") as tell:
        tally = simulate(run, plan, tell)
    if as_json:
        emit_json(as_dict(tally))
        return
    with reading() as session:
        goes_on = runs.get(session, run).kind in (RunKind.LIVE, RunKind.REPLAY)
    named = quote(run)
    then = f"run next {named}" if goes_on else f"export decisions --run {named} --out {named}-decisions.csv"
    asked = f"A model was asked {counted(tally.requests, 'time')}. " if tally.requests else ""
    say(
        f"{reviewer} inspected {tally.inspected} of {counted(tally.waiting, 'waiting item')}: "
        f"{tally.approved} approved, {tally.rejected} rejected, {tally.responded} halted answered; "
        f"{tally.left} beyond the budget. {asked}Then: inferact {then}"
    )
