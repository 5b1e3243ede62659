"""What a reviewer may see: the checkpoint, their own words, and of a blind run nothing else."""

import random
import string
from dataclasses import replace

import orjson
import pytest
from sqlmodel import select

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.detection import batch
from console.review import blinding, decisions, inbox
from console.runs import ingest
from console.runs.importers import read_log
from console.runs.importers.records import Found
from console.trajectory import Outcome
from console.web.widgets.trajectory_view import presentation_html
from console.web.widgets.trial_history import earlier_trials_html
from storage import tables
from tests.claims import open_item
from tests.logs import write_log


def drawn(view):
    """The Review page's HTML for a review view."""
    before = earlier_trials_html(view.earlier, blinding.list_actions(view.checkpoint)) if view.earlier else ""
    return presentation_html(view.presentation) + before


def next_view(run_name, reviewer, *, unblinded=False):
    with reading() as session:
        run = runs.get(session, run_name)
        claim = decisions.claim_next_item(review_queue(), session, run, reviewer, now_ms())
        return (
            run,
            claim,
            blinding.build_review_view(session, review_queue(), run, claim, reviewer, unblinded=unblinded),
        )


def every_sheet(run_name):
    found = {}
    reviewer = 0
    while True:
        reviewer += 1
        with reading() as session:
            run = runs.get(session, run_name)
            claim = decisions.claim_next_item(review_queue(), session, run, f"r{reviewer}", now_ms())
            if not hasattr(claim, "item_id"):
                return found
            view = blinding.build_review_view(session, review_queue(), run, claim, f"r{reviewer}", unblinded=False)
        found[view.checkpoint.instruction, claim.trial, claim.step, claim.kind] = drawn(view)


def review_trial_0(run_name):
    """Ada rejects kettle 0 and Bo kettle 1, each in their own words; the stuck trial is skipped by nobody."""
    for reviewer in ("ada", "bo"):
        run, claim, _ = next_view(run_name, reviewer)
        answer = decisions.ReviewDecision("reject", f"words of {reviewer}")
        decisions.submit(review_queue(), run, claim, reviewer, answer, now_ms())


def second_trial(run_name, reviewer, *, unblinded=False):
    """The page of kettle 1's second trial for that reviewer."""
    with reading() as session:
        run = runs.get(session, run_name)
        (item,) = [row["item_id"] for row in inbox.list_items(session, run) if row["trial"] == 1]
        claim = open_item(session, run, reviewer, item)
        view = blinding.build_review_view(session, review_queue(), run, claim, reviewer, unblinded=unblinded)
    review_queue().release(item_id=item, reviewer=reviewer, token=claim.token, now_ms=now_ms())
    return drawn(view)


def test_a_blind_reviewer_sees_earlier_actions_and_own_words_only(two_trials):
    review_trial_0(two_trials)
    ada, bo = second_trial(two_trials, "ada"), second_trial(two_trials, "bo")
    assert "words of" not in ada
    assert "words of bo" in bo
    assert "click[B0000001]" in ada
    for page in (ada, bo):
        assert "<dt>outcome</dt>" not in page
        assert "<dt>decision</dt>" not in page


def test_a_researcher_and_an_open_run_show_words_decision_and_outcome(two_trials):
    review_trial_0(two_trials)
    researcher = second_trial(two_trials, "ada", unblinded=True)
    with writing() as session:
        runs.get(session, two_trials).blind = False
    assert second_trial(two_trials, "ada") == researcher
    assert "words of bo" in researcher
    assert "marked as incorrect by bo" in researcher
    assert "<dt>outcome</dt>" in researcher
    assert "Your score" not in researcher


ALL_HIDDEN = dict.fromkeys(("score", "explanation", "detector", "highlights", "earlier"), "hidden")


def seen_with(run_name, visibility):
    """The page of the run's next item under that visibility, for a reviewer who then lets it go."""
    with writing() as session:
        runs.get(session, run_name).options = orjson.dumps({"view": visibility}).decode()
    _, claim, view = next_view(run_name, "ada")
    review_queue().release(item_id=claim.item_id, reviewer="ada", token=claim.token, now_ms=now_ms())
    return drawn(view)


@pytest.mark.parametrize(
    ("hidden", "gone", "left"),
    [
        ("score", "ia-number", "The user set a limit"),
        ("explanation", "The user set a limit", "ia-number"),
        ("detector", "<b>rules</b>", "ia-number"),
        ("detector_name", "<b>rules</b>", "The user set a limit"),
        ("highlights", "<mark", "ia-number"),
    ],
)
def test_what_a_condition_hides_leaves_no_trace_and_the_rest_stays(two_trials, hidden, gone, left):
    whole, less = seen_with(two_trials, {}), seen_with(two_trials, {hidden: "hidden"})
    assert gone in whole
    assert gone not in less
    assert left in less


def test_with_everything_hidden_only_the_checkpoint_stands(two_trials):
    page = seen_with(two_trials, ALL_HIDDEN)
    for trace in ("Flagged", "rules", "believe", "<mark", "ia-chip", "Earlier trials", "0.50"):
        assert trace not in page
    assert "price lower than 30.00 dollars" in page


