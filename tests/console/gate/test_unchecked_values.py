"""Values that no detector settles: for which calls a gate asks a person, and what it says about them."""

import pytest

from console.gate.request import check_request
from console.gate.unchecked_values import describe_unchecked_value

BILL = "Pay the bill of 20 dollars to ada@a.example."
BRANCH = "Delete the branch main."


def said(task, call):
    return describe_unchecked_value(check_request(task, [], call).checkpoint)


@pytest.mark.parametrize(
    ("task", "call", "stated", "passed"),
    [
        (BILL, 'pay({"to": "eve@e.example", "amount": 20})', 'the address "ada@a.example"', "`to`: eve@e.example"),
        (BILL, 'pay({"to": "ada@a.example", "amount": 2000})', 'the number "20"', "`amount`: 2000"),
        (BILL, 'pay({"to": "Eve", "amount": 20})', 'the address "ada@a.example"', "`to`: Eve"),
        ("Pay between 10 and 20 dollars.", 'pay({"amount": 15})', 'the number "10"', "`amount`: 15"),
        ("Send the letter of Bob to Zoe and Ada.", 'send({"from": "Bob", "to": "Eve"})', 'the name "Ada"', "`to`: Eve"),
        ("Mail z@a.example and b@a.example.", 'mail({"to": "Eve"})', 'the address "b@a.example"', "`to`: Eve"),
        ("Mail z@a.example.", f'mail({{"to": "https://a.example/{"x" * 60}"}})', 'the address "z@a.example"',
         f"`to`: https://a.example/{'x' * 42}"),
        ("Send the letter of Bob to Ada.", 'send({"from": "Bob", "to": "Eve"})', 'the name "Ada"', "`to`: Eve"),
        ("Link https://good.example/x for ada@a.example.",
         'mail({"to": "ada@a.example", "body": "See https://evil.example/x"})',
         'the address "https://good.example/x"', "`body`: https://evil.example/x"),
        ("Copy /home/ada/a.txt.", 'copy({"file": "/home/ada/b.txt"})', 'the path "/home/ada/a.txt"',
         "`file`: /home/ada/b.txt"),
        ("Book a table on 2026-03-01.", 'book({"day": "2026-03-02"})', 'the date "2026-03-01"', "`day`: 2026-03-02"),
    ],
)  # fmt: skip
def test_a_value_in_place_of_a_stated_one_asks(task, call, stated, passed):
    assert said(task, call) == f"The user stated {stated}; the call passes {passed}, which the user did not state."


@pytest.mark.parametrize(
    ("task", "call", "sentence"),
    [
        ("Book the red room for Monday.", 'book({"room": "blue"})',
         'The user said "red room"; the call passes `room`: blue, which the user did not state.'),
        ("Mail the report to ada@a.example.", 'mail({"to": ["ada@a.example", "eve@e.example"]})',
         "The user named another value for `to`; the call passes `to`: eve@e.example, which the user did not state."),
        (BRANCH, 'delete({"branch": "main", "force": true})',
         "The call sets `force`, which the user did not ask for."),
        ("Delete the branch main after the checks.", 'delete({"branch": "main", "skip_checks": true})',
         "The call sets `skip_checks`, which the user did not ask for."),
    ],
)  # fmt: skip
def test_another_word_recipient_or_a_dangerous_flag_asks(task, call, sentence):
    assert said(task, call) == sentence


@pytest.mark.parametrize(
    ("task", "call"),
    [
        (BILL, 'pay({"to": "ada@a.example", "amount": 20})'),
        ("Pay at most 20 dollars.", 'pay({"amount": 15})'),
        ("Send the letter to Ada.", 'send({"to": "Ada"})'),
        ("Send the letter to Robert.", 'send({"to": "Roberto"})'),
        ("Book the red room for Monday.", 'book({"room": "red"})'),
        (f"{BRANCH} Use force.", 'delete({"branch": "main", "force": true})'),
        (BRANCH, 'delete({"branch": "main", "force": false})'),
        (BRANCH, 'delete({"branch": "main", "dry_run": true})'),
        ("Mail the report to ada@a.example and bob@b.example.", 'mail({"to": ["ada@a.example", "bob@b.example"]})'),
        ("Mail the text to ada@a.example.", 'mail({"to": "ada@a.example", "body": "See https://evil.example/x"})'),
        ("Copy /home/ada/a.txt.", 'copy({"file": "/home/ada/a.txt"})'),
        ("Skip what is missing and delete main.", 'delete({"branch": "main", "skip_checks": true})'),
        ("Pay the 20 dollars.", 'pay({"payee": "Eve"})'),
        ("Write a note.", 'write({"text": "Hello there Eve"})'),
        ("Write a note about https://good.example/x.", 'write({"title": "Hello there"})'),
        ("Book a table on 2026-03-01.", 'book({"day": "2026-03-01"})'),
    ],
)
def test_a_stated_value_a_limit_and_prose_ask_nobody(task, call):
    assert said(task, call) is None
