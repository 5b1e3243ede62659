"""The participant's page, stage by stage: what is asked, what is refused, and what never stands in it."""

import re

import orjson
import pytest
from sqlmodel import select
from streamlit.testing.v1 import AppTest

from console.auth.sessions import participant_cookie, secret_of
from console.database import now_ms, reading, review_queue, writing
from console.errors import BadInput
from console.review import decisions
from console.runs import ingest
from console.studies.design import Design
from console.studies.design.instruments import shelf
from console.studies.sessions import answering, joining, lifecycle, steps
from console.studies.sessions.joining import Arrival
from console.studies.sessions.withdrawal import withdraw
from storage import tables
from tests.console.web.conftest import ROOT
from tests.logs import purchase, write_log
from tests.signing_in import signed_in
from tests.sweeps import sweep

BACK = "https://lab.example/back"
QUESTION = "How old? ![x](http://elsewhere/) <b>"


@pytest.fixture
def study(data_dir):
    """A function that makes and opens a study of people in the embedded shop."""

    def make(**more):
        fields = {
            "name": "pilot",
            "source": {"actor": "scripted", "environment": "webshop"},
            "tasks": 3,
            "trials": 1,
            "participants": {"human": 2},
            "consent": {"text": "You agree to <b>this</b> ![x](http://elsewhere/)."},
        }
        made = lifecycle.create(Design.model_validate(fields | more), now_ms())
        lifecycle.open_study(made.name)
        return made

    return make


@pytest.fixture
def visit():
    """A function that opens the participant's page with that query and state; no page may show an exception."""
    opened = []

    def show(state=None, **query):
        at = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=30)
        for name, value in (state or {}).items():
            at.session_state[name] = value
        for name, value in query.items():
            at.query_params[name] = value
        at.switch_page("console/web/pages/participate.py").run()
        opened.append(at)
        return at

    yield show
    for at in opened:
        assert [found.value for found in at.exception] == []


def click(at, key):
    """Presses the button of that key, or the form's."""
    found = [button for button in at.button if button.key == key] or [
        button for button in at.button if str(button.proto.label).startswith(key)
    ]
    found[0].click().run()
    return at


def joined(study, **given):
    """Somebody who takes part, and the state of their tab."""
    with reading() as session:
        code = session.get(tables.Study, study.id).join_code
    person = joining.join(code, Arrival(code, given=given))
    return person, {"me": person.secret}


def at_work(study):
    """Somebody before their first item."""
    person, state = joined(study)
    joining.consent(person.id, True)
    joining.finish_instructions(person.id)
    steps.begin(person.id)
    return person, state


def keys(at):
    """The keys of all buttons."""
    return [button.key or "" for button in at.button]


def test_a_tab_that_nobody_knows_is_led_to_the_code(visit, words, study):
    made = study()
    for at in (visit(), visit(join=made.join_code), visit(me="made-up")):
        assert "enter the code of the study" in words(at)


def test_consent_is_plain_text_and_declining_keeps_nothing(visit, words, study):
    _, state = joined(study())
    at = visit(state)
    assert "&lt;b&gt;this&lt;/b&gt;" in words(at)
    assert "![x](http://elsewhere/)" in words(at)
    assert "![x]" not in " ".join(found.value for found in at.markdown)
    click(at, "decline")
    assert "We store only that a person declined, and when. You can close this page." in words(at)


def test_the_language_of_a_study_is_that_of_its_pages_around_its_own_texts(visit, words, study):
    _, state = joined(study(language="de", consent={"text": "Agree to this?"}))
    at = visit(state)
    assert "Bevor Sie teilnehmen" in words(at)
    assert "Agree to this?" in words(at)
    assert [button.label for button in at.button if button.key == "accept"] == ["Ich stimme zu"]


def test_a_german_study_asks_and_explains_in_german(visit, words, study):
    person, state = joined(study(language="de", practice=1, questionnaires={"before": ["trust"]}))
    joining.consent(person.id, True)
    at = visit(state)
    assert "Die Agenten werden im Interesse des Benutzers arbeiten." in words(at)
    assert "1 = Überhaupt nicht" in words(at)
    assert "englischen Wortlaut" not in words(at)
    answering.fill_in(person.id, "trust", {item.key: "4" for item in shelf()["trust"].items})
    joining.finish_instructions(person.id)
    at.run().session_state["shown_ms"] = 0
    click(at, next(key for key in keys(at) if key.startswith("reject-")))
    assert "Diese Aktion tut " in words(at)
    assert "This action" not in words(at)


