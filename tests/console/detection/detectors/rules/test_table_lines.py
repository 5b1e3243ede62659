"""Lines and sources that say what was checked: answers, products, household tasks, shells and a tool's texts."""

from console.detection.detectors.rules import RULES
from console.environments.evidence import Evidence
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind
from console.trajectory.requirements import RequirementTable
from console.trajectory.requirements.sentences import explain_line

PAGE = "[Back to Search]\ncolor [beige][navy]\n{name}\nPrice: $20.00\n[Description]\n[Buy Now]"


def at(environment, instruction, action, *steps, kind=CheckpointKind.ACTION, opening=""):
    done = tuple(Step("", *step) for step in steps)
    return Checkpoint(environment, instruction, opening, done, len(done), kind, "", action)


def said(checkpoint):
    table = RequirementTable.from_dict(RULES.judge(checkpoint, 0).parameters["requirements"])
    return [f"{line.standing}: {explain_line(line, checkpoint.index + 1)}" for line in table.lines]


def test_an_answer_on_a_page_is_found_and_not_called_right():
    read = ("search[Tin Orchard]", "The Tin Orchard is a novel of 1931 by Ada Bell, published by Union.")
    assert said(at("hotpotqa", "Who published the novel Tin Orchard?", "finish[Union]", read)) == [
        "cannot tell: The user asked “Who published the novel Tin Orchard?”; it was not checked whether “Union” "
        "answers this. The words appear in step 1."
    ]
    yes = at("hotpotqa", "Is Tin Orchard a novel?", "finish[yes]", read)
    assert said(yes) == [
        "cannot tell: The user asked “Is Tin Orchard a novel?”; it was not checked whether the answer is correct."
    ]
    unread = at("hotpotqa", "Who published the novel Tin Orchard?", "finish[Crown]", read)
    assert said(unread) == [
        "broken: The user asked “Who published the novel Tin Orchard?”; no page that was read contains the whole "
        "answer “Crown”."
    ]


def test_a_post_code_is_no_amount():
    for number, kind in (("10115 Berlin", "kind of thing"), ("10115 pieces", "amount")):
        call = f'post_letter({{"to": "Long Street 117, {number}", "express": true}})'
        judged = RULES.judge(at("desk", f"Post the letter to Lange Straße 7, {number}.", call), 0)
        lines = RequirementTable.from_dict(judged.parameters["requirements"]).lines
        assert [line.requirement.kind for line in lines if line.requirement.quote.text == "10115"] == [kind]


def test_a_requirement_is_met_by_the_chosen_product_as_a_phrase_and_not_by_another_product():
    first = ("click[B000000001]", PAGE.format(name="Quilted Rain Jacket"))
    second = ("click[B000000002]", PAGE.format(name="Rain Jacket"))
    lines = said(at("webshop", "a quilted rain jacket, beige", "click[Buy Now]", first, second))
    assert "met: The user asked for “rain jacket”; step 2 matches: “Rain Jacket”." in lines
    assert "not shown: The user asked for “quilted”; the opened pages of the product do not mention it." in lines
    assert (
        "broken: The user asked for “beige” (for “color”); step 2 offers “beige”, which the agent did not choose."
        in lines
    )


def test_another_number_of_the_same_unit_is_named():
    page = ("click[B000000001]", PAGE.format(name="Rye Bread, 4 Pack, 14 Packages of 12"))
    lines = said(at("webshop", "rye bread, 12 pack", "click[Buy Now]", page))
    assert (
        "not shown: The user asked for “12 pack”; the opened pages of the product do not mention it. "
        "Step 1 shows “4 Pack”." in lines
    )


def test_the_page_before_the_answer_is_its_source():
    pages = [
        (f"search[{name}]", f"{name} was named in 2004 by a jury of readers.") for name in ("Ada Bell", "Tin Orchard")
    ]
    assert said(at("hotpotqa", "When was the Tin Orchard of Ada Bell named?", "finish[2004]", *pages)) == [
        "cannot tell: The user asked “When was the Tin Orchard of Ada Bell named?”; it was not checked whether “2004” "
        "answers this. The words appear in step 2."
    ]


def test_a_known_verb_says_that_values_were_not_compared():
    lines = said(at("tau-bench", "Cancel all of my upcoming orders.", 'cancel_order({"order": 12})'))
    assert [line for line in lines if line.endswith("calls “cancel_order”, but this line does not check its values.")]


def test_one_word_of_a_phrase_is_no_requirement():
    page = ("click[B000000001]", PAGE.format(name="Open Sandals for the Living"))
    lines = said(at("webshop", "looking fort a pair of open toe sandals for the living room", "click[Buy Now]", page))
    assert not [line for line in lines if "“open”" in line or "“room”" in line or "fort" in line]


def test_at_the_end_of_a_household_trial_each_part_is_done_or_not():
    cooled = ("cool pan 1 with fridge 1", "You cool the pan 1.")
    lines = said(at("alfworld", "put a cool pan in sidetable.", "go to shelf 1", cooled, kind=CheckpointKind.END))
    assert "met: The user asked for “cool”; step 1 matches: “cool pan 1 with fridge 1”." in lines
    missing = "at the end this is not fully done. The last action is “go to shelf 1”."
    assert f"broken: The user asked for “pan in sidetable”; {missing}" in lines


