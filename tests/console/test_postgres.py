"""Sign-in, gate and queue on a PostgreSQL server, where requests run at once that SQLite lets run one after another.

The server comes in a wheel, or INFERACT_POSTGRES names one: postgresql+psycopg://user@127.0.0.1/postgres.
"""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlmodel import select

from console import runs
from console.auth import agents, invitations, people, sessions
from console.auth.people import Role
from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused
from console.gate import Gate, Reason, checks
from console.gate.policy import policy_store
from console.gate.request import Asker
from console.review import decisions
from storage import tables
from storage.check import check
from tests import postgres
from tests.serving import serving

TASK, STEPS = "Pay the March bill only.", [("look[bills]", "two bills")]
AT_ONCE = 8

pytestmark = postgres.NEEDED


@pytest.fixture
def url():
    """The URL of a database of its own on the server; gone at the end."""
    with postgres.database() as made:
        yield made


def at_once(work, *each):
    """What the work returned or raised for each, all begun in the same moment."""
    with ThreadPoolExecutor(len(each)) as pool:
        running = [pool.submit(work, one) for one in each]
        return [one.exception() or one.result() for one in running]


def gate(url, policy="default: ask"):
    with writing(url) as session:
        policy_store.save(session, None, policy, "ada", 0)
    return Gate("shop-bot", "full-validation", ["pay*"], undo_s=0, poll_s=0.01, url=url)


def answer(url, reviewer, decision, **others):
    with reading(url) as session:
        run = runs.get(session, "shop-bot")
        claim = decisions.claim_next_item(review_queue(url), session, run, reviewer, now_ms())
    written = decisions.ReviewDecision(decision, "", **others)
    return decisions.submit(review_queue(url), run, claim, reviewer, written, now_ms())


def rows(url, table):
    with reading(url) as session:
        return list(session.exec(select(table)))


def test_of_many_who_open_one_link_a_single_one_comes_in(url):
    with writing(url) as session:
        token = invitations.invite(session, None, [Role.RESEARCHER], "tests", now_ms())

    def come_in(name):
        with writing(url) as session:
            return sessions.open_session(session, invitations.accept(session, token, name, now_ms()), now_ms())

    found = at_once(come_in, *(f"guest {number}" for number in range(AT_ONCE)))
    (opened,) = [one for one in found if isinstance(one, str)]
    assert all(isinstance(one, Refused) for one in found if one is not opened)
    with reading(url) as session:
        identity = sessions.identity_of(session, opened, now_ms())
        assert [one.name for one in people.list_people(session)] == [identity.name]
    with writing(url) as session:
        people.disable(session, people.get_person(session, identity.name.upper()), now_ms())
    with reading(url) as session:
        assert sessions.identity_of(session, opened, now_ms()) is None


@pytest.mark.at_length
def test_a_link_of_the_served_console_opens_once(url, data_dir):
    with writing(url) as session:
        token = invitations.invite(session, "Ada", [Role.ADMIN], "tests", now_ms())
    with serving(data_dir, INFERACT_DATABASE_URL=url) as server:
        with httpx.Client(base_url=server.url, headers={"Origin": server.url}) as browser:
            assert browser.post(f"/invite/{token}", data={}).status_code == 303
            assert browser.get("/whoami").json()["name"] == "Ada"
            assert "Ada" in browser.get("/sessions").text
            assert browser.post("/sign-out").status_code == 303
            assert browser.get("/whoami").status_code == 401
        assert httpx.get(f"{server.url}/invite/{token}").status_code == 410
    assert [event.kind for event in rows(url, tables.Event)] == ["signed in", "signed out"]
    assert check(url) == []


def test_the_same_question_of_many_is_one_check_and_begins_once(url):
    own = gate(url)
    own.open()
    waits = at_once(lambda _: own.ask(TASK, STEPS, "pay[1]", task_id="march"), *range(AT_ONCE))
    assert len({wait.check.ask.token for wait in waits}) == 1
    answer(url, "ann", "approve")
    given = at_once(lambda wait: wait.look(), *waits)
    assert {decision.action for decision in given if decision.approved} == {"pay[1]"}
    begun = at_once(own.begin, *(decision for decision in given if decision.approved))
    assert [one.approved for one in begun].count(True) == 1
    assert {one.reason for one in begun} <= {Reason.APPROVED, Reason.ALREADY_HANDED_OUT}
    assert len(rows(url, tables.Intent)) == len(rows(url, tables.Item)) == 1
    assert check(url) == []


@pytest.mark.at_length
def test_a_check_over_a_token_begins_once_however_many_say_so(url):
    with writing(url) as session:
        token = agents.add(session, "bot", now_ms())
    with reading(url) as session:
        asker = Asker(agents.find_by_token(session, token).id, "bot")
    own = gate(url, "default: judge")
    own.open()
    waiting = own.ask_for(asker, TASK, STEPS, "pay[1]", task_id="march")
    answer(url, "ann", "edit", edited_action="pay[half]")
    at = checks.check_id(waiting.check.ask.token)
    assert waiting.look().action == "pay[half]"
    begun = at_once(lambda _: checks.begin_check(url, at, asker), *range(AT_ONCE))
    assert sorted(one.approved for one in begun) == [False] * (AT_ONCE - 1) + [True]
    assert len(rows(url, tables.Intent)) == 1


def test_what_a_rule_allows_is_counted_and_what_it_denies_never_runs(url):
    own = gate(url, "{default: deny, rules: [{tool: look, then: allow}]}")
    own.open()
    found = at_once(lambda number: own.check(TASK, STEPS, f"look[{number}]"), *range(AT_ONCE))
    assert [one.approved for one in found] == [True] * AT_ONCE
    assert [(row.tool, row.checks) for row in rows(url, tables.Allowed)] == [("look", AT_ONCE)]
    refused = at_once(lambda _: own.check(TASK, STEPS, "pay[1]", task_id="march").reason, *range(AT_ONCE))
    assert set(refused) == {Reason.DENIED}
    assert rows(url, tables.Intent) == []
    assert check(url) == []


def test_two_reviewers_at_once_get_two_items(url):
    own = gate(url)
    waits = [own.ask(TASK, STEPS, f"pay[{number}]", task_id=f"task {number}") for number in range(AT_ONCE)]
    made = at_once(lambda number: answer(url, f"reviewer {number}", "approve"), *range(AT_ONCE))
    assert sorted(row.item_id for row in made) == sorted(wait.check.ask.item_id for wait in waits)
    assert all(wait.look().approved for wait in waits)
    assert check(url) == []
