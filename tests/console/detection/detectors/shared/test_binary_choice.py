"""How sure a model is of a letter, from the probabilities of its tokens."""

import math

import pytest

from console.detection.detectors.shared import reply_parsing
from console.detection.detectors.shared.binary_choice import read_share
from console.llm import Reply, Token


def token(text, probability, **others):
    top = tuple((name, math.log(p)) for name, p in others.items())
    return Token(text, math.log(probability), top)


def share(text, *tokens, letter="B"):
    found = reply_parsing.read_letter(text)
    told = read_share(Reply((text,), (tokens or None,), "test"), found, letter)
    return told and (pytest.approx(told[0]), told[1])


def test_the_alternatives_are_renormalised():
    assert share("A", token("A", 0.6, A=0.6, B=0.2, C=0.2)) == (0.25, "top_logprobs")
    assert share("A", token("A", 0.6, A=0.6, B=0.2, C=0.2), letter="A") == (0.75, "top_logprobs")
    assert share("B", token("B", 0.5, **{"B": 0.5, " B": 0.1, "A": 0.1, "**A": 0.1})) == (0.75, "top_logprobs")


def test_without_alternatives_the_other_letter_has_the_rest():
    assert share("A", token("A", 0.9)) == (pytest.approx(0.1), "complement")
    assert share("B", token("B", 0.9)) == (0.9, "complement")


def test_a_letter_that_is_not_among_the_likeliest_has_at_most_the_least_of_them():
    five = {"A": 0.9, "The": 0.04, "I": 0.03, "It": 0.01, "a": 0.005}
    assert share("A", token("A", 0.9, **five)) == (pytest.approx(0.005 / 0.905), "complement")


def test_the_letter_that_answers_counts_and_not_one_before_it():
    text = "At first B. False\nA. True"
    tokens = [token("At first ", 0.9), token("B", 0.9, B=0.9, A=0.1), token(". False\n", 1.0)]
    tokens += [token("A", 0.8, A=0.8, B=0.2), token(". True", 1.0)]
    assert share(text, *tokens) == (0.2, "top_logprobs")


def test_tokens_that_do_not_add_up_to_the_text_are_searched_for_the_letter():
    assert share("A.", token("<s>", 1.0), token("A", 0.8, A=0.8, B=0.2), token(".", 1.0)) == (0.2, "top_logprobs")


def test_without_log_probabilities_there_is_no_share():
    assert share("A") is None