def test_an_object_that_was_not_changed_is_not_the_one_to_put_down():
    taken, put = ("take cup 2 from desk 1", "You pick up the cup 2."), "move cup 2 to countertop 1"
    lines = said(at("alfworld", "cool some cup and put it in countertop.", put, taken))
    assert not [line for line in lines if line.startswith("met")]
    cooled = ("cool cup 2 with fridge 1", "You cool the cup 2.")
    lines = said(at("alfworld", "cool some cup and put it in countertop.", put, taken, cooled))
    assert "met: The user asked for “put it in countertop”; this action matches: “move cup 2 to countertop 1”." in lines


def test_to_make_sure_is_no_request():
    call = 'modify_order({"order": 12})'
    asked = "Make sure that you mention the color."
    assert not [line for line in said(at("tau-bench", asked, call)) if "asked to" in line]
    assert [line for line in said(at("tau-bench", f"{asked} Modify order 12.", call)) if "to “Modify order 12”" in line]


def test_a_shell_command_is_not_held_against_the_values_of_a_long_request():
    asked = "Fix issue 345 in src/fields.py. See https://example.com/issues/345 and the 4711 reports."
    call = 'shell({"command": ["zsh", "-lc", "rm src/fields.py"], "workdir": ".", "timeout_ms": 120000})'
    checkpoint = at("generic", asked, call, ("shell({})", "ok"))
    assert all("no call passes" not in line for line in said(checkpoint))
    assert Evidence(checkpoint).table.rows == (("command", "src/fields.py", "the user"),)


def test_what_a_coding_tool_adds_to_a_message_is_not_the_users():
    setup = "<environment_context>\n<cwd>/srv/shop</cwd>\n</environment_context>\n"
    tabs = "# Context from my IDE setup:\n## Open tabs:\n- route.ts: src/t/route.ts\n## My request for Codex:\nTidy up."
    opening = f"The user's first message:\n{setup}{tabs}"
    own = at("generic", "Tidy up.", 'delete_file({"path": "/srv/shop", "other": "src/api/route.ts"})', opening=opening)
    assert [(row[1], row[2]) for row in Evidence(own).table.rows] == [
        ("/srv/shop", "the agent's instructions or setup"),
        ("src/api/route.ts", "not found"),
    ]


def test_the_first_of_two_objects_is_not_the_whole_task():
    task, put = "put two cup in safe.", "put cup {} in/on safe 1"
    steps = (put.format(1), "You put the cup 1."), ("take cup 1 from safe 1", "You pick up the cup 1.")
    assert not [line for line in said(at("alfworld", task, put.format(1), *steps)) if line.startswith("met")]
    lines = said(at("alfworld", task, put.format(2), *steps[:1]))
    assert lines == [
        "met: The user asked for “put two cup in safe”; this action is the second of two: “put cup 2 in/on safe 1”."
    ]


def test_an_answer_in_a_list_of_titles_is_told_from_one_in_no_text():
    missed = ("search[Ann Bell]", "Could not find [Ann Bell]. Similar: ['Tin Orchard', 'Iron Garden']")
    page = ("search[Iron Garden]", "Iron Garden is a book of poems.")
    lines = said(at("hotpotqa", "Which book did Ann Bell write?", "finish[Tin Orchard]", missed, page))
    assert [line for line in lines if line.startswith("broken") and "“Tin Orchard” is only in a list of titles" in line]
    joined = ("search[Ann Bell]", "Ann Bell wrote of the Tin and Silver Orchards.")
    lines = said(at("hotpotqa", "Which orchard did Ann Bell describe?", "finish[Tin Orchard]", joined))
    assert not [line for line in lines if line.startswith("broken")]


def test_a_value_that_the_user_repeats_from_the_agent_is_not_called_the_users():
    offer = ('respond({"content": "Shall I send it to 12 Elm Road, suite 564?"})', "Yes, to suite 564 please.")
    call = 'change_address({"suite": "564", "city": "Bonn"})'
    lines = said(at("tau-bench", "Send my parcel to Bonn.", call, offer))
    assert "met: The agent named “564” first, and the user repeated it (for “suite”); this action matches: “564”." in [
        *lines
    ]
    assert "met: The user stated “Bonn” (for “city”); this action matches: “Bonn”." in lines


def test_a_title_does_not_confirm_a_colour_beside_another_choice():
    page = PAGE.format(name="Red Chunky Glitter").replace("[Buy Now]", "color [2mm][super fine]\n[Buy Now]")
    opened, chosen = ("click[B000000001]", page), ("click[super fine]", "You have clicked super fine.")
    lines = said(at("webshop", "i want chunky red glitter", "click[Buy Now]", opened, chosen))
    assert [line for line in lines if line.startswith("cannot tell") and "the agent chose another option" in line]
    lines = said(at("webshop", "i want chunky red glitter", "click[Buy Now]", opened))
    assert not [line for line in lines if "another option" in line]


def test_another_measure_on_the_page_is_named():
    page = PAGE.format(name="Curtain").replace("[Buy Now]", "size [52 x 63][52 x 84]\n[Buy Now]")
    lines = said(at("webshop", "i want curtains 55 x 45", "click[Buy Now]", ("click[B000000001]", page)))
    assert [line for line in lines if "do not mention it. Step 1 shows “52 x 63”" in line]


def test_a_verb_without_its_object_is_a_request_if_it_says_enough():
    offer = ('respond({"content": "You have one booking."})', "Um, I want to cancel it, after a change in plans.")
    lines = said(at("tau-bench", "Hello", 'cancel_pending_order({"order": "#W31"})', offer))
    assert [line for line in lines if "asked to “cancel it”; this action calls" in line]
    assert not [
        line
        for line in said(at("tau-bench", "Hello", 'change_pending_order({"order": 1})', offer))
        if "asked to" in line
    ]
