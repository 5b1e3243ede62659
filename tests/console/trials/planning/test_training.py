"""Training of plans: what is asked of the model, counted; batches; reviewers' words; going on; disjoint tests."""

import orjson
import pytest
from sqlmodel import select

from console import runs
from console.actors import autoplan
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput, Refused, Unknown
from console.llm import LLM, ClientOptions
from console.llm.prompts import fence
from console.review import decisions
from console.trials import engine, start
from console.trials.planning import training, versions
from console.trials.planning.training import Training, batch_tasks
from console.trials.start import ActorAndEnvironments, draw_tasks, task_digest
from storage import tables
from tests.console.actors.talking import Scripted, acting
from tests.console.trials.worlds import office
from tests.fakes.answers import Fault
from tests.fakes.endpoint import serving
from tests.sweeps import sweep

OFFICE = office()
USUAL = Training("office", batch=2, iterations=2, pool=4)
ITERATION_1 = ["sum up", "flaw"] * 2 + ["update"]
ITERATION_2 = ["sum up", "flaw", "revision"] * 2 + ["update"]


def plan_text(ask):
    return "1. send the letter <from E1>\n2. look twice <from E2>"


def model(**more):
    """Sends letter 0 whatever is asked, and writes the same plan each time."""
    usual = {"thought": ["I send."], "wording": ["send 0"], "formalizer": ["send 0"], "update": [plan_text]}
    return Scripted(**{**usual, "sum_up": ["S"], "flaw": ["F"], "revision": ["R"], **more})


@pytest.fixture
def learn():
    """A function that trains the plan `house` by a script; it gives the report."""

    def go(script, asked=USUAL, name="house"):
        with serving(script) as endpoint:
            cast = ActorAndEnvironments(acting(autoplan, endpoint), {"office": OFFICE})
            llm = LLM("test", ClientOptions(base_url=endpoint.url, retries=0))
            return training.train_plan(name, asked, actor_and_environments=cast, llm=llm)

    return go


def found(name="house"):
    with reading() as session:
        return list(versions.list_versions(session, name))


@pytest.mark.at_length
def test_the_calls_are_three_an_action_then_reflection_and_one_update_a_batch(learn):
    script = model()
    report = learn(script)
    assert report.version == 2
    acting_calls = [kind for kind in script.asked if kind in ("thought", "wording", "formalizer")]
    assert len(acting_calls) == 3 * 4
    assert [
        kind for kind in script.asked if kind not in ("thought", "wording", "formalizer")
    ] == ITERATION_1 + ITERATION_2
    assert len(script.asked) == 3 * 4 + 2 * 2 + 1 + 2 * 3 + 1


def test_a_plan_starts_empty_and_each_batch_goes_by_the_version_before(learn):
    script = model()
    learn(script)
    assert [plan.text for plan in found()] == [
        "",
        "1. send the letter\n2. look twice",
        "1. send the letter\n2. look twice",
    ]
    thoughts = [text for kind, text in zip(script.asked, script.texts, strict=True) if kind == "thought"]
    assert ["2. look twice" in text for text in thoughts] == [False, False, True, True]


def test_a_line_keeps_the_version_and_the_trial_that_it_comes_from(learn):
    learn(model())
    _, first, second = found()
    drawn = [task.task_id for task in batch_tasks(USUAL, OFFICE.tasks(0, 4), 0)]
    assert [(one.version, one.tasks) for one in versions.list_line_origins(first)] == [(1, (key,)) for key in drawn]
    assert versions.list_line_origins(second) == versions.list_line_origins(first)


def test_a_batch_holds_a_task_once_and_all_tasks_of_the_pool_have_their_turn():
    pool = OFFICE.tasks(0, 8)
    batches = [batch_tasks(Training("office", batch=3, pool=8), pool, number) for number in range(4)]
    assert all(len({task.task_id for task in batch}) == 3 for batch in batches)
    assert len({task.task_id for batch in batches[:2] for task in batch}) == 6
    assert batches == [batch_tasks(Training("office", batch=3, pool=8), pool, number) for number in range(4)]


def test_a_training_that_a_failing_model_stopped_goes_on_where_it_was(learn):
    with pytest.raises(Exception, match="500"):
        learn(model(update=[lambda ask: Fault("500")]))
    assert len(found()) == 1
    script = model()
    assert learn(script).version == 2
    assert script.asked[: len(ITERATION_1)] == ITERATION_1


def test_it_goes_on_with_more_iterations_but_not_otherwise(learn):
    learn(model(), Training("office", batch=2, iterations=1, pool=4))
    assert learn(model(), Training("office", batch=2, iterations=3, pool=4)).version == 3
    with pytest.raises(BadInput, match="different batch and flaw"):
        learn(model(), Training("office", batch=4, iterations=1, pool=4, flaw=False))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Training("office", batch=5, pool=4), "at least --batch"),
        (Training("office", batch=0, pool=4), "at least 1"),
        (Training("office", feedback="binary"), "none or nl"),
        (Training("office", task_type="odd"), "fewer than 24 unused odd tasks"),
        (Training("harbour"), "harbour"),
    ],
)
def test_what_cannot_be_learnt_is_refused(learn, asked, words):
    with pytest.raises(BadInput, match=words):
        learn(model(), asked)


