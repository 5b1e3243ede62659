"""Questions taken apart."""

import pytest

from console.actors.scripted.english_text import find_names, find_values, parse_question, split_sentences


def test_a_bridge_question_has_a_near_and_a_far_part():
    asked = parse_question("At which university did the designer of Old Toll Bridge study?")
    assert asked.entities == ("Old Toll Bridge",)
    assert asked.near == ("designer",)
    assert asked.far[0] == "study"
    assert not asked.compares


def test_a_relative_clause_belongs_to_the_near_part():
    asked = parse_question("In which town was the band that recorded the album The Hollow Lantern formed?")
    assert (asked.entities, asked.kinds) == (("The Hollow Lantern",), ("album",))
    assert {"band", "recorded"} <= set(asked.near)
    assert "town" in asked.far


def test_a_comparison_names_two():
    asked = parse_question("Who was born first, the film director Edric Fossgrave or the film director Garrow Innisby?")
    assert asked.entities == ("Edric Fossgrave", "Garrow Innisby")
    assert asked.kinds == ("film director", "film director")
    assert asked.compares


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("In what year was X founded?", "year"),
        ("How many inhabitants does X have?", "number"),
        ("Which instrument does X play?", "word"),
        ("Did A and B study at the same university?", "yes"),
        ("Who wrote X?", "person"),
        ("On which river does X stand?", "name"),
    ],
)
def test_the_form_of_the_answer(text, form):
    assert parse_question(text).form == form


def test_names_are_whole():
    text = "It was brought out by Fossgrave & Daughters. St. Orla Crossing lies near River Hasken."
    assert find_names(text) == ["Fossgrave & Daughters", "St. Orla Crossing", "River Hasken"]
    assert len(split_sentences(text)) == 2


def test_values_by_form():
    assert find_values("It was founded in 1957 with 30,074 crowns.", "year", ()) == ["1957"]
    assert find_values("Sillmouth has 30,074 inhabitants.", "number", ()) == ["30,074"]
    assert find_values("The director is Verity Kelderow.", "person", ("The Amber Harbour",)) == ["Verity Kelderow"]
    assert find_values("At home she plays the viola every evening.", "word", ()) == ["viola"]
