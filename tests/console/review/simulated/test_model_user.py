"""The user played by a language model, and the oracle on imported logs: replays of recorded runs get words too."""

from dataclasses import replace

import pytest
from sqlmodel import col, select

from console.database import reading
from console.detection import batch
from console.errors import BadInput
from console.llm.errors import ModelError, NoModel
from console.review.simulated import simulate
from console.review.simulated.simulate import SimulationPlan
from console.runs import ingest
from console.settings import settings
from console.trials import replay
from storage import tables
from tests.fakes.answers import Fault
from tests.fakes.endpoint import serving
from tests.logs import purchase, stuck, write_log


@pytest.fixture
def log(tmp_path):
    """An archive of four tasks, all flagged: two wrong, one right, one stuck; a second trial of the first two."""
    records = [purchase(0, wrong=True), purchase(1, wrong=True), purchase(2, wrong=False), stuck(3)]
    records += [purchase(0, wrong=False, trial=1), purchase(1, wrong=True, trial=1)]
    ingest.import_file(write_log(tmp_path / "trials.jsonl", *records), "log", "auto", lambda _: None)
    batch.detect("log", ["full-validation"])


@pytest.fixture
def served(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("INFERACT_MODEL", "gpt-4o-mini")

    def at(endpoint):
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        settings.cache_clear()

    return at


def decided():
    with reading() as session:
        found = session.exec(select(tables.Decision).order_by(col(tables.Decision.id))).all()
        return [(row.decision, row.label, row.feedback_text) for row in found]


def test_the_oracle_goes_by_the_labels_that_a_log_carries(log):
    tally = simulate.simulate("log")
    assert (tally.approved, tally.rejected, tally.responded) == (2, 3, 1)
    assert all(bool(words) == (decision != "approve") for decision, _, words in decided())


def test_a_replay_of_a_log_is_reviewed_trial_by_trial(log):
    replay.start_replay("again", "log", "full-validation")
    assert simulate.simulate("again").rejected == 2
    assert replay.advance("again").revealed == 2
    second = simulate.simulate("again")
    assert (second.approved, second.rejected) == (1, 1)


def test_a_log_without_label_or_answer_is_refused(tmp_path):
    bare = replace(purchase(0, wrong=True), gold={"score": 0.5})
    ingest.import_file(write_log(tmp_path / "bare.jsonl", bare), "bare", "auto", lambda _: None)
    batch.detect("bare", ["full-validation"])
    with pytest.raises(BadInput, match="neither a gold label nor a gold answer"):
        simulate.simulate("bare")


def test_the_gold_answer_of_a_question_is_enough(tmp_path):
    asked = replace(purchase(0, wrong=True), environment="hotpotqa", instruction="Who?", gold={"answer": "The Owl"})
    records = [
        replace(
            asked,
            task_id=f"q{n}",
            critical_action=f"Finish[{said}]",
            steps=(*asked.steps[:2], replace(asked.steps[3], action=f"Finish[{said}]")),
        )
        for n, said in enumerate(["owl", "cat"])
    ]
    ingest.import_file(write_log(tmp_path / "q.jsonl", *records), "q", "auto", lambda _: None)
    batch.detect("q", ["full-validation"])
    tally = simulate.simulate("q")
    assert (tally.approved, tally.rejected) == (1, 1)


def test_the_user_knows_the_answer_of_a_question_and_not_the_way_to_it(tmp_path, served):
    gold = {"label": "misaligned", "answer": "Oslo", "level": "hard", "supporting_facts": [{"title": "A secret page"}]}
    bought = purchase(0, wrong=True)
    ended = (*bought.steps[:2], replace(bought.steps[3], action="Finish[Rome]"))
    about = {"environment": "hotpotqa", "instruction": "Where is it?", "gold": gold}
    asked = replace(bought, critical_action="Finish[Rome]", steps=ended, **about)
    ingest.import_file(write_log(tmp_path / "q.jsonl", asked), "q", "auto", lambda _: None)
    batch.detect("q", ["full-validation"])
    with serving("Feedback: Not that city.") as endpoint:
        served(endpoint)
        simulate.simulate("q", SimulationPlan("model-user"))
        assert "answer: Oslo" in endpoint.asks[0].text
        assert "secret page" not in endpoint.asks[0].text
        assert "level" not in endpoint.asks[0].text


def test_a_model_plays_the_user_first_and_further_and_only_for_what_is_inspected(log, served):
    replay.start_replay("again", "log", "full-validation")
    with serving(lambda ask: f"Feedback: Not that one, please. ({ask.number})") as endpoint:
        served(endpoint)
        tally = simulate.simulate("again", SimulationPlan("model-user"))
        assert (tally.rejected, tally.responded, tally.requests) == (2, 1, 3)
        assert all("89.5" in ask.text or "stuck" in ask.text or "kettle-3" in ask.text for ask in endpoint.asks[:2])
        replay.advance("again")
        simulate.simulate("again", SimulationPlan("model-user"))
        further = endpoint.asks[-1]
    assert "You told it before" in further.text
    assert "Not that one, please." in further.text
    assert all(words.startswith("Not that one, please.") for _, label, words in decided() if label == "misaligned")


def test_words_that_tell_the_target_are_asked_for_again_and_else_left_out(tmp_path, served):
    told = replace(purchase(0, wrong=True), gold={"label": "misaligned", "name": "Copper Kettle Deluxe"})
    ingest.import_file(write_log(tmp_path / "t.jsonl", told), "t", "auto", lambda _: None)
    batch.detect("t", ["full-validation"])
    with serving("Feedback: The colour is wrong. Take the Copper Kettle Deluxe.") as endpoint:
        served(endpoint)
        simulate.simulate("t", SimulationPlan("model-user"))
        assert endpoint.requests == 2
        assert "Copper Kettle Deluxe" in endpoint.asks[0].text
    assert decided()[0][2] == "The colour is wrong."


def test_a_model_that_fails_leaves_the_item_in_the_queue(log, served):
    with serving(lambda ask: Fault("401")) as endpoint:
        served(endpoint)
        with pytest.raises(ModelError):
            simulate.simulate("log", SimulationPlan("model-user"))
    assert decided() == []
    assert simulate.simulate("log").inspected == 6


def test_without_a_model_it_says_what_to_set(log, monkeypatch):
    with pytest.raises(NoModel):
        simulate.simulate("log", SimulationPlan("model-user"))
