"""Where an argument's value comes from: the user, a tool's result, the agent's instructions, or not found."""

from __future__ import annotations

import pytest

from console.environments.evidence import Evidence
from console.environments.tool_use import is_telling
from console.trajectory import Step, Trajectory, call_action
from console.trajectory.checkpoints import CheckpointKind, checkpoint_at
from console.trajectory.provenance import Argument, Source

USER, TOOL, AGENT = Source.USER, Source.TOOL, Source.AGENT


def traced(request: str, tool: str, arguments: dict[str, object], *steps: Step) -> dict[tuple[str, str], Argument]:
    """The arguments of the pending call by name and value."""
    asked = Trajectory("1", "generic", request, steps, critical_action=call_action(tool, arguments))
    (call,) = Evidence(checkpoint_at(asked, len(steps), CheckpointKind.ACTION)).pending_calls
    return {(one.name, one.value): one for one in call.arguments}


def source(request: str, name: str, value: object, *steps: Step) -> Source:
    """The source of the one argument of a booking."""
    return next(iter(traced(request, "book_it", {name: value}, *steps).values())).source


@pytest.mark.parametrize(
    "written", ["2026-03-04", "March 4, 2026", "4.3.26", "4. März 2026", "2026年3月4日", "3/4/2026"]
)
@pytest.mark.parametrize("passed", ["2026-03-04", "04.03.2026", "March 4 2026", "4 mars 2026", "2026-03-04T00:00:00"])
def test_a_date_is_the_same_in_every_writing(written: str, passed: str) -> None:
    assert source(f"Please book the room for {written}, thanks.", "day", passed) is USER
    assert source(f"Please book the room for {written}, thanks.", "day", "2026-07-09") is AGENT


def test_a_date_of_two_readings_agrees_with_either() -> None:
    assert source("Book it for 4/3/2026.", "day", "2026-03-04") is USER
    assert source("Book it for 4/3/2026.", "day", "2026-04-03") is USER


@pytest.mark.parametrize(
    ("written", "passed"),
    [
        ("1,250.50 dollars", 1250.5),
        ("1.250,50 €", 1250.5),
        ("1 250,50 zł", 1250.5),
        ("CHF 1'250.50", 1250.5),
        ("€1.250", 1250),
        ("30,000円", 30000),
        ("$1,250", "$1250"),
    ],
)
def test_an_amount_is_the_same_with_any_marks(written: str, passed: float | str) -> None:
    assert source(f"Send {written} to my landlord", "amount", passed) is USER
    assert source(f"Send {written} to my landlord", "amount", 7777) is AGENT


_DETAILS = Step("", 'get_user_details({"id": "u1"})', '{"name": "Ann", "payment": {"last": 2}, "rooms": 10, "bags": 3}')


def test_a_small_number_counts_only_where_its_thing_is_named() -> None:
    assert source("Add my bags, please.", "total_baggages", 2, _DETAILS) is AGENT
    assert source("Add my bags, please.", "bags", 3, _DETAILS) is TOOL
    assert source("I have two bags to add.", "total_bags", 2, _DETAILS) is USER
    stock = Step("", 'get_product({"id": "p1"})', '{"name": "cable", "stock": 10, "price": 4.5}')
    assert source("Order one cable, please.", "quantity", 10, stock) is AGENT
    assert source("Order one cable, please.", "quantity", 1, stock) is USER
    assert source("Buche 3 Nächte.", "nights", 3) is USER
    assert source("Remind me on 2026/11/02.", "due", "2026-11-02") is USER
    assert source("1. No insurance.\n2. Use my card, and add what is left to the other one.", "nights", 1) is AGENT
    other = Step("", 'get_trip({"id": "T7"})', '{"trip_id": "T7", "bags": 0}')
    assert source("Book another trip for me.", "bags", 0, other) is AGENT
    assert source("Is ann_lee_3 my name?", "name", "Ann", _DETAILS) is TOOL


