"""Which tools are proposed as critical, in which order and why."""

from hypothesis import given
from hypothesis import strategies as st

from console.runs.critical_suggestions import suggest
from console.trajectory.checkpoints import is_critical


def patterns(actions, known=()):
    return [found.pattern for found in suggest(actions, known)]


def test_tools_that_write_are_proposed_and_tools_that_read_are_not():
    tools = ["get_order", "list_users", "searchFlights", "think", "respond", "calculate", "order_status", "find_refund"]
    assert patterns([(tool, 5) for tool in tools]) == []
    assert set(patterns([("cancel_order", 1), ("sendEmail", 1), ("deploy", 1), ("get_order", 9)])) == {
        "cancel_order",
        "sendEmail",
        "deploy",
    }


def test_the_gravest_come_first_and_within_those_the_most_frequent():
    found = patterns(
        [("update_name", 90), ("pay_bill", 1), ("refund_order", 7), ("delete_file", 50), ("transfer_to_human", 99)]
    )
    assert found == ["refund_order", "pay_bill", "delete_file", "update_name", "transfer_to_human"]


def test_calls_of_one_tool_are_counted_together_and_explained():
    (found,) = suggest([('refund({"id": 1})', 2), ('look({})\nrefund({"id": 2})', 3)])
    assert (found.pattern, found.count) == ("refund", 5)
    assert "refund" in found.why
    assert "money" in found.why


def test_what_the_run_already_stops_is_left_out():
    actions = [("click[Buy Now]", 4), ('refund({"id": 1})', 2), ("delete_file", 1)]
    assert patterns(actions, ["click[Buy Now]", "ref*"]) == ["delete_file"]


def test_a_button_is_proposed_by_its_label():
    assert patterns([("click[Buy Now]", 1), ("click[red]", 9), ("click[Back to Search]", 9)]) == ["click[Buy Now]"]


@given(st.lists(st.tuples(st.text(max_size=60), st.integers(1, 9)), max_size=8))
def test_every_proposal_matches_an_action_that_was_given(actions):
    for found in suggest(actions):
        assert any(is_critical(action, [found.pattern]) for action, _ in actions)


def test_the_tools_of_a_real_service_desk(shared_data):
    from console.environments import environment
    from console.runs.importers import read_log
    from console.runs.importers.records import Found

    entries = read_log(shared_data("tau-bench/gpt-4o-airline.even.json"))[1]
    actions = [(step.action, 1) for entry in entries if isinstance(entry, Found) for step in entry.trajectory.steps]
    proposed = patterns(actions)
    stops = environment("tau-bench").critical
    assert {name for name in proposed if name not in stops} == {"transfer_to_human_agents"}
    assert patterns(actions, stops) == ["transfer_to_human_agents"]
