"""The pending action as a field for each argument, and back into an action in its own style."""

import pytest

from console.errors import BadInput
from console.review.edit_fields import edit_fields, list_changed_arguments, word_changes, write_action

COMPACT = 'pay({"amount":45,"to":"Zoë","ids":[1,2],"now":true})'
SPACED = 'pay({"amount": 45, "to": "Zo\\u00eb"})'
KEYWORDS = "pay('Ann', amount=4.5)"
SEVERAL = 'pay({"amount":45})\nsend_mail({"to":"ann"})'
SCHEMA = {"properties": {"to": {"enum": ["Zoë", "Ann"]}}}


def raw(action, schema=None):
    return [field.raw for field in edit_fields(action, schema)]


@pytest.mark.parametrize("action", [COMPACT, SPACED, KEYWORDS, SEVERAL, 'pay(to="ann", n=1)'])
def test_fields_that_were_not_changed_give_the_action_again(action):
    fields = edit_fields(action)
    assert fields
    assert write_action(action, fields, raw(action)) == action


@pytest.mark.parametrize("action", ["click[Buy Now]", "please pay 45 euro", 'pay({"a":1,"a":2})', 'pay({"a":', "pay()"])
def test_what_is_no_call_with_arguments_has_no_fields(action):
    assert edit_fields(action) == ()


def test_each_field_has_its_kind():
    kinds = {field.name: str(field.kind) for field in edit_fields(COMPACT)}
    assert kinds == {"amount": "number", "to": "text", "ids": "list, as JSON", "now": "choice"}
    (to,) = [field for field in edit_fields(COMPACT, SCHEMA) if field.name == "to"]
    assert (str(to.kind), to.choices) == ("choice", ("Zoë", "Ann"))
    assert {field.tool for field in edit_fields(SEVERAL)} == {"pay", "send_mail"}


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["much", "Zoë", "[1, 2]", "true"], "amount: 'much' is not a number"),
        (["true", "Zoë", "[1, 2]", "true"], "amount: 'true' is not a number"),
        (["1", "Zoë", "[1,\n 2", "true"], "ids: invalid JSON in line 2, column 3"),
        (["1", "Zoë", '{"a": 1}', "true"], "is not a JSON list"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(texts, said):
    with pytest.raises(BadInput) as refusal:
        write_action(COMPACT, edit_fields(COMPACT), texts)
    assert said in str(refusal.value)


def test_the_changes_name_each_argument_and_its_call():
    edited = write_action(SEVERAL, edit_fields(SEVERAL), ["45", "bob"])
    assert list_changed_arguments(SEVERAL, edited) == [("send_mail 2, to", "ann", "bob")]
    assert list_changed_arguments("click[red]", "click[blue]") == [("", "click[red]", "click[blue]")]
    assert list_changed_arguments(COMPACT, COMPACT) == []
    assert list_changed_arguments("click[red]", "click[red]") == []


def test_word_changes_give_both_texts_again():
    before, after = "Dear Ann,\n\nyou get  45 euro.", "Dear Ann,\n\nyou get  20 euro, sorry."
    pieces = word_changes(before, after)
    assert "".join(text for kind, text in pieces if kind != "added") == before
    assert "".join(text for kind, text in pieces if kind != "removed") == after
    assert ("removed", "45") in pieces