def test_who_declines_on_a_platform_is_told_to_return_the_place_there(visit, words, study):
    made = study(recruiting={"platform": "prolific"}, consent={"text": "Agree?"})
    person = joining.join(made.join_code, Arrival(made.join_code, given={"PROLIFIC_PID": "one"}))
    joining.consent(person.id, False)
    assert "Please also give up your place on Prolific" in words(visit({"me": person.secret}))


def test_questions_are_plain_required_and_kept(visit, words, study):
    asked = [
        {"key": "age", "question": QUESTION, "choices": ["18-29 ![x](http://elsewhere/)", "30+"], "required": True},
        {"key": "years", "question": "Years?", "kind": "number"},
    ]
    person, state = joined(study(demographics=asked))
    joining.consent(person.id, True)
    at = visit(state)
    assert "How old? ![x](http://elsewhere/) &lt;b&gt;" in words(at)
    assert all(not set("![]:/<>") & set(found.label) for found in at.selectbox)
    click(at, "Continue")
    assert "Please answer: How old?" in words(at)
    at.selectbox(key="question-age").select("30+")
    at.number_input(key="question-years").set_value(1_234_567.5)
    click(at, "Continue")
    with reading() as session:
        kept = session.get(tables.Participant, person.id).answers
    assert orjson.loads(kept) == {"age": "30+", "years": "1234567.5"}


def test_a_questionnaire_is_one_page_whose_answers_stay_where_one_is_missing(visit, words, study):
    own = [{"key": "a", "question": "A ![x](http://elsewhere/)?"}, {"key": "b", "question": "B?", "low_label": "Never"}]
    instrument = {"name": "own", "title": "Own <i>one</i>", "items": own}
    person, state = joined(study(instruments=[instrument], questionnaires={"before": ["own"]}))
    joining.consent(person.id, True)
    at = visit(state)
    assert "Own &lt;i&gt;one&lt;/i&gt;" in words(at)
    assert "1 = Never" in words(at)
    assert all(not set("![]/<>") & set(found.label) for found in at.radio)
    at.radio(key="answer-own-0-a").set_value("3")
    click(at, "Continue")
    assert "Please answer: B?" in words(at)
    assert at.radio(key="answer-own-0-a").value == "3"
    at.radio(key="answer-own-0-b").set_value("7")
    click(at, "Continue")
    assert steps.find_position(person.id).kind == "instructions"


def test_how_sure_one_is_comes_after_the_decision_with_the_way_back(visit, words, study):
    _, state = at_work(study(confidence=5, undo_seconds=60))
    at = visit(state | {"shown_ms": 0})
    decision = next(key for key in keys(at) if key.startswith("reject-"))
    assert re.search(r"\d+ min left for this item", words(at))
    assert "claimed by you" not in words(at), "who has no colleagues claims nothing"
    at.session_state["shown_ms"] = 0
    click(at, decision)
    assert "How sure are you?" in words(at)
    assert "Your decision: reject" in words(at)
    sure = [key for key in keys(at) if key.startswith("sure-")]
    assert len(sure) == 5
    click(at, sure[3])
    with reading() as session:
        assert [row.level for row in session.exec(select(tables.Confidence))] == [4]
    assert "How sure are you?" not in words(at)


def test_who_is_screened_out_is_led_back_and_sees_no_study(visit, words, study):
    asked = [{"key": "age", "question": "Age?", "choices": ["child", "adult"], "screens_out": ["child"]}]
    out = "https://app.prolific.com/submissions/complete?cc=OUT"
    person, state = joined(study(demographics=asked, recruiting={"screen_out_url": out, "hosts": ["app.prolific.com"]}))
    joining.consent(person.id, True)
    joining.store_intake_answers(person.id, {"age": "child"})
    at = visit(state)
    assert "You cannot take part" in words(at)
    assert f'href="{out}"' in words(at)
    assert "Pause or withdraw" not in [button.label for button in at.button]


