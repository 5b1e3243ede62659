"""An edit reaches the agent only as an action that it can run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import BadInput
from console.review.edits import OtherTool, check_edit, check_tool_schema

PENDING = 'refund_order({"amount":45,"order":12})'
SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "number", "maximum": 100}, "order": {"type": "integer"}},
    "required": ["order"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        ('refund_order({"amount":45,"order":', "line 1, column 35"),
        ("please just give 30 euro, thanks", "line 1, column 1"),
        ("drop_database(...)", "line 1, column 15"),
        ('refund_order({"amount":45,\n"order":12', "line 2, column 11"),
        ('refund_order({"amount":45,"order":12}', "line 1, column 38"),
        ('refund_order({"amount":45,"order":12}) thanks', "line 1, column 39"),
        ('refund_order({"amount":NaN,"order":12})', "line 1, column 14"),
        ('refund_order({"amount":1,"amount":45,"order":12})', "line 1, column 14"),
        ("refund_order[12]", "line 1, column 1"),
        ("refund_order([45, 12])", "line 1, column 14"),
        # Python 3.13 parses deeper, up to the value that is missing.
        ("refund_order(" + '{"amount":' * 5000 + ")", "line 1, column (500)?14"),
    ],
)
def test_what_is_no_call_is_refused_with_its_place(edit, place):
    with pytest.raises(BadInput, match=place) as refusal:
        check_edit(edit, PENDING, allow_other_tool=True)
    assert str(refusal.value).count("\n") == 0


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ('refund_order({"amount":"45","order":12})', "'amount' is text in the edit, but a number"),
        ('refund_order({"amount":true,"order":12})', "'amount' is true or false in the edit"),
        ('refund_order({"amount":45})', "lacks the argument 'order' of refund_order"),
        ('refund_order({"amount":45,"order":12,"to":"me"})', "no argument 'to'"),
        (
            'refund_order({"amount":45,"order":12})\nrefund_order({"amount":45,"order":12})',
            "Calls in the edit: 2, pending calls: 1",
        ),
    ],
)
def test_arguments_keep_their_names_and_types(edit, why):
    with pytest.raises(BadInput, match=why):
        check_edit(edit, PENDING)


def test_another_value_of_the_same_type_may_run():
    check_edit('refund_order({"order": 12, "amount": 30.5})', PENDING)


def test_another_tool_has_to_be_confirmed_and_must_still_be_a_call():
    other = 'drop_database({"name":"all"})'
    with pytest.raises(OtherTool, match="drop_database is not the tool of the pending call, refund_order"):
        check_edit(other, PENDING)
    check_edit(other, PENDING, allow_other_tool=True)


@pytest.mark.parametrize(
    ("edit", "refusal"),
    [
        ('refund_order({"order":12})', None),
        ('refund_order({"amount":45})', "'order' is a required property"),
        ('refund_order({"order":12,"amount":101})', "at amount: 101 is greater than the maximum"),
        ('refund_order({"order":12,"to":"me"})', "'to' was unexpected"),
    ],
)
def test_a_schema_of_the_tool_decides_where_the_check_sent_one(edit, refusal):
    if refusal is None:
        check_edit(edit, PENDING, tool_schema=SCHEMA)
        return
    with pytest.raises(BadInput, match=refusal):
        check_edit(edit, PENDING, tool_schema=SCHEMA)


def test_a_schema_is_never_fetched():
    with pytest.raises(BadInput, match="cannot be checked"):
        check_edit('refund_order({"order":1})', PENDING, tool_schema={"$ref": "http://127.0.0.1:9/schema.json"})


@pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"required": 3}, "text", ["order"]])
def test_what_is_no_schema_is_refused_when_it_is_sent(schema):
    with pytest.raises(BadInput, match="not a valid JSON schema"):
        check_tool_schema(schema)


@pytest.mark.parametrize(
    ("environment", "pending", "edit", "fate"),
    [
        ("webshop", "click[Buy Now]", "click[66 x 66]", None),
        ("webshop", "click[Buy Now]", "search[66 x 66]", None),
        ("webshop", "click[Buy Now]", "drop_database[all]", OtherTool),
        ("webshop", "click[Buy Now]", "buy the other one", BadInput),
        ("webshop", "click[Buy Now]", "click[66 x 66", BadInput),
        ("hotpotqa", "Finish[1912]", "Lookup[year]", None),
        ("generic", "pay[3]", "pay[4]", None),
        ("generic", "pay[3]", "search[bills]", OtherTool),
        ("generic", "pay(bill=3)", "pay(bill=4)", None),
        ("generic", "pay(bill=3)", "pay(bill='x')", BadInput),
        ("generic", "pay(bill=3)", "pay(bill=", BadInput),
        ("generic", "pay(bill=3)", "pay(bill=os.remove('x'))", BadInput),
        ("generic", "pay(bill=3)", "drop_database(...)", BadInput),
        ("generic", "pay(bill=3)", "drop_database()", OtherTool),
        ("generic", "put the apple in the fridge", "heat the apple with the microwave", None),
        ("generic", "put the apple in the fridge", "drop_database(...)", OtherTool),
    ],
)
def test_each_form_of_action_keeps_its_form(environment, pending, edit, fate):
    if fate is None:
        check_edit(edit, pending, environment_name=environment)
        return
    with pytest.raises(fate):
        check_edit(edit, pending, environment_name=environment)


@given(edit=st.text())
def test_no_text_at_all_passes_for_a_call_but_the_same_call(edit):
    with pytest.raises((BadInput, OtherTool)):
        check_edit(edit, PENDING)


@given(amount=st.integers() | st.floats(allow_nan=False, allow_infinity=False), order=st.integers())
def test_every_pair_of_numbers_may_be_written(amount, order):
    check_edit(f'refund_order({{"amount": {amount!r}, "order": {order}}})', PENDING)


DOUBLING = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"note": {"pattern": "(a+)+$"}}}, "does not match"),
        ({"$ref": "#/$defs/d0", "$defs": DOUBLING}, "do not end within 1,000 steps"),
        ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, "cannot be checked against the schema"),
        ({"$ref": "http://127.0.0.1:1/schema"}, "cannot be checked against the schema"),
    ],
)
def test_agents_schema_cannot_keep_a_reviewer_waiting(schema, said):
    check_tool_schema(schema)
    with pytest.raises(BadInput, match=said):
        check_edit('pay({"note":"' + "a" * 60 + '!"})', 'pay({"note":"x"})', tool_schema=schema)


def test_pattern_of_a_schema_is_checked():
    schema = {"properties": {"code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}, "pattern": {"type": "integer"}}}
    check_tool_schema(schema)
    check_edit('pay({"code":"AB12"})', 'pay({"code":"CD1"})', tool_schema=schema)
    with pytest.raises(BadInput, match="at code"):
        check_edit('pay({"code":"12"})', 'pay({"code":"CD1"})', tool_schema=schema)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"patternProperties": {"^(a+)+$": {}}}, "Name the properties"),
        ({"properties": {"a": {"pattern": "(?!x)"}}}, "unsupported regular expression"),
        (json.loads('{"properties":{"a":' * 400 + "{}" + "}}" * 400), "nested too deeply"),
    ],
)
def test_schema_that_no_edit_could_be_checked_against_is_refused(schema, said):
    with pytest.raises(BadInput, match=said):
        check_tool_schema(schema)


def test_number_that_is_none_is_no_edit():
    with pytest.raises(BadInput, match="1e999 is not a JSON number"):
        check_edit('pay({"amount":1e999})', 'pay({"amount":1})')
