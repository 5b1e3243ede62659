"""What is read out of a person's free words."""

import pytest

from console.actors.scripted.hints import TOPICS, find_amount, find_last_wanted, read_advice


@pytest.mark.parametrize(
    ("words", "topic"),
    [
        ("that's way too EXPENSIVE for me", "price"),
        ("Did you look at the cost?", "price"),
        ("keep it under $40", "price"),
        ("wrong colour", "option"),
        ("you forgot to pick a size", "option"),
        ("please read the whole page", "further"),
        ("it is not in the first paragraph", "further"),
        ("two people share the same name here", "namesake"),
        ("it's behind a closed door", "open"),
        ("wash it before", "clean"),
        ("it should be warm", "heat"),
        ("chill the tomato", "cool"),
        ("I need two of these", "two"),
        ("turn the lamp on", "light"),
    ],
)
def test_topics_are_heard_in_many_words(words, topic):
    assert read_advice((words,)).about(topic)


@pytest.mark.parametrize("topic", TOPICS)
def test_silence_is_about_nothing(topic):
    assert not read_advice(()).about(topic)
    assert not read_advice(("Hm.",)).about(topic)


@pytest.mark.parametrize(
    ("words", "wanted", "refused"),
    [
        ("Take the navy one, not the black one.", "navy", "black"),
        ("I asked for navy instead of black", "navy", "black"),
        ("Black is wrong. Choose navy.", "navy", "black"),
        ("navy rather than black, please", "navy", "black"),
        ("don't buy the black one; the navy one is fine", "navy", "black"),
    ],
)
def test_what_is_wanted_is_told_from_what_is_refused(words, wanted, refused):
    found = read_advice((words,))
    assert found.wants(wanted)
    assert not found.refuses(wanted)
    assert found.refuses(refused)
    assert find_last_wanted(found, ("black", "navy")) == "navy"


def test_a_thing_is_only_named_as_a_whole_word():
    found = read_advice(("look in the cabinets near the 12 oz cup",))
    assert found.names("cabinet")
    assert found.names("12 oz")
    assert not found.names("2 oz")
    assert not found.names("cab")


def test_amounts_belong_to_their_topic():
    found = read_advice(("I wanted 2 of them. The price must stay below 1,250.50 dollars.",))
    assert find_amount(found, "price") == 1250.5
    assert find_amount(read_advice(("I wanted 2 of them.",)), "price") is None


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("a cheaper one than B0PLEB1VZJ", None),
        ("the 12 oz bottle is too expensive", None),
        ("my budget is $40", 40.0),
        ("I would not pay over 30", 30.0),
        ("the price has to stay below 80.00 dollars", 80.0),
        ("it costs 48.50", 48.5),
    ],
)
def test_only_money_is_an_amount(words, amount):
    assert find_amount(read_advice((words,)), "price") == amount


def test_the_last_of_several_wishes_counts():
    assert find_last_wanted(read_advice(("choose red", "choose blue")), ("red", "blue", "green")) == "blue"
    assert find_last_wanted(read_advice(("choose something",)), ("red", "blue")) is None