def test_a_quiz_counts_its_tries_and_ends_with_the_screen_out_code(visit, words, study):
    who = {
        "key": "who",
        "question": "Who <b>reads</b>?",
        "kind": "choice",
        "choices": ["agent", "user"],
        "right": "agent",
    }
    person, state = joined(study(quiz={"questions": [who], "tries": 2}, recruiting={"screen_out_code": "OUT56789"}))
    joining.consent(person.id, True)
    joining.finish_instructions(person.id)
    at = visit(state)
    assert "Who &lt;b&gt;reads&lt;/b&gt;?" in words(at)
    assert "You have 2 tries left." in words(at)
    click(at, "Continue")
    assert "Please answer: Who" in words(at)
    at.radio(key="quiz-0-who").set_value("user")
    click(at, "Continue")
    assert "1 answer is not correct." in words(at)
    assert words(at).count("You have 1 try left.") == 1
    assert at.radio(key="quiz-1-who").value is None, "a new try begins empty"
    at.radio(key="quiz-1-who").set_value("user")
    click(at, "Continue")
    assert "you have no tries left" in words(at)
    assert [code.value for code in at.code] == ["OUT56789"]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (
            {"return_url": "https://app.prolific.com/submissions/complete?cc=BACK"},
            "Prolific will be informed that you are not",
        ),
        ({}, "Please also give up your place on Prolific"),
    ],
)
def test_who_declines_is_led_back_where_the_design_says(visit, words, study, stated, said):
    person, state = joined(study(recruiting={"platform": "prolific", **stated}), PROLIFIC_PID="5f1")
    joining.consent(person.id, False)
    page_text = words(visit(state))
    assert said in page_text
    assert [url in page_text for url in stated.values()] == [True] * len(stated)


def test_instructions_show_an_example_with_its_answer(visit, words, study):
    person, state = joined(study(instructions="Take <i>care</i>."))
    joining.consent(person.id, True)
    page_text = words(visit(state))
    assert "Take &lt;i&gt;care&lt;/i&gt;." in page_text
    assert "An example" in page_text
    assert "correct decision" in page_text
    assert "navy" in page_text


def test_practice_is_explained_and_undone_by_nobody(visit, words, study):
    person, state = joined(study(practice=1))
    joining.consent(person.id, True)
    joining.finish_instructions(person.id)
    at = visit(state)
    assert "Practice 1 of 1" in words(at)
    assert "Flagged" not in words(at)
    at.session_state["shown_ms"] = 0
    click(at, next(key for key in keys(at) if key.startswith("reject-")))
    assert "correct decision" in words(at)
    assert not [key for key in keys(at) if key.startswith("undo")]
    click(at, "continue-1")
    assert "Start of the study" in words(at)


def test_an_introduction_says_what_differs_and_not_what_it_is_called(visit, words, study):
    arms = [
        {"name": "arm-zebra", "levels": {"feedback": "binary", "brief": "target"}},
        {"name": "arm-heron", "levels": {"feedback": "nl"}},
    ]
    made = study(conditions=arms, budget="2", order="fixed", fixed_order_because="pilot")
    person, state = joined(made)
    joining.consent(person.id, True)
    joining.finish_instructions(person.id)
    page_text = words(visit(state))
    assert "Part 1 of 2" in page_text
    assert "You cannot write feedback" in page_text
    assert "You see exactly what the user wants" in page_text
    assert "An automatic check, the detector, flags" in page_text
    assert "You cannot review every item" in page_text
    for hidden in ("zebra", "heron", "pilot", "binary"):
        assert hidden not in page_text


def test_an_item_shows_what_its_condition_shows(visit, words, study):
    hidden = {"score": ["hidden"], "explanation": ["hidden"], "detector_name": ["hidden"], "highlights": ["hidden"]}
    _, state = at_work(study(factors=hidden))
    page_text = words(visit(state))
    assert "The user asked" in page_text
    for trace in ("Flagged", "rules", "<mark", '"ia-chip'):
        assert trace not in page_text
    _, state = at_work(study(name="open", factors={"brief": ["target"]}))
    shown = words(visit(state))
    assert "Flagged by" in shown
    assert "What the user wants" in shown


