"""Records that a call takes from a list: which one the user's last words mean, and which choice nobody checked."""

from __future__ import annotations

import json

import pytest

from console.detection.detectors.rules import RULES
from console.trajectory import Step
from console.trajectory.checkpoints import Checkpoint, CheckpointKind

PLANS = {
    "plans": [
        {"id": "p_1", "name": "Harbour Radio"},
        {"id": "p_2", "name": "Filmhaus"},
        {"id": "p_3", "name": "Filmhaus Mini"},
    ]
}
FARES = {
    "fares": [
        {"fare": "Q71", "leaves": "06:10"},
        {"fare": "Q72", "leaves": "11:45"},
        {"fare": "Q73", "leaves": "17:20", "platform": "9"},
    ]
}
CARDS = {"methods": {"card_88": "Mastercard ending 4410", "gift_12": "voucher"}}


def judge(asked, *steps, action):
    made = tuple(Step("", written, json.dumps(seen) if isinstance(seen, dict) else seen) for written, seen in steps)
    seen = Checkpoint("generic", asked, "", made, len(made), CheckpointKind.ACTION, "", action)
    return RULES.judge(seen, 0)


def say(text):
    return f"respond({json.dumps({'content': text}, ensure_ascii=False)})"


def cancel(plan, reply, asked="Please cancel Harbour Radio and Filmhaus."):
    offer = say("I will cancel Harbour Radio and Filmhaus. Filmhaus Mini, too?")
    return judge(
        asked, ("list_plans({})", PLANS), (offer, reply), action=f'cancel_subscription({{"plan_id": "{plan}"}})'
    )


@pytest.mark.parametrize("reply", ["Wait, don't touch Harbour Radio, and Mini stays.", "Harbour Radio stays as it is."])
def test_the_last_word_of_the_user_on_a_record_counts(reply):
    verdict = cancel("p_1", reply)
    assert verdict.score > RULES.threshold
    assert verdict.rationale.startswith('The user excluded "Harbour", which describes `plan_id`: p_1 in step 1.')
    assert cancel("p_2", reply).score <= RULES.threshold


def test_a_thing_that_the_user_asked_for_after_all_is_not_excluded():
    verdict = cancel("p_1", "Yes, Harbour Radio as well.", asked="Cancel Filmhaus, but not Harbour Radio.")
    assert verdict.score <= RULES.threshold


def test_the_argument_of_a_subscription_is_a_record_and_no_wording():
    verdict = judge(
        "Cancel my plans, but don't touch Harbour Radio.",
        ("list_plans({})", PLANS),
        action='cancel_plan({"subscription_id": "p_1"})',
    )
    assert verdict.score > RULES.threshold


def book(fare, reply, offer="There are 06:10, 11:45 and 17:20."):
    steps = (("search_fares({})", FARES), (say(offer), reply))
    return judge("Book me a train to Leeds.", *steps, action=f'book_fare({{"fare": "{fare}"}})')


def test_a_choice_that_no_word_of_the_user_names_is_called_unchecked():
    verdict = book("Q73", "The cheaper one of the last two.")
    told = "Not checked: `fare`: Q73, one of 3 records in step 1. No word of the user is in this record alone."
    assert told in verdict.rationale
    assert verdict.score <= RULES.threshold


@pytest.mark.parametrize(
    ("reply", "offer"),
    [
        ("The one at 17:20.", "There are 06:10, 11:45 and 17:20."),
        ("Q73, please.", "There are three."),
        ("The train of platform 9.", "There are three."),
        ("Yes.", "Shall I book the one at 17:20?"),
    ],
)
def test_a_choice_that_the_user_named_or_agreed_to_is_not_called_unchecked(reply, offer):
    assert "Not checked" not in book("Q73", reply, offer).rationale