def test_earlier_trials_go_where_the_condition_hides_them(two_trials):
    review_trial_0(two_trials)
    assert "Earlier trials" in second_trial(two_trials, "ada")
    with writing() as session:
        runs.get(session, two_trials).options = orjson.dumps({"view": {"earlier": "hidden"}}).decode()
    assert "Earlier trials" not in second_trial(two_trials, "ada")


def test_the_brief_names_the_target_and_never_the_label(two_trials):
    gold = {
        "name": "Kettle Blue <b>1</b>",
        "options": {"color": "blue"},
        "label": "canary-label",
        "score": "canary-score",
    }
    with writing() as session:
        for task in session.exec(select(tables.Task)):
            task.gold = orjson.dumps(gold).decode()
    assert "Kettle Blue" not in seen_with(two_trials, {"brief": "none"})
    page_text = seen_with(two_trials, {"brief": "target"})
    assert "What the user wants" in page_text
    assert "Kettle Blue &lt;b&gt;1&lt;/b&gt;" in page_text
    assert "color: blue" in page_text
    assert "canary" not in page_text


def canaried(record, draw, patterns):
    """The record with all that came after its first critical action, and all ground truth, replaced by canaries."""
    from console.trajectory.checkpoints import is_critical

    at = next((i for i, step in enumerate(record.steps) if is_critical(step.action, patterns)), None)
    if at is None:
        return None
    steps = [*record.steps[:at], replace(record.steps[at], observation=draw())]
    steps += [replace(step, thought=draw(), observation=draw()) for step in record.steps[at + 1 :]]
    gold = {key: draw() for key in record.gold if key != "label"}
    return replace(
        record,
        steps=tuple(steps),
        gold=gold,
        outcome=Outcome.FINISHED,
        memory=tuple(draw() for _ in record.memory),
        extra={"canary": draw()},
    )


@pytest.mark.parametrize(
    "name",
    [
        "reflexion/reflexion/50_sample_react_reflect_correct.txt",
        pytest.param("webshop/react_webshop_run_000-249.txt", marks=pytest.mark.at_length),
        pytest.param("tau-bench/gpt-4o-airline.even.json", marks=pytest.mark.at_length),
        pytest.param("tau-bench/react-grok-4-fast-reasoning-airline.even.json", marks=pytest.mark.at_length),
        pytest.param("alfworld/expert_traj.jsonl", marks=pytest.mark.at_length),
    ],
)
def test_the_review_page_holds_no_canary(shared_data, tmp_path, name):
    """Everything after the critical action replaced by canaries: the page of each item is the same to the byte."""
    from console.environments import ENVIRONMENTS

    dice = random.Random(7)
    canaries = []

    def draw():
        canaries.append("canary" + "".join(dice.choices(string.ascii_lowercase, k=12)))
        return canaries[-1]

    real, false = [], []
    for record in (found.trajectory for found in read_log(shared_data(name))[1] if isinstance(found, Found)):
        patterns = ENVIRONMENTS[record.environment].critical
        other = canaried(record, draw, patterns)
        if other is not None:
            real.append(record)
            false.append(other)
    pages = []
    for run, records in (("real", real), ("false", false)):
        ingest.import_file(write_log(tmp_path / f"{run}.jsonl", *records), run, "auto", lambda _: None)
        with writing() as session:
            runs.get(session, run).ends = False
        batch.detect(run, ["full-validation"])
        pages.append(every_sheet(run))
    assert pages[0].keys() == pages[1].keys()
    assert pages[0] == pages[1]
    whole = "".join(pages[1].values())
    assert not [canary for canary in canaries if canary in whole]
    for sentence in ("Answer is CORRECT", "Answer is INCORRECT", "Your score (min"):
        assert sentence not in whole


def test_all_detectors_that_judged_are_on_the_page_where_the_run_is_not_blind(two_trials):
    batch.detect("log", ["full-validation", "random"], route="rules")
    _, _, blind = next_view("log", "ada")
    assert "Also judged by" not in drawn(blind)
    with writing() as session:
        runs.get(session, "log").blind = False
    _, _, view = next_view("log", "bo")
    assert [one.detector for one in view.presentation.flag.also] == ["full-validation", "random"]
    page = drawn(view)
    assert "Also judged by" in page
    random = view.presentation.flag.also[1]
    assert ("not above" in random.margin) == (random.score <= 0.5)


def test_a_study_that_hides_the_score_hides_it_of_the_others_too(two_trials):
    batch.detect("log", ["full-validation"], route="rules")
    with writing() as session:
        runs.get(session, "log").blind = False
    with reading() as session:
        run = runs.get(session, "log")
        claim = decisions.claim_next_item(review_queue(), session, run, "ada", now_ms())
        for hidden in (blinding.PLAIN, blinding.Visibility(detector=False)):
            view = blinding.build_review_view(
                session, review_queue(), run, claim, "ada", unblinded=False, visibility=hidden
            )
            assert "full-validation" not in drawn(view)
