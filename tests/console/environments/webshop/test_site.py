"""A WebShop site over HTTP: the same text as the embedded shop, its score alone, and what a dead server does."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from sqlmodel import select

from console import runs
from console.actors import ACTORS
from console.database import now_ms, reading, review_queue
from console.environments import ENVIRONMENTS
from console.environments.environment import WorldUnavailable
from console.environments.sources import with_source
from console.environments.webshop import WEBSHOP
from console.environments.webshop.site import ShopSite, list_site_tasks
from console.environments.webshop.world import Shop
from console.errors import BadInput, Refused
from console.review import decisions
from console.trials import engine, start
from console.trials.start import ActorAndEnvironments
from storage import tables
from tests.fakes.webshop_site import GOALS, serving_shop
from tests.sweeps import sweep

ROOT = Path(__file__).parents[4]


def walks(observation, draw):
    """An action on something that the page shows, or now and then one that it does not."""
    buttons = re.findall(r"\[([^\[\]]+)\]", observation)
    if draw.random() < 0.1:
        return draw.choice(["click[nowhere]", "search[lamp]", "think[hm]", "go_back", "buy", "click[B000000000]"])
    if "Search" in buttons:
        return f"search[{draw.choice(['red cotton shirt', 'lamp/desk', 'steel bottle', 'xyzzy', ''])}]"
    return f"click[{draw.choice(buttons or ['Back to Search'])}]"


@pytest.mark.at_length
@sweep(
    ("observation", "goals"), [("full", 5), ("react", 2), pytest.param("full", 40, marks=pytest.mark.at_length)], kept=1
)
def test_walks_over_the_site_read_as_in_the_embedded_shop(observation, goals):
    with serving_shop() as (url, _):
        seen, ended = set(), 0
        for number, task in enumerate(list_site_tasks(url, 0, goals)):
            task = replace(task, options={**task.options, "observation": observation})
            site, shop = ShopSite(task), Shop(replace(GOALS[number], options={"observation": observation}))
            draw, here = Random(number), site.reset()
            assert here == shop.reset()
            last = here[0]
            for _ in range(30):
                action = walks(last, draw)
                there = site.step(action)
                expected = shop.step(action.replace("lamp/desk", "lamp desk"))
                assert (action, there) == (action, expected)
                last = there[0] if there[0].startswith("\n") else last
                seen.add(
                    next(
                        (word for word in ("Total results", "Rating", "Thank you", "Instruction") if word in last),
                        "sub",
                    )
                )
                ended += there[2]
                if there[2]:
                    break
            site.close()
    assert goals < 5 or seen == {"Total results", "Rating", "Thank you", "Instruction", "sub"}
    assert goals < 5 or ended


def test_the_done_page_gives_the_score_and_nothing_of_the_goal():
    with serving_shop() as (url, kind):
        (task,) = list_site_tasks(url, 3, 1)
        assert (task.instruction, task.gold) == (GOALS[3].instruction, {})
        site = ShopSite(task)
        site.reset()
        # The right product, found by its own words, with the wanted options.
        gold = GOALS[3].gold
        told = site.step(f"search[{gold['name']}]")[0]
        assert gold["asin"] in told
        site.step(f"click[{gold['asin'].lower()}]")
        for value in gold["options"].values():
            assert site.step(f"click[{value}]")[0] == f"You have clicked {value}."
        bought, score, ended, _, info = site.step("click[Buy Now]")
        assert (score, ended, info) == (1.0, True, {"success": True, "score": 1.0})
        assert gold["asin"] not in bought
        assert [asin for _, asin in kind.bought] == [gold["asin"]]
        assert site.step("click[Buy Now]")[2]
        assert len(kind.bought) == 1


def test_a_site_that_asks_otherwise_than_before_is_refused():
    with serving_shop() as (url, kind):
        (task,) = (one for one in list_site_tasks(url, 0, 12)[:1])
        kind.price_word = "price under about"
        changed = replace(task, instruction=f"{task.instruction} (of yesterday)")
        with pytest.raises(Refused, match="changed the instruction of goal 0"):
            ShopSite(changed).reset()
        with pytest.raises(BadInput, match="no readable goal 400"):
            list_site_tasks(url, 400, 1)


def test_a_site_that_is_away_never_ran_the_action():
    with serving_shop() as (url, _):
        (task,) = list_site_tasks(url, 0, 1)
        site = ShopSite(task)
        site.reset()
    with pytest.raises(WorldUnavailable) as away:
        site.step("search[lamp]")
    assert not away.value.is_sent


def begin(port=0):
    """A shop in a process of its own, and its address."""
    command = [sys.executable, "-m", "tests.fakes.webshop_site", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process.stdout as told:
        return process, told.readline().strip()


@pytest.mark.at_length
def test_a_server_killed_in_the_middle_leaves_a_paused_trajectory_that_ends_later(data_dir):
    server, url = begin()
    try:
        cast = ActorAndEnvironments(ACTORS["scripted"], {"webshop": with_source(WEBSHOP, url)})
        fields = {"detector_name": "full-validation", "undo_ms": 0, "trials": 1}
        start.start_run("shop", {"webshop": 3}, actor_and_environments=cast, **fields)
        # From here on the task alone tells where it is played.
        cast = replace(cast, environments=ENVIRONMENTS)
        engine.resume("shop", actor_and_environments=cast)
        held = found()
        assert "paused" in {outcome for _, outcome, _ in held}
        approve_all()
        server.kill()
        server.wait()
        done = engine.advance("shop", actor_and_environments=cast)
        assert done.interrupted
        assert done.problems == [f"WebShop is unavailable (no connection to {url}/)."]
        assert found() == held
        server, _ = begin(int(url.rsplit(":", 1)[1]))
        engine.advance("shop", actor_and_environments=cast)
        ended = found()
        assert {outcome for _, outcome, _ in ended} <= {"succeeded", "failed", "halted"}
        assert all(scored for _, outcome, scored in ended if outcome in ("succeeded", "failed"))
    finally:
        server.kill()
        server.wait()


def found():
    record = tables.Trajectory
    with reading() as session:
        rows = session.exec(select(record.task_id, record.outcome, record.label).order_by(record.id)).all()
    return [(task, outcome, label is not None) for task, outcome, label in rows]


def approve_all():
    while True:
        with reading() as session:
            run = runs.get(session, "shop")
            claim = decisions.claim_next_item(review_queue(), session, run, "ann", now_ms())
        if not hasattr(claim, "body"):
            return
        choice = "respond" if claim.kind == "halted" else "approve"
        decision = decisions.ReviewDecision(choice, feedback_text="go on" if choice == "respond" else "")
        decisions.submit(review_queue(), run, claim, "ann", decision, now_ms())