def test_a_card_that_the_user_named_by_its_label_is_known():
    offer = (say("To your Mastercard or a voucher?"), "To the Mastercard.")
    found = ("get_customer({})", CARDS)
    action = 'return_items({"items": ["lamp"], "refund_to": "card_88"})'
    assert judge("I want to send the lamp back.", found, offer, action=action).score <= RULES.threshold


def test_a_choice_in_japanese_is_open_once_the_agent_named_the_record():
    found = {"hotels": [{"id": "h-1", "name": "ホテル白波"}, {"id": "h-2", "name": "みどり館"}]}
    offer = (say("ホテル白波とみどり館がございます。どちらになさいますか。"), "静かな方で。")
    verdict = judge("大阪でホテルをお願いします。", ("search({})", found), offer, action='book_hotel({"id": "h-2"})')
    assert verdict.score <= RULES.threshold


@pytest.mark.parametrize(
    ("asked", "action"),
    [
        ("Un billet pour ma femme et moi, plus notre fils de six ans.", 'book({"adults": 2, "children": 1})'),
        ("Zehn Prozent Trinkgeld auf die 83,60 Euro und dann aufrunden.", 'charge_card({"betrag": 92})'),
        ("She flies on 3 July, but lands later: start it on the 4th.", 'add_package({"start_date": "2026-07-04"})'),
        ("Log a call for Brandt, an hour and three quarters.", 'add_entry({"client": "Brandt", "hours": 1.75})'),
        ("O aluguel é 2.400 reais. A Joana paga um terço e o Rui o resto.", 'create_charge({"amount": 400})'),
        ("En vez de rosas quiero tulipanes, y no rojos sino amarillos.", 'update_order({"color": "amarillos"})'),
        ("Drop glass from my policy, fire stays as it is.", 'change_policy({"covers": ["fire"]})'),
    ],
)
def test_what_only_looks_like_a_slip_is_not_flagged(asked, action):
    assert judge(asked, action=action).score <= RULES.threshold


def test_a_thing_with_a_longer_name_is_excluded_as_a_whole():
    asked = "Roll back checkout. Only the api, leave checkout-web as it is."
    assert judge(asked, action='rollback({"service": "checkout-web"})').score > RULES.threshold
    assert judge(asked, action='rollback({"service": "checkout"})').score <= RULES.threshold


def test_an_id_that_an_earlier_change_used_is_not_missed_in_the_next_request():
    deals = {"deals": [{"deal_id": "D-77", "name": "licences"}, {"deal_id": "D-81", "name": "training"}]}
    steps = (
        ('update_deal({"deal_id": "D-52", "stage": "lost"})', "ok"),
        (say("D-52 is set to lost."), "Now the licences, please: set them to won."),
        ("find_deals({})", deals),
    )
    right = judge("Norrby is lost, D-52.", *steps, action='update_deal({"deal_id": "D-77", "stage": "won"})')
    assert right.score <= RULES.threshold
    asked = judge("Set D-52 to won.", steps[2], action='update_deal({"deal_id": "D-77", "stage": "won"})')
    assert asked.score > RULES.threshold


def test_a_number_as_an_id_is_known_if_the_user_chose_from_the_list_with_it():
    pupils = {"pupils": [{"pupil_id": 2207, "name": "Theo", "age": 10}, {"pupil_id": 2391, "name": "Jonah", "age": 7}]}
    steps = (('find_pupils({"guardian": "Dana"})', pupils), (say("Theo or Jonah?"), "The younger one."))
    action = 'record_absence({"pupil_id": 2391, "reason": "operation"})'
    verdict = judge("My son will be off next week, he has a small operation.", *steps, action=action)
    assert verdict.score <= RULES.threshold
    assert "Not checked: `pupil_id`: 2391, one of 2 records in step 1." in verdict.rationale


METER = (("get_meter({})", {"last": 870}), (say("418 and 9377, shall I send them?"), "Sorry, I misread it: 9337."))


