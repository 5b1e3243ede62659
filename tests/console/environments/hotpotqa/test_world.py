import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.environments.environment import TaskSpec
from console.environments.hotpotqa import HOTPOTQA, start, tasks
from console.environments.hotpotqa.corpus import Corpus, WikiPage
from console.environments.hotpotqa.world import Encyclopedia, exact_match, f1, lenient_match, normalise
from console.errors import BadInput
from console.trajectory.checkpoints import is_critical
from tests.oracles import answering

CORPUS = Corpus(
    [
        WikiPage(
            "Tin Heron", ("It is a film.", "Two.", "Three.", "Four.", "Five.", "A heron flies.", "The Heron lands.")
        ),
        WikiPage("Tin Heron Award", ("It is an award.",)),
    ]
)
TASK = TaskSpec("t", "hotpotqa", "What lands?", {"answer": "The Heron-King"})
NAMES = st.sampled_from(["Search", "lookup", "FINISH", "think", "Compare", "", "> Finish"])
ACTIONS = st.one_of(
    st.text(st.characters(), max_size=30),
    st.builds("{}[{}]".format, NAMES, st.text(st.characters(), max_size=20)),
    st.sampled_from(["Search[Tin Heron]", "Lookup[heron]", "Search[Heron]", "Search[award of tin]", "Lookup[e]"]),
)


@pytest.fixture
def world():
    return Encyclopedia(TASK, CORPUS)


def seen(world, *actions):
    return [world.step(action)[0] for action in actions]


def test_the_agent_first_sees_the_question_and_the_grammar(world):
    opening, info = world.reset()
    assert opening == "Question: What lands?\nAnswer it with Search[entity], Lookup[keyword] or Finish[answer]."
    assert info == {"steps": 0}


def test_a_search_shows_the_first_sentences(world):
    assert seen(world, "Search[tin heron]") == ["It is a film. Two. Three. Four. Five."]


def test_a_search_that_fails_names_similar_pages_and_closes_the_page(world):
    answers = seen(world, "Search[Tin Heron]", "Search[Award of tin]", "Lookup[film]")
    assert answers[1:] == [
        "Could not find Award of tin. Similar: ['Tin Heron Award', 'Tin Heron'].",
        "No page is open. Use Search[entity] first.",
    ]


def test_nothing_similar_is_said_so(world):
    assert seen(world, "Search[Zebra]") == ["Could not find Zebra. Similar: []."]


def test_a_repeated_lookup_goes_on_and_another_one_starts_again(world):
    lookups = ["Lookup[heron]", "lookup[HERON]", "Lookup[heron]", "Lookup[heron]", "Lookup[film]", "Lookup[heron]"]
    assert seen(world, "Search[Tin Heron]", *lookups)[1:] == [
        "(Result 1 / 2) A heron flies.",
        "(Result 2 / 2) The Heron lands.",
        "No more results.",
        "No more results.",
        "(Result 1 / 1) It is a film.",
        "(Result 1 / 2) A heron flies.",
    ]


def test_a_new_search_starts_lookups_again(world):
    answers = seen(world, "Search[Tin Heron]", "Lookup[heron]", "Search[Tin Heron]", "Lookup[heron]")
    assert answers[3] == answers[1] == "(Result 1 / 2) A heron flies."


def test_a_lookup_before_any_search_is_answered_in_words(world):
    assert seen(world, "Lookup[heron]") == ["No page is open. Use Search[entity] first."]


@pytest.mark.parametrize("action", ["", "heron", "Search[]", "Lookup[ ]", "Compare[a, b]", "Thought: x\nFinish[yes]"])
def test_a_malformed_action_uses_a_step_and_says_what_works(world, action):
    observation, reward, terminated, truncated, info = world.step(action)
    assert observation.startswith(HOTPOTQA.not_executed)
    assert observation.endswith("Use Search[entity], Lookup[keyword] or Finish[answer].")
    assert (reward, terminated, truncated, info["steps"]) == (0.0, False, False, 1)


def test_several_calls_at_once_are_one_search_for_all_of_it(world):
    assert seen(world, "Search[Tin], Search[Heron]")[0].startswith("Could not find Tin], Search[Heron. Similar:")


def test_a_thought_written_as_an_action_does_nothing(world):
    assert seen(world, "Search[Tin Heron]", "think[hm]", "Lookup[heron]")[1:] == [
        "Nice thought.",
        "(Result 1 / 2) A heron flies.",
    ]


@pytest.mark.parametrize(
    ("answer", "em", "lenient", "f1"),
    [("heronking", True, True, 1.0), ("king", False, True, 0.0), ("goose", False, False, 0.0), ("", False, False, 0.0)],
)
def test_finishing_ends_the_trial_without_telling_the_agent_how_it_went(world, answer, em, lenient, f1):
    observation, reward, terminated, truncated, info = world.step(f"Finish[{answer}]")
    assert observation == "Episode finished."
    assert (reward, terminated, truncated) == (float(em), True, False)
    expected = {"success": em, "score": float(em), "em": em, "lenient_em": lenient, "f1": f1, "answer": answer}
    assert info == {"steps": 1, **expected}