def test_neither_name_nor_number_nor_way_to_another_reviewer_stands_beside_an_item(visit, words, study):
    _, state = at_work(study())
    at = visit(state)
    assert not [key for key in keys(at) if key.startswith("escalate")]
    at.session_state["shown_ms"] = 0
    click(at, next(key for key in keys(at) if key.startswith("approve-")))
    page_text = words(at)
    assert "The previous item: Approved" in page_text
    assert not re.search(r"\b[Ii]tem \d+:", page_text)
    with reading() as session:
        runs = [run.name for run in session.exec(select(tables.Run))]
    assert not [name for name in runs if name in page_text]


@pytest.mark.at_length
def test_a_paused_study_waits_and_goes_on_where_it_was(visit, words, study):
    made = study()
    _, state = at_work(made)
    lifecycle.pause(made.name)
    at = visit(state)
    assert "The study is paused" in words(at)
    at.session_state["refusal"] = "The study is paused. Everything you have done is saved. Come back later."
    assert words(at.run()).count("The study is paused.") == 1, "a refused press does not say it twice"
    lifecycle.open_study(made.name)
    assert "The user asked" in words(visit(state))
    lifecycle.close(made.name)
    assert "The study is over" in words(visit(state))


def test_withdrawing_asks_twice_and_leaves_nothing(visit, words, study):
    person, state = at_work(study(recruiting={"return_url": BACK, "hosts": ["lab.example"]}))
    at = click(visit(state), "leave")
    assert f"?me={person.secret}" in " ".join(found.value for found in at.code)
    click(at, "withdraw")
    click(at, "stay")
    assert "The user asked" in words(at)
    for key in ("leave", "withdraw", "withdraw-for-good"):
        click(at, key)
    assert "You have withdrawn" in words(at)
    assert f'href="{BACK}"' in words(at)
    assert "You have withdrawn" in words(visit(state))
    assert "enter the code" in words(visit())


def test_a_return_link_leads_to_its_place_and_leaves_the_address(visit, words, study):
    person, _ = at_work(study())
    at = visit(me=person.secret)
    assert "The user asked" in words(at)
    assert "me" not in at.query_params


def test_every_other_address_refuses_a_participant(study, words):
    person, _ = at_work(study())
    at = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=30)
    at.session_state["me"] = person.secret
    at.run()
    at.switch_page("console/web/pages/refused.py").run()
    assert "not part of the study" in words(at)
    for page in ("inbox", "review", "runs", "trajectories", "detectors", "studies", "export"):
        with pytest.raises(ValueError, match="Could not find a navigation page"):
            at.switch_page(f"console/web/pages/{page}.py")


def _acts_on_an_item():
    import streamlit as st

    from console.web.review import actions, drafts

    item = st.session_state["item"]
    drafts.save_draft(str(item), drafts.words_key(item), "not mine")
    actions.decide(st.session_state["item"], "approve")
    actions.skip(st.session_state["item"])


def test_a_reviewer_of_the_same_name_reaches_no_item_of_a_study(study):
    person, _ = at_work(study())
    claim = steps.find_position(person.id).claim
    at = AppTest.from_function(_acts_on_an_item)
    at.session_state["session"] = signed_in(person.code, "reviewer")
    at.session_state["item"] = claim.item_id
    at.run()
    assert not at.exception
    assert "has not claimed" in at.session_state["refusal"]
    assert review_queue().draft(item_id=claim.item_id, reviewer=person.code) is None
    assert steps.find_position(person.id).claim.token == claim.token


def test_what_came_after_the_action_and_the_gold_never_stand_in_the_page(tmp_path, visit, words, study):
    from dataclasses import replace

    records = []
    for number in range(4):
        bought = purchase(number, wrong=True)
        last = replace(bought.steps[-1], observation="after-canary")
        gold = {**bought.gold, "name": "target-canary", "note": "gold-canary"}
        records.append(replace(bought, steps=(*bought.steps[:-1], last), gold=gold))
        records.append(replace(records[-1], trial=1))
    ingest.import_file(write_log(tmp_path / "log.jsonl", *records), "log", "auto", lambda _: None)
    replayed = {"source": {"actor": "replay", "run": "log"}, "tasks": 4, "trials": 2}
    _, state = at_work(study(**replayed))
    at, rounds = visit(state), set()
    for _ in range(12):
        page_text = words(at)
        assert not [
            canary for canary in ("after-canary", "target-canary", "gold-canary", "kettles") if canary in page_text
        ]
        if "Thank you" in page_text:
            break
        rounds |= set(re.findall(r">((?:trial|round) \d)<", page_text))
        at.session_state["shown_ms"] = 0
        go_on = [key for key in keys(at) if key.startswith(("reject-", "hand-over-"))]
        click(at, go_on[0])
    assert "Thank you" in words(at)
    assert rounds == {"round 1"}, "participants count rounds, from 1"
    page_text = words(click(at, "leave"))
    assert "Withdraw" in page_text
    assert "Take a break" not in page_text, "nothing is left to continue"
    assert "Thank you" in words(click(at, "stay"))
    _, state = at_work(study(name="told", factors={"brief": ["target"]}, **replayed))
    page_text = words(visit(state))
    assert "target-canary" in page_text
    assert "gold-canary" not in page_text


