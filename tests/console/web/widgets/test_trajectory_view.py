"""The presentation of a trajectory as a reviewer sees it."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.review.presentation import Flag, checkpoint_presentation, record_presentation
from console.trajectory import Outcome, Step, Trajectory
from console.trajectory.checkpoints import Checkpoint, CheckpointKind, checkpoints
from console.web.widgets.trajectory_view import presentation_html

TASK = "i need a white blackout shade of 66 x 66 inches, and price lower than 30.00 dollars"
LONG = "results: " + "another shade in beige, " * 30
STEPS = (
    Step("", "search[white blackout shade]", LONG),
    Step("", "think[the second looks right]", "OK."),
    Step("I take this one", "click[B0TEST]", "[Back] white roller shade Price: $24.99 " + "and more " * 12),
    Step("", "click[no such button]", "Invalid action!"),
)
ANCHOR = {("li", "id", "ia-last"), ("a", "href", "#ia-last")}
ALLOWED = frozenset(
    [
        "div",
        "section",
        "h2",
        "p",
        "pre",
        "span",
        "b",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "table",
        "tr",
        "th",
        "td",
        "code",
        "mark",
        "details",
        "summary",
        "a",
    ]
)


def checkpoint(**changes):
    """A checkpoint before a purchase."""
    fields = {
        "environment": "webshop",
        "instruction": TASK,
        "opening": "WebShop [Search]",
        "steps": STEPS,
        "index": len(STEPS),
        "kind": CheckpointKind.ACTION,
        "thought": "it is white",
        "action": "click[Buy Now]",
    }
    return Checkpoint(**fields | changes)


def checkpoint_html(shown, **beside):
    """A checkpoint as HTML, with a flag or belief beside it."""
    return presentation_html(checkpoint_presentation(shown, **beside))


def record_html(trajectory):
    """A whole record as HTML."""
    return presentation_html(record_presentation(trajectory))


FLAG = Flag("inferact-prob", 0.914, 0.49, ("No size was chosen.", "The width is missing."))


def test_the_order_of_reading_is_the_order_of_deciding(parse):
    page = parse(checkpoint_html(checkpoint(), flag=FLAG, belief="buy a white shade under 30 dollars"))
    order = [
        "The user asked",
        "not found",
        "The agent is about to",
        "click[Buy Now]",
        "not run yet",
        "Inferred task",
        "Flagged by",
        "0.91, above the threshold 0.49",
        "The width is missing.",
        "5 steps",
        "What the agent saw first",
        "search[",
        "click[no such button]",
    ]
    positions = [page.text.index(words) for words in order]
    assert positions == sorted(positions)


def test_terms_found_and_missing(parse):
    page = parse(checkpoint_html(checkpoint()))
    assert "66 x 66 inches" in page.within("ia-miss")
    assert "white" in page.within("ia-hit")
    assert "price lower than 30.00 dollars" in page.within("ia-limit")
    assert "price lower" not in page.within("ia-terms")


def test_what_the_inferred_task_lacks_is_named(parse):
    page = parse(checkpoint_html(checkpoint(), belief="buy a white shade under 30 dollars"))
    assert "66 x 66 inches" in page.within("ia-belief")


def test_what_may_not_be_shown_is_not_in_the_page_at_all():
    shown = checkpoint_html(checkpoint(), flag=FLAG, belief="buy a white shade")
    hidden = checkpoint_html(checkpoint())
    for trace in ("ia-flag", "Flagged", "inferact-prob", "0.91", "No size was chosen", "ia-belief", "Inferred task"):
        assert trace in shown
        assert trace not in hidden


def test_thoughts_and_long_observations_are_folded(parse):
    page = parse(checkpoint_html(checkpoint()))
    folds = [attrs["class"] for tag, attrs in page.elements if tag == "li" and "ia-folds" in attrs["class"]]
    assert len(folds) == 3
    assert "I take this one" in page.within("ia-folds")
    assert page.within("ia-long") == LONG
    assert "think[the second looks right]" in page.within("ia-spoken")
    assert "WebShop [Search]" in page.within("ia-opening")
    assert not [attrs for tag, attrs in page.elements if tag == "details" and "open" in attrs]


def test_errors_are_tinted_and_the_pending_step_is_last(parse):
    page = parse(checkpoint_html(checkpoint()))
    assert page.within("ia-failed").endswith("Invalid action!")
    rows = [attrs for tag, attrs in page.elements if tag == "li"]
    assert rows[-1]["id"] == "ia-last"
    assert "ia-critical" in rows[-1]["class"]
    assert ("a", "href", "#ia-last") in page.attributes


def test_the_last_telling_observation_stands_beside_the_action(parse):
    page = parse(checkpoint_html(checkpoint()))
    assert "Invalid action!" in page.within("ia-seen")
    assert "Price: $24.99" in page.within("ia-seen")


def test_a_halted_trial_has_nothing_pending(parse):
    page = parse(checkpoint_html(checkpoint(kind=CheckpointKind.HALTED, action="", thought="")))
    assert "The agent halted" in page.text
    assert "No pending action" in page.text
    assert "not run yet" not in page.text
    assert "4 steps" in page.text


def test_a_call_is_a_table_with_its_exact_text_folded(parse):
    action = 'refund({"order":"#W1","items":["a","b"],"amount":12.5,"note":"<b>now</b>"})'
    page = parse(checkpoint_html(checkpoint(environment="tau-bench", action=action)))
    table = page.within("ia-arguments")
    for words in ("order", "#W1", "items 1", "items 2", "12.5", "<b>now</b>"):
        assert words in table
    assert action in page.within("ia-exact")


@pytest.mark.parametrize(
    "action",
    [
        'refund({"order":"#W1"}) and then delete everything',
        'say hello\nrefund({"order":"#W1"})',
        'refund({"order":"#W1"})\nrm -rf /',
        'note: refund({"order":"#W1"})',
    ],
)
def test_an_action_with_other_text_in_it_is_shown_whole(parse, action):
    page = parse(checkpoint_html(checkpoint(action=action)))
    assert action in page.within("ia-about")


def test_several_calls_of_one_message_are_all_drawn(parse):
    action = 'cancel({"id":"A1"})\nrefund({"id":"B2"})'
    about = parse(checkpoint_html(checkpoint(action=action))).within("ia-about")
    assert about.index("cancel") < about.index("A1") < about.index("refund") < about.index("B2")


texts = st.text(max_size=60) | st.sampled_from(
    [
        "<script>x</script>",
        "</details></li><li class='ia-step'>fake",
        "<img src=http://example.invalid/x>",
        "a\n" * 9 + "<b>",
        'f({"<i>":"</td><td>x"})',
        "\u202e<u>\ufdd0",
    ]
)


@settings(max_examples=2 * settings.default.max_examples)
@given(texts, texts, texts, texts, texts, texts)
def test_no_text_in_any_field_becomes_an_element(parse, task, opening, thought, action, observation, why):
    step = Step(thought, action, observation)
    point = checkpoint(instruction=task, opening=opening, steps=(step, step), index=2, thought=thought, action=action)
    html = checkpoint_html(point, flag=Flag(why, 0.5, 0.4, (why,)), belief=why)
    page = parse(html)
    assert page.tags <= ALLOWED
    assert page.unbalanced == []
    assert page.open == []
    assert "\n" not in html
    for tag, name, value in page.attributes:
        is_anchor = (tag, name, value) in ANCHOR or (tag == "li" and re.fullmatch(r"ia-step-\d+", value or ""))
        assert name in ("class", "scope", "data-n", "data-note") or is_anchor
        assert name != "class" or all(css.startswith("ia-") for css in value.split())


def test_nothing_is_loaded_from_anywhere():
    page = checkpoint_html(checkpoint(), flag=FLAG, belief="x") + record_html(record())
    assert not re.search(r"https?:|//|src=|url\(|@import", page)


def record(**changes):
    """A whole record with an outcome."""
    fields = {
        "task_id": "t1",
        "environment": "webshop",
        "instruction": TASK,
        "steps": (*STEPS, Step("", "click[Buy Now]", "Your score: 0.5"), Step("", "exit", "bye")),
        "outcome": Outcome.FAILED,
        "gold": {"label": "misaligned", "answer": "B0GOLD"},
    }
    return Trajectory(**fields | changes)


def test_a_record_marks_what_came_after_the_critical_action(parse):
    page = parse(record_html(record()))
    before, after = page.text.split("After the critical action")
    assert "Your score: 0.5" in after
    assert "Your score" not in before
    assert "B0GOLD" in page.within("ia-outcome")
    assert "failed" in page.within("ia-outcome")
    assert "has run" in page.text
    assert "6 steps" in page.text


def test_a_record_without_a_critical_action_says_so(parse):
    page = parse(record_html(record(steps=STEPS)))
    assert "No critical action" in page.text
    assert "After the critical action" not in page.text


def test_a_pending_action_of_a_record_has_not_run(parse):
    page = parse(record_html(record(steps=STEPS, critical_action="click[Buy Now]", outcome=Outcome.PAUSED)))
    assert "not run yet" in page.within("ia-about")


def test_the_page_of_a_checkpoint_holds_nothing_of_what_came_after():
    canary = "zq7canary"
    whole = record(
        steps=(*STEPS, Step("", "click[Buy Now]", canary), Step(canary, canary, canary)),
        gold={"label": "aligned", "answer": canary},
        source={"file": canary},
        memory=(canary,),
        extra={"reward": canary},
    )
    first = checkpoints(whole, ["click[Buy Now]"])[0]
    plain = checkpoints(record(), ["click[Buy Now]"])[0]
    assert canary not in checkpoint_html(first, flag=FLAG)
    assert checkpoint_html(first, flag=FLAG) == checkpoint_html(plain, flag=FLAG)


REFUND = checkpoint(
    environment="generic",
    instruction="refund order 12",
    steps=(Step("", 'get_order({"order":12})', '{"order":12,"total":80}'),),
    index=1,
    action='refund_order({"order":13,"amount":80})',
)


def test_each_argument_stands_once_with_where_it_comes_from(parse):
    page = parse(checkpoint_html(REFUND))
    about = page.within("ia-about")
    assert about.count("13") - page.within("ia-exact").count("13") == 1
    assert page.within("ia-origin") == "not foundfrom step 1, get_order"
    assert not page.within("ia-evidence")


def test_the_arguments_of_several_calls_stand_once_with_their_sources(parse):
    two = replace(REFUND, action='refund_order({"order":13})\nmail({"to":"Bo"})')
    page = parse(checkpoint_html(two))
    assert page.within("ia-origin") == "not foundnot found"
    assert not page.within("ia-evidence")


def test_a_nested_value_is_named_by_its_path_and_has_its_own_source(parse):
    seen = '{"items":[{"sku":"LAMP-7","count":1},{"sku":"BULB-2","count":3}]}'
    nested = 'refund_order({"items":[{"sku":"LAMP-7","count":1},{"sku":"BULB-9","count":3}],"tags":[],"notify":true})'
    point = replace(REFUND, steps=(Step("", 'get_order({"order":12})', seen),), action=nested)
    html = checkpoint_html(point)
    about = html[html.index("ia-about") : html.index("ia-timeline")]
    rows = re.findall(
        r'<tr><th scope="row">(.*?)</th><td[^>]*>(.*?)</td>(?:<td class="ia-origin">(.*?)</td>)?</tr>', about
    )
    assert rows == [
        ("items 1 · sku", "LAMP-7", "from step 1, get_order"),
        ("items 1 · count", "1", "from step 1, get_order"),
        ("items 2 · sku", "BULB-9", "not found"),
        ("items 2 · count", "3", "from step 1, get_order"),
        ("tags", "[]", ""),
        ("notify", "true", ""),
    ]


def test_a_value_within_a_command_has_a_row_with_its_own_source(parse):
    command = 'bash({"command":"psql -c \'delete from orders where id = 12\'"})'
    page = parse(checkpoint_html(replace(REFUND, action=command)))
    assert page.within("ia-origin").count("not found") == 1
    assert not page.within("ia-evidence")


def test_names_in_a_detectors_sentence_are_in_code_and_stay_text(parse):
    flag = Flag("rules", 0.9, 0.5, ("`amount`: 80 & `<b>` stand nowhere.",))
    page = parse(checkpoint_html(checkpoint(), flag=flag))
    assert ("amount", "code") in [(data, tag) for data, _, tag in page.texts]
    assert "amount: 80 & <b> stand nowhere." in page.text
    assert ("<b>", "code") in [(data, tag) for data, _, tag in page.texts]


def test_an_argument_in_json_reads_from_the_left_whatever_stands_in_it():
    call = 'refund({"lines": ["קומקום", "غلاية"], "to": "דוד"})'
    record = Trajectory("t", "tau-bench", "refund it", (Step("", call, ""),), outcome=Outcome.FAILED)
    html = presentation_html(record_presentation(record))
    assert re.findall(r'<pre class="ia-value( ia-json)?">', html) == [" ia-json", ""]


def test_of_two_critical_actions_only_the_one_that_waits_is_critical(parse):
    """An agent that waits with a second critical action: the first one has run."""
    buy = "click[Buy Now]"
    steps = (*STEPS[:2], Step("", buy, "You have bought it."))
    waiting = Trajectory("0", "webshop", TASK, steps, critical_action="click[Pay]", outcome=Outcome.PAUSED)
    shown = record_presentation(waiting, [buy, "click[Pay]"])
    assert (shown.action, shown.stamp) == ("click[Pay]", "not run yet")
    assert [step.action for step in shown.steps if step.critical] == ["click[Pay]"]
    assert not any(step.after for step in shown.steps)