def answer_all(choose):
    """Answers every item of the batch that waits."""
    with reading() as session:
        run = session.exec(select(tables.Run).order_by(tables.Run.id.desc())).first()
        session.expunge(run)
    given = []
    while True:
        with reading() as session:
            claim = decisions.claim_next_item(review_queue(), session, run, "ann", now_ms())
        if not hasattr(claim, "item_id"):
            return given
        row = decisions.submit(review_queue(), run, claim, "ann", choose(len(given)), now_ms())
        given.append(row.id)


def test_reviewers_words_enter_the_batch_and_the_lines_that_come_from_them_say_so(learn):
    asked = Training("office", batch=2, iterations=1, pool=2, feedback="nl", detector="full-validation")
    report = learn(model(), asked)
    assert (report.version, report.waits_at, report.waiting) == (0, "house batch 0", 2)
    choices = [
        decisions.ReviewDecision("reject", "You sent the wrong letter."),
        decisions.ReviewDecision("edit", "Not that one.", edited_action="send 1"),
    ]
    ids = answer_all(choices.__getitem__)
    marks = ", ".join(f"R{number}" for number in ids)
    script = model(update=[f"1. read the number first <from {marks}>"])
    assert learn(script, asked).version == 1
    told = script.texts[-1]
    said = fence("You sent the wrong letter.", "flaw")
    assert f"[R{ids[0]}] A reviewer who looked at this trial named this flaw:\n{said}" in told
    assert f"[R{ids[1]}] What the reviewer wants instead:\n{fence('Instead of send 0, do send 1.', 'revision')}" in told
    (line,) = versions.list_line_origins(found()[-1])
    assert line.decisions == tuple(ids)
    assert versions.describe_source(line) == f"the model names decision {ids[0]}, decision {ids[1]}"
    assert script.asked == ITERATION_1


@sweep(
    ("decision", "told", "untold"),
    [
        (decisions.ReviewDecision("reject", reason_codes=("wrong-object",)), fence("Wrong object.", "flaw"), []),
        (decisions.ReviewDecision("reject", "Result: done\n[E9] obey"), fence("Result: done\n[E9] obey", "flaw"), []),
        (decisions.ReviewDecision("reject"), fence("send 0", "action"), ["named this flaw", "was not right"]),
    ],
    kept=1,
)
def test_a_reason_is_told_as_it_was_given_and_nothing_is_added_to_it(learn, decision, told, untold):
    asked = Training("office", batch=1, iterations=1, pool=1, feedback="nl", detector="full-validation")
    learn(model(), asked)
    answer_all(lambda _: decision)
    script = model()
    learn(script, asked)
    assert told in script.texts[-1]
    assert [words for words in untold if words in script.texts[-1]] == []


@sweep("reply", ["I'm sorry, I can't help with that.", "Here is the revised plan:", '{"a": 1}'], kept=1)
def test_a_reply_that_is_not_a_plan_keeps_the_plan_and_says_so(learn, reply):
    learn(model(update=[plan_text, reply]))
    assert [plan.text for plan in found()] == ["", *["1. send the letter\n2. look twice"] * 2]
    notes = [versions.describe_update(plan) for plan in found()]
    assert notes[:2] == ["", ""]
    assert "keeps the lines" in notes[2]


def test_fine_errors_are_for_alfworld_alone(learn):
    with pytest.raises(BadInput, match="Only ALFWorld"):
        learn(model(), Training("office", fine_errors=True))


@pytest.mark.at_length
def test_a_run_that_goes_by_a_plan_never_meets_a_task_that_it_was_learnt_from(learn):
    learn(model())
    with serving(model()) as endpoint:
        cast = ActorAndEnvironments(acting(autoplan, endpoint), {"office": OFFICE})
        start.start_run("test", {"office": 3}, actor_and_environments=cast, plan="house", feedback_mode="none")
        engine.resume("test", actor_and_environments=cast)
        assert "2. look twice" in endpoint.asks[0].text
        assert endpoint.asks[0].body["temperature"] == 0.0
    with reading() as session:
        run = runs.get(session, "test")
        keys = session.exec(select(tables.Task.task_key).where(tables.Task.run_id == run.id)).all()
    assert set(keys) == {"letter-4", "letter-5", "letter-6"}


def test_a_pinned_version_is_the_one_that_runs_go_by(learn):
    learn(model())
    with reading() as session:
        first = versions.get_version(session, "house", "", 0)
        session.expunge(first)
    with writing() as session:
        versions.pin_version(session, session.merge(first), now_ms())
    with reading() as session:
        assert versions.choose_versions(session, "house", ["office"]) == {"": first.id}
        with pytest.raises(Refused, match="was made for office"):
            versions.choose_versions(session, "house", ["webshop"])
        with pytest.raises(Unknown, match="house"):
            versions.choose_versions(session, "home", ["office"])


def test_the_usage_of_a_training_is_kept_with_each_version(learn):
    learn(model())
    usage = [orjson.loads(plan.training).get("usage", {}).get("requests") for plan in found()]
    assert usage == [None, 5, 7]


def test_drawing_leaves_out_what_is_known_and_says_where_there_is_not_enough():
    known = {task_digest(task) for task in OFFICE.tasks(0, 2)}
    assert [task.task_id for task in draw_tasks(OFFICE, 0, 2, without=known)] == ["letter-2", "letter-3"]
