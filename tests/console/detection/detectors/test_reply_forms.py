"""Forms of replies: labels and parsers of one's own, structured outputs, and the budget of reasoning models."""

import json

import pytest

from console.errors import BadInput
from console.settings import settings
from tests.console.detection.detectors.test_family import script
from tests.fakes.answers import Answer, Fault, judging
from tests.fakes.endpoint import serving
from tests.fakes.judges import rule


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A function that writes a template of the user's own with the declaration beside it."""
    folder = tmp_path / "mine"
    monkeypatch.setenv("INFERACT_PROMPTS_DIR", str(folder))
    settings.cache_clear()

    def write(name, text, form=""):
        path = folder / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if form:
            path.with_suffix(".toml").write_text(form)

    return write


def one_of(judged, checkpoint, name, reply, **options):
    with serving(lambda ask: reply) as endpoint:
        (verdict,) = judged(endpoint, checkpoint, name, **options)
    return verdict, endpoint


def test_a_template_of_ones_own_brings_its_labels(shop, judged, own):
    form = 'verdict = "Evaluation"\nreason = "Explanation"\naligned = ["Yes"]\nmisaligned = ["No"]\n'
    own("direct/webshop/judge", "Task: {{ instruction }}\n{{ trajectory }}\nIs it done?", form)
    for word, score in (("No", 1.0), ("Yes", 0.0)):
        verdict, endpoint = one_of(judged, shop, "direct", f"Evaluation: {word}\nExplanation: the size.")
        assert (verdict.score, verdict.rationale, verdict.unparsed) == (score, "the size.", False)
        assert "response_format" not in endpoint.asks[0].body
    assert one_of(judged, shop, "direct", "Verdict: Incorrect")[0].unparsed


def test_a_template_of_ones_own_brings_its_patterns(shop, judged, own):
    own("inferact/webshop/infer_task", "{{ trajectory }}", '[patterns]\ntask = "The user asked to (.*?)\\\\."\n')
    own("inferact/webshop/check_completion", "{{ inferred_task }}", '[patterns]\nletter = "I choose ([AB])"\n')

    def answer(ask):
        return (
            Answer(["I choose B"], {"B": 0.9}) if ask.last.startswith("buy") else "Well. The user asked to buy a lamp."
        )

    with serving(answer) as endpoint:
        (verdict,) = judged(endpoint, shop, "inferact-prob")
    assert (verdict.inferred_task, verdict.score) == ("buy a lamp", pytest.approx(0.9))


def test_the_reference_parser_can_be_declared_for_one_template(shop, judged, own):
    own("multi-step/webshop/judge", "{{ trajectory }} {{ steps }}", 'parser = "reference"\n')
    verdict, _ = one_of(judged, shop, "multi-step", "Step 1: 0.5\nStep 2:0.1")
    assert verdict.score == 0.5


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ('verdikt = "x"', "unknown field 'verdikt'"),
        ('parser = "mine"', "console or reference"),
        ('[patterns]\ntask = "("', "pattern of task"),
        ("verdict = ", "not valid TOML"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_named(shop, judged, own, form, complaint):
    own("direct/webshop/judge", "{{ trajectory }}", form)
    with pytest.raises(BadInput, match=complaint):
        one_of(judged, shop, "direct", "Verdict: Correct")


STRUCTURED = {
    "direct": {"Verdict": "Incorrect", "Reason": "the size."},
    "multi-step": {"Steps": [0.9, 0.5, 1], "Justification": "the second."},
    "self-consistency": {"Verdict": "Incorrect", "Reason": "the size."},
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_outputs_are_asked_for_and_read(shop, judged, name):
    verdict, endpoint = one_of(judged, shop, name, json.dumps(STRUCTURED[name]))
    asked = endpoint.asks[0].body["response_format"]["json_schema"]
    assert asked["strict"] is True
    assert set(asked["schema"]["required"]) == set(STRUCTURED[name])
    assert not verdict.unparsed
    assert verdict.score == pytest.approx(0.55 if name == "multi-step" else 1.0)
    assert "the s" in verdict.rationale


def test_a_chore_s_verdict_keeps_its_status(chore, judged):
    _, endpoint = one_of(judged, chore, "direct", json.dumps({"Status": "x", "Verdict": "Correct", "Reason": "y"}))
    assert endpoint.asks[0].body["response_format"]["json_schema"]["schema"]["required"][0] == "Status"


def test_where_structured_outputs_are_refused_lines_are_read_and_it_is_told(shop, judged):
    def refusing(ask):
        if "response_format" in ask.body:
            return Fault("400", message="This response_format type is unavailable now")
        return "Verdict: Incorrect\nReason: size"

    with serving(refusing) as endpoint:
        (verdict,) = judged(endpoint, shop, "direct")
    assert (verdict.score, verdict.parameters["not_offered"]) == (1.0, ["response_format"])


def test_an_answer_that_is_cut_before_it_comes_is_asked_for_with_more_room(shop, judged):
    def wordy(ask):
        if "Task: the task" in ask.last:
            return rule(ask)
        if ask.limit < 1_000:
            return Answer(["Let me look at the page first, then at the price,"], finish="length")
        return judging(0.8)

    with serving(wordy) as endpoint:
        (verdict,) = judged(endpoint, shop, "inferact-prob")
        limits = [ask.limit for ask in endpoint.asks[1:]]
    assert limits == [64, 256, 1024]
    assert verdict.score == pytest.approx(0.8)
    assert verdict.spent.requests == 4


def test_an_answer_that_is_cut_after_it_came_is_not_asked_for_again(shop, judged):
    verdict, endpoint = one_of(judged, shop, "direct", Answer(["Verdict: Correct\nReason: it was"], finish="length"))
    assert (endpoint.requests, verdict.score) == (1, 0.0)


def test_the_room_that_a_model_needs_is_remembered(shop, judged):
    def thinking(ask):
        return Answer([""], finish="length") if ask.limit < 900 else script(letter=judging(0.2))(ask)

    with serving(thinking) as endpoint:
        judged(endpoint, shop, "token-prob")
        first = endpoint.requests
        judged(endpoint, shop, "inferact-prob")
    assert first == 2


def test_a_verdict_without_a_reason_still_says_something(shop, judged):
    assert one_of(judged, shop, "direct", "Verdict: Incorrect")[0].rationale == "The model gives no reason."


def test_the_reasoning_effort_is_passed_on_and_left_out_where_it_is_not_taken(shop, judged):
    effort = {"client": {"reasoning_effort": "low"}}
    _, endpoint = one_of(judged, shop, "direct", "Verdict: Correct", **effort)
    assert endpoint.asks[0].body["reasoning_effort"] == "low"

    def refusing(ask):
        if "reasoning_effort" in ask.body:
            return Fault("400", message="Unrecognized request argument supplied: reasoning_effort")
        return "Verdict: Correct"

    with serving(refusing) as endpoint:
        (verdict,) = judged(endpoint, shop, "direct", **effort)
    assert verdict.parameters["not_offered"] == ["reasoning_effort"]
