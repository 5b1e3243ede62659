"""What an action costs as stated or found, and what a look at it is worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.critical import Checkpoint, CheckpointKind
from console.expected_cost import action_cost, expected_cost
from console.trajectory import Step


def at(action, *observations):
    steps = tuple(Step("", "look", observation) for observation in observations)
    return Checkpoint("webshop", "buy", "", steps, len(steps), CheckpointKind.ACTION, action=action)


def test_the_price_on_the_last_page_is_what_a_purchase_costs():
    shown = at("click[Buy Now]", "Price: $12.00", "Kettle\nPrice: $1,024.50\n[Buy Now]", "You have clicked red.")
    assert action_cost(shown) == 1024.5


def test_an_amount_in_the_action_itself_counts_before_any_page():
    action = 'refund_order({"order": "W1", "payments": [{"amount": 20.5}, {"amount": 79}]})'
    assert action_cost(at(action, "price: $5")) == 79


def test_what_the_user_states_for_a_tool_counts_before_all():
    costs = {"refund_*": 15.0, "click[Buy Now]": 3.0, "*": 1.0}
    assert action_cost(at("click[Buy Now]", "Price: $12.00"), costs) == 3.0
    assert action_cost(at('refund_order({"amount": 200})'), costs) == 15.0
    assert action_cost(at("Finish[no]"), costs) == 1.0


def test_a_list_of_goods_tells_no_price_and_neither_does_silence():
    assert action_cost(at("click[Buy Now]", "Price: $12.00\nPrice: $13.00")) is None
    assert action_cost(at("Finish[no]", "Paris")) is None
    assert action_cost(at("")) is None


@given(st.floats(0, 1), st.floats(0, 1e6))
def test_the_expected_cost_is_the_product_and_never_more_than_the_cost(probability, cost):
    assert expected_cost(probability, cost) == pytest.approx(probability * cost)
    assert 0 <= expected_cost(probability, cost) <= cost


def test_an_unknown_half_leaves_the_whole_unknown():
    assert expected_cost(None, 3.0) is None
    assert expected_cost(0.3, None) is None