def test_lenient_success_is_an_option():
    lenient = Encyclopedia(TASK, CORPUS)
    lenient.reset(options={"lenient_em": True})
    info = lenient.step("Finish[king]")[4]
    assert (info["success"], info["score"], info["em"]) == (True, 1.0, False)


def test_nothing_happens_after_the_answer(world):
    end = world.step("Finish[goose]")
    again = world.step("Finish[The Heron-King]")
    assert again[0] == "The question has been answered; nothing more can happen."
    assert again[1:] == end[1:]


def test_the_sixth_step_without_an_answer_is_the_last(world):
    results = [world.step("Search[Tin Heron]") for _ in range(6)]
    assert [result[3] for result in results] == [False] * 5 + [True]
    assert (results[5][4]["success"], results[5][4]["score"]) == (False, 0.0)


def test_an_answer_at_the_sixth_step_counts(world):
    seen(world, *["Search[Tin Heron]"] * 5)
    _, reward, terminated, truncated, _ = world.step("Finish[heronking]")
    assert (reward, terminated, truncated) == (1.0, True, False)


def test_the_cap_is_an_option(world):
    world.reset(options={"step_cap": 2})
    assert [world.step("Search[x]")[3] for _ in range(2)] == [False, True]
    with pytest.raises(BadInput, match="step_cap is 0"):
        world.reset(options={"step_cap": 0})


@settings(deadline=None)
@given(st.lists(ACTIONS, max_size=10))
def test_any_text_is_answered_and_a_replay_sees_the_same(actions):
    world = Encyclopedia(TASK, CORPUS)
    first = [world.step(action) for action in actions]
    assert all(result[0].encode() for result in first)
    world.reset(seed=7)
    assert [world.step(action) for action in actions] == first
    assert [Encyclopedia(TASK, CORPUS).step(action) for action in actions[:1]] == first[:1]


@given(ACTIONS)
def test_whatever_ends_a_trial_is_a_critical_action(action):
    if Encyclopedia(TASK, CORPUS).step(action)[2]:
        assert is_critical(action, HOTPOTQA.critical)
        assert is_critical(action, HOTPOTQA.terminal)


def test_recorded_actions_bring_the_same_embedded_trial_back():
    for task in tasks(3, 40):
        actions = [f"Search[{task.instruction}]", *answering(task)]
        world = start(task)
        first = [world.reset(), *map(world.step, actions)]
        assert [world.reset(), *map(world.step, actions)] == first
        other = start(task)
        assert [other.reset(), *map(other.step, actions)] == first


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("The River Vellen", "river vellen"),
        ("48,210", "48210"),
        ("  a  Tin   Heron. ", "Tin Heron"),
        ("Tolliver-Wick", "tolliverwick"),
        ("Yes", "yes"),
    ],
)
def test_case_articles_punctuation_and_blanks_do_not_matter(answer, gold):
    assert exact_match(answer, gold)
    assert f1(answer, gold) == 1.0


def test_an_article_inside_a_word_stays():
    assert normalise("Theatre of Anatolia") == "theatre of anatolia"


@pytest.mark.parametrize(("answer", "gold"), [("Vellwick", "Vellmouth"), ("", "Vellwick"), ("1955", "1956")])
def test_another_answer_is_no_match(answer, gold):
    assert not exact_match(answer, gold)
    assert not lenient_match(answer, gold)
    assert f1(answer, gold) == 0.0


def test_part_of_an_answer_counts_partly():
    assert f1("the novelist Brenna Cawdle", "Brenna Cawdle") == pytest.approx(0.8)
    assert lenient_match("the novelist Brenna Cawdle", "Brenna Cawdle")
    assert lenient_match("Brenna", "Brenna Cawdle")
    assert not exact_match("Brenna", "Brenna Cawdle")


def test_yes_and_no_count_only_as_a_whole():
    assert f1("yes it is", "yes") == 0.0
    assert f1("no", "no way") == 0.0


@given(st.text(max_size=40), st.text(max_size=40))
def test_measures_agree_with_each_other(answer, gold):
    score = f1(answer, gold)
    assert 0.0 <= score <= 1.0
    assert score == pytest.approx(f1(gold, answer))
    assert lenient_match(answer, gold) == lenient_match(gold, answer)
    if exact_match(answer, gold):
        assert score == (1.0 if normalise(gold) else 0.0)
    assert normalise(normalise(answer)).split() == [word for word in normalise(answer).split() if normalise(word)]