def test_yes_and_no_belong_to_what_they_are_said_of() -> None:
    assert source("Book it without travel insurance, no extras.", "insurance", "no") is USER
    assert source("I have no time, book it.", "insurance", "no") is AGENT
    plan = Step("", 'get_plan({"id": "u1"})', '{"auto_renew": true}')
    assert source("Book it again.", "auto_renew", True, plan) is TOOL
    assert source("Book it again, but not refundable.", "refundable", False) is USER
    assert source("Book it again.", "permanent", True) is AGENT
    assert source("Send it, but do not use express delivery.", "express", True) is AGENT
    assert source("Not by train. Send it by express.", "express", True) is USER
    assert source("Do not use express delivery.", "express", False) is USER


def test_values_in_sql_and_in_commands_are_traced() -> None:
    request = "Set the email of user 9120 to kim@lake.example."
    sql = "UPDATE users SET email = 'kim@lake.example' WHERE id = 9120 AND team = 'blue'"
    found = {value: one.source for (_, value), one in traced(request, "execute_sql", {"sql": sql}).items()}
    assert {"kim@lake.example": USER, "9120": USER, "blue": AGENT}.items() <= found.items()
    shell = {"command": "cp /srv/a/report.txt /srv/b/"}
    found = {value: one.source for (_, value), one in traced("Copy report.txt somewhere.", "bash", shell).items()}
    assert {"/srv/a/report.txt": USER, "/srv/b/": AGENT}.items() <= found.items()


def test_a_path_is_named_by_its_last_part_and_by_what_the_agent_read() -> None:
    assert source("Fix the bug in utils.py.", "file_path", "/repo/utils.py") is USER
    assert source("Fix the bug in /old/utils.py.", "file_path", "/repo/utils.py") is AGENT
    read = Step("", 'read_file({"path": "/repo/core/io.py"})', "def load(): ...")
    assert source("Fix the bug.", "file_path", "/repo/core/io.py", read) is TOOL
    failed = Step("", 'read_file({"path": "/repo/core/io.py"})', "Error: no such file")
    assert source("Fix the bug.", "file_path", "/repo/core/io.py", failed) is AGENT


def test_a_word_is_the_same_with_hyphens_blanks_and_underscores() -> None:
    assert source("A round-trip to Oslo, please.", "flight_type", "round_trip") is USER
    assert source("Fly one way to Oslo, please.", "flight_type", "one_way") is USER


def test_a_value_that_texts_say_in_words_is_not_called_missing() -> None:
    action = call_action("grant_access", {"guest": "amy01", "permanent": True, "bags": 0})
    asked = Trajectory("1", "generic", "Let Ann in.", critical_action=action)
    call = Evidence(checkpoint_at(asked, 0, CheckpointKind.ACTION)).pending_calls[0]
    told = {one.name: is_telling(one, call) for one in call.arguments}
    assert told == {"guest": True, "permanent": False, "bags": False}


def test_a_value_of_several_results_comes_from_the_one_that_has_the_values_beside_it() -> None:
    other = Step(
        "", 'get_trip({"id": "QKRY03"})', '{"id": "QKRY03", "from": "MIA", "flight": "HAT265", "on": "2026-05-24"}'
    )
    own = Step(
        "", 'get_trip({"id": "FQ8APE"})', '{"id": "FQ8APE", "name": "Mia Kim", "flight": "HAT139", "on": "2026-05-24"}'
    )
    failed = Step("", 'move_trip({"id": "FQ8APE"})', "Error: HAT139 of Mia Kim on 2026-05-24 is full")
    passed: dict[str, object] = {
        "id": "FQ8APE",
        "flights": [{"flight": "HAT139", "on": "2026-05-24"}],
        "people": [{"first": "Mia", "last": "Kim"}],
    }
    found = traced("Move my trip by a day, please.", "move_trip", passed, failed, other, own)
    assert [found[one].step for one in (("on", "2026-05-24"), ("first", "Mia"))] == [3, 3]
    assert found["flight", "HAT139"].step == 1


def test_a_digit_of_the_request_is_not_the_number_of_a_thing_that_the_user_names_without_it() -> None:
    assert source("2 people fly with 3 bags.", "free_bags", 2) is AGENT
    assert source("Das sind 2 Personen.", "passengers", 2) is USER
