"""The options of a run, as databases hold them."""

from dataclasses import replace

import orjson
import pytest

from console.errors import BadInput
from console.review.blinding import Visibility, get_visibility
from console.runs import RunOptions, run_options
from storage import tables


def run(text):
    return tables.Run(name="first", kind="live", environment="webshop", options=text, created_ms=1)


VIEW = {"score": "shown", "explanation": "hidden", "brief": "target", "detector": "hidden"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("{}", RunOptions()),
        ("", RunOptions()),
        ('{"budget_frozen":true}', RunOptions(budget_frozen=True)),
        ('{"costs":{"refund_*":50.0,"Buy":"price"}}', RunOptions(costs={"refund_*": 50.0, "Buy": "price"})),
        ('{"costs":{}}', RunOptions()),
        (
            '{"view":{"score":"shown","explanation":"hidden","brief":"target","detector":"hidden"},"playing":true}',
            RunOptions(view=VIEW, playing=True),
        ),
        ('{"view":{"score":"shown"},"budget_frozen":true}', RunOptions(view={"score": "shown"}, budget_frozen=True)),
        ('{"view":{}}', RunOptions()),
    ],
)
def test_texts_of_earlier_databases_read_the_same(text, options):
    assert run_options(run(text)) == options
    assert run_options(run(options.to_json())) == options


def test_what_is_written_has_the_keys_of_earlier_databases_and_nothing_at_its_default():
    assert RunOptions().to_json() == "{}"
    assert RunOptions(view=VIEW, playing=True).to_json() == orjson.dumps({"view": VIEW, "playing": True}).decode()
    assert orjson.loads(RunOptions(costs={"a": 3.0}, budget_frozen=True).to_json()) == {
        "costs": {"a": 3.0},
        "budget_frozen": True,
    }


def test_a_key_that_nobody_knows_is_kept_through_a_change():
    changed = replace(run_options(run('{"playing":true,"newer":{"a":[1]}}')), playing=False)
    assert orjson.loads(changed.to_json()) == {"newer": {"a": [1]}}


@pytest.mark.parametrize("text", ['{"view":"hidden"}', '{"costs":3}', '{"playing":"no"}'])
def test_a_known_key_that_holds_something_else_is_refused_in_a_sentence(text):
    with pytest.raises(BadInput, match="of run 'first' is"):
        run_options(run(text))


def test_the_view_decides_what_a_page_shows():
    assert get_visibility(run("{}")) == Visibility()
    assert get_visibility(run(RunOptions(view=VIEW).to_json())) == Visibility(
        explanation=False, detector=False, brief=True
    )