def test_a_participants_cookie_is_signed():
    assert secret_of(participant_cookie("secret")) == "secret"
    assert secret_of("secret") is None


@pytest.mark.at_length
def test_a_study_with_practice_and_checks_looks_the_same_for_every_item(visit, words, study):
    made = study(checks={"attention": 1, "known_good": 1, "known_bad": 1})
    _, state = at_work(made)
    at = visit(state)
    shapes = set()
    for _ in range(12):
        if "The user asked" not in words(at):
            break
        shapes.add(tuple(sorted(re.sub(r"-[0-9a-f]{16}", "-N", key) for key in keys(at))))
        at.session_state["shown_ms"] = 0
        stuck = [key for key in keys(at) if key.startswith("submit-")]
        if stuck:
            item = stuck[0].split("-")[1]
            at.text_area(key=f"words-{item}").input("Try another.")
        click(at, stuck[0] if stuck else next(key for key in keys(at) if key.startswith("reject-")))
    judged = [shape for shape in shapes if "reject-N" in shape]
    assert len(judged) == 1
    with writing() as session:
        assert session.exec(select(tables.Probe.purpose)).all()


def on_screen(at):
    """The name by which the page calls the item that it shows."""
    return next(key for key in keys(at) if key.startswith("skip-")).split("-")[1]


def item_of(at, name):
    """The id of the item that the page calls so."""
    return at.session_state["aliases"][name]


def standing(item):
    """The answers to the item that stand."""
    decision = tables.Decision
    with reading() as session:
        found = session.exec(select(decision).where(decision.item_id == item, ~decision.superseded)).all()
        return [(row.decision, row.feedback_text) for row in found]


@sweep("stop", [lifecycle.pause, lifecycle.close], kept=1)
def test_an_answer_to_a_study_that_was_stopped_meanwhile_does_not_count_and_keeps_its_words(visit, words, study, stop):
    made = study()
    person, state = at_work(made)
    at = visit(state)
    item = on_screen(at)
    at.session_state["shown_ms"] = 0
    at.text_area(key=f"words-{item}").input("the blue one")
    stop(made.name)
    click(at, f"reject-{item}")
    assert "in the meantime, so your input was not sent. If you wrote a text, it is saved as a draft." in words(at)
    assert standing(item_of(at, item)) == []
    assert review_queue().draft(item_id=item_of(at, item), reviewer=person.code).text == "the blue one"


@sweep("button", ["skip", "undo"], kept=1)
def test_nothing_is_put_off_or_taken_back_while_the_study_is_paused(visit, words, study, button):
    made = study()
    _, state = at_work(made)
    at = visit(state)
    first = on_screen(at)
    at.session_state["shown_ms"] = 0
    click(at, f"reject-{first}")
    second = on_screen(at)
    lifecycle.pause(made.name)
    click(at, f"{button}-{second}")
    assert "so your input was not sent" in words(at)
    assert standing(item_of(at, first)) == [("reject", "")]
    lifecycle.open_study(made.name)
    assert on_screen(visit(state)) == second


@sweep("withdrawal", ["remove", "anonymise"], kept=1)
def test_a_tab_left_open_says_that_its_participant_has_withdrawn(visit, words, study, withdrawal):
    person, state = at_work(study(consent={"text": "Agree?", "withdrawal": withdrawal}))
    at = visit(state)
    item = on_screen(at)
    at.session_state["shown_ms"] = 0
    withdraw(person.id)
    click(at, f"reject-{item}")
    page_text = words(at)
    assert "You have withdrawn" in page_text
    assert "this input was not recorded" in page_text
    assert person.code not in page_text
    assert standing(item_of(at, item)) == []


