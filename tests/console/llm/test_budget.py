"""Prices, costs, and the cap that is checked before each call."""

import pytest

from console.errors import BadInput
from console.llm import Usage
from console.llm.budget import Price, find_price, load_prices
from console.llm.errors import SpendingCapReached
from tests.fakes.answers import Answer, Fault
from tests.fakes.endpoint import serving
from tests.fakes.judges import in_turn

DEAR = {"test": Price(input=1_000_000.0, output=1_000_000.0)}
"""A dollar a token."""


def test_a_call_costs_what_its_tokens_cost(ask):
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}
    prices = {"test": Price(input=2.0, output=8.0, cached_input=0.5)}
    with serving(lambda ask: Answer(["ok"], usage=usage)) as endpoint:
        [reply], llm = ask(endpoint, "q", client={"prices": prices})
    assert reply.cost_usd == pytest.approx((4 * 2 + 6 * 0.5 + 4 * 8) / 1e6)
    assert llm.spent_usd == pytest.approx(reply.cost_usd)
    assert llm.tally.cost_usd == pytest.approx(reply.cost_usd)


def test_the_cap_refuses_before_anything_is_sent(ask):
    with serving("ok") as endpoint:
        [failure], _ = ask(endpoint, "q", max_tokens=10, client={"prices": DEAR, "spending_cap_usd": 5.0})
        assert endpoint.requests == 0
    assert isinstance(failure, SpendingCapReached)
    assert "5 USD" in str(failure)


def test_calls_side_by_side_do_not_pass_the_cap_together(ask):
    questions = [f"question {i}" for i in range(10)]
    with serving("ok", latency_s=0.05) as endpoint:
        results, llm = ask(endpoint, *questions, max_tokens=10, client={"prices": DEAR, "spending_cap_usd": 70.0})
        assert 1 <= endpoint.requests < 10
    assert llm.spent_usd <= 70.0
    assert {type(result) for result in results if isinstance(result, Exception)} == {SpendingCapReached}


def test_an_account_remembers_what_an_earlier_process_spent(ask, tmp_path):
    client = {"prices": DEAR, "spending_cap_usd": 40.0, "cache_dir": tmp_path, "account": "run-1"}
    with serving(lambda ask: Answer(["ok"], usage={"prompt_tokens": 30, "completion_tokens": 1})) as endpoint:
        [reply], _ = ask(endpoint, "q", max_tokens=5, client=client)
        [cached], _ = ask(endpoint, "q", max_tokens=5, client=client)
        [refused], llm = ask(endpoint, "r", max_tokens=5, client=client)
        [other], _ = ask(endpoint, "r", max_tokens=5, client=client | {"account": "run-2"})
    assert reply.cost_usd == 31.0
    assert cached.cached
    assert isinstance(refused, SpendingCapReached)
    assert llm.spent_usd == 31.0
    assert other.text == "ok"


def test_a_failed_call_is_charged_nothing(ask):
    with serving(in_turn(Fault("500"))) as endpoint:
        _, llm = ask(endpoint, "q", client={"prices": DEAR, "retries": 0})
    assert llm.spent_usd == 0


def test_a_cap_without_a_price_is_refused_with_what_to_do(ask):
    with serving("ok") as endpoint:
        [failure], _ = ask(endpoint, "q", client={"spending_cap_usd": 1.0})
        assert endpoint.requests == 0
    assert isinstance(failure, SpendingCapReached)
    assert "prices.toml" in str(failure)


def test_the_users_prices_go_before_the_packaged_ones(tmp_path):
    own = tmp_path / "prices.toml"
    own.write_text('["my-model"]\ninput = 1\noutput = 2\n["gpt-4o"]\ninput = 9\noutput = 9\n')
    prices = load_prices(own)
    assert prices["my-model"] == Price(1, 2)
    assert prices["gpt-4o"] == Price(9, 9)
    assert "gpt-4o-mini" in prices
    assert load_prices(tmp_path / "none.toml") == load_prices()


@pytest.mark.parametrize(
    "text",
    ["[a", '["m"]\ninput = 1\n', '["m"]\ninput = -1\noutput = 1\n', '["m"]\ninput = "1"\noutput = 1\n', "m = 3\n"],
)
def test_a_bad_price_is_told_with_its_file(tmp_path, text):
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(BadInput, match=r"prices\.toml"):
        load_prices(own)


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gpt-4o", True),
        ("gpt-4o-2024-11-20", True),
        ("openai/gpt-4o", True),
        ("gpt-4o-realtime", False),
        ("llama-3-70b", False),
    ],
)
def test_a_price_is_found_by_name_and_date_but_never_guessed(model, known):
    found = find_price(load_prices(), model)
    assert (found == load_prices()["gpt-4o"]) if known else found is None


def test_cached_tokens_cost_as_others_where_nothing_else_is_said():
    assert Price(2.0, 0.0).cost_usd(Usage(1_000_000, 0, 500_000)) == 2.0