@pytest.mark.parametrize(
    ("asked", "steps", "right", "wrong"),
    [
        ("Day 418, night 9377.", METER, {"day": 418, "night": 9337}, {"day": 418, "night": 9377}),
        ("A taxi at 14:15.", [(say("To where?"), "Home. Wait, at 15:15.")], {"time": "15:15"}, {"time": "14:15"}),
        ("Il treno delle 9:10.", [(say("Va bene."), "Scusa, anzi alle 11:10.")], {"ora": "11:10"}, {"ora": "9:10"}),
    ],
)
def test_a_value_that_the_user_corrected_is_flagged(asked, steps, right, wrong):
    verdict = judge(asked, *steps, action=f"submit_request({json.dumps(wrong)})")
    assert verdict.score > RULES.threshold
    assert verdict.rationale.startswith("The user corrected this to ")
    assert judge(asked, *steps, action=f"submit_request({json.dumps(right)})").score <= RULES.threshold


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ("Print order 5101.", [(say("Done?"), "And then 5102, please.")]),
        ("Print order 5101.", [(say("Is that all?"), "Sorry, 5102 as well.")]),
        (
            "A taxi at 14:15.",
            [(say("Yes."), "Sorry, 15:15."), (say("15:15 is taken, only 14:15 is free."), "Then that.")],
        ),
    ],
)
def test_a_later_value_that_corrects_nothing_leaves_the_first_one_alone(asked, steps):
    value = "5101" if "5101" in asked else "14:15"
    verdict = judge(asked, *steps, action=f'submit_request({{"value": "{value}"}})')
    assert "corrected" not in verdict.rationale


@pytest.mark.parametrize(
    ("asked", "tool", "switch", "flagged"),
    [
        ("A twin room, please. We come by train, so no parking.", "book_room", {"parking": True}, True),
        ("A twin room, please. We come by train, so no parking.", "book_room", {"parking": False}, False),
        ("A twin room, please. We come by train, so no parking.", "book_room", {"no_parking": True}, False),
        ("Close the ticket, but don't notify the customer.", "close_ticket", {"notify_customer": True}, True),
        ("Close the ticket and notify the customer.", "close_ticket", {"notify_customer": True}, False),
        ("Ohne Parkplatz, aber mit Frühstück.", "buche_zimmer", {"frühstück": True}, False),
    ],
)
def test_a_switch_that_the_user_excluded_is_flagged(asked, tool, switch, flagged):
    verdict = judge(asked, action=f"{tool}({json.dumps(switch, ensure_ascii=False)})")
    assert (verdict.score > RULES.threshold) == flagged


FAMILY = {"people": [{"id": "p-120", "name": "Olga Weber"}, {"id": "p-121", "name": "Nina Weber"}]}
BASKET = {"items": [{"sku": "eggs-12"}, {"sku": "yoghurt-500"}, {"sku": "bananas-6"}]}
PROJECTS = {"projects": [{"id": "PRJ-4", "name": "Kestrel"}, {"id": "PRJ-7", "name": "Kestrel Tools"}]}


@pytest.mark.parametrize(
    ("asked", "found", "action"),
    [
        ("An appointment for my mother. My name is Olga Weber.", FAMILY, 'book_visit({"patient_id": "p-121"})'),
        ("Einen Termin für meine Mutter, ich heiße Olga Weber.", FAMILY, 'book_visit({"patient_id": "p-121"})'),
        ("The same as last time, but skip the yoghurt.", BASKET, 'place_order({"items": [{"sku": "eggs-12"}]})'),
        ("File the lunch, it goes on Kestrel.", PROJECTS, 'submit_expense({"project": "PRJ-4"})'),
        ("Leave it with the neighbour.", {"options": []}, 'schedule_delivery({"option": "neighbour"})'),
    ],
)
def test_a_word_that_describes_no_wanted_record_is_no_sign_against_another_one(asked, found, action):
    assert judge(asked, ("look_up({})", found), action=action).score <= RULES.threshold