@pytest.mark.at_length
def test_undo_in_two_tabs_takes_one_answer_back_and_says_so(visit, words, study):
    _, state = at_work(study())
    one, other = visit(state), visit(state)
    first = on_screen(one)
    for at in (one, other):
        at.session_state["shown_ms"] = 0
    click(one, f"reject-{first}")
    click(other, f"undo-{first}")
    assert "Decision undone" in words(other)
    assert standing(item_of(one, first)) == []


def test_nobody_else_reviews_in_a_participants_place(words, study):
    person, _ = at_work(study())
    claim = steps.find_position(person.id).claim
    with reading() as session:
        run = session.get(tables.Run, claim.run_id)
    at = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=30)
    at.session_state["session"] = signed_in(person.code)
    at.query_params["run"] = run.name
    at.run()
    at.switch_page("console/web/pages/review.py").run()
    assert not at.exception
    assert "Only the participant reviews this run" in words(at)
    assert not [key for key in keys(at) if key.startswith(("approve-", "undo-"))]


@pytest.mark.at_length
def test_a_participant_with_text_feedback_marks_no_steps(study, visit, open_page, kettles):
    _person, state = at_work(study(consent={"text": ""}))
    at = visit(state)
    assert "inferact_step_marks" not in components(at)
    assert "inferact_hotkeys" in components(at)
    assert "inferact_step_marks" in components(open_page("review", run=kettles, role="reviewer"))


def components(at):
    """The names of the page's own components."""
    return {element.proto.component_name.rpartition(".")[2] for element in at.get("bidi_component")}


@pytest.mark.at_length
def test_a_seeded_item_has_the_buttons_and_the_field_of_any_other(study, visit):
    made = study(checks={"known_bad": 1}, consent={"text": ""}, tasks=5, participants={"human": 1})
    person, state = joined(made)
    joining.finish_instructions(person.id)
    steps.begin(person.id)
    seen = {}
    while (place := steps.find_position(person.id)).kind in ("review", "probe"):
        at = visit(state)
        number = str(place.claim.item_id)
        seen[place.kind] = (
            [str(button.label) for button in at.button if str(button.key).endswith(f"-{number}")],
            [area.label for area in at.text_area],
        )
        answer = decisions.ReviewDecision("reject", "look again")
        decisions.submit(review_queue(), place.run, place.claim, person.code, answer, now_ms())
    assert set(seen) == {"probe", "review"}
    assert seen["probe"] == seen["review"]


def chart_page(at):
    """Everything on the page as one text, its buttons' names last."""
    return " ".join([*(html.value for html in at.get("html")), *(str(button.label) for button in at.button)])


@pytest.mark.at_length
def test_compared_detectors_are_neutral_and_the_binary_arm_has_two_keys(study, visit):
    made = study(
        factors={"detector": ("rules", "random"), "feedback": ("binary",)}, consent={"text": ""}, tasks=5,
        participants={"human": 1},
    )  # fmt: skip
    person, state = joined(made)
    joining.finish_instructions(person.id)
    pages = {}
    while (place := steps.find_position(person.id)).kind != "finished":
        if place.kind not in ("review", "probe"):
            (steps.begin if place.kind == "introduction" else steps.hand_over)(person.id)
            continue
        arm = place.assignment.condition
        halted = place.claim.kind == "halted"
        if arm not in pages and not halted:
            pages[arm] = chart_page(visit(state))
            edit = decisions.ReviewDecision("edit", edited_action="click[back]")
            with pytest.raises(BadInput, match="only approve or reject"):
                decisions.submit(review_queue(), place.run, place.claim, person.code, edit, now_ms())
        answer = decisions.ReviewDecision("respond" if halted else "approve")
        decisions.submit(review_queue(), place.run, place.claim, person.code, answer, now_ms())
    assert set(pages) == {"rules", "random"}
    assert "Detector A" in pages["rules"]
    assert "Detector B" in pages["random"]
    for page in pages.values():
        assert not re.search(r"\brules\b|\brandom\b", page)
        assert "Approve" in page
        assert "Edit" not in page
