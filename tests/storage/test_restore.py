"""A restore begins an epoch: what was allowed before is void, and what was refused since stays refused."""

import json
import sqlite3
from contextlib import closing

import pytest
from sqlmodel import select

from console import runs
from console.auth import agents, invitations, people, sessions
from console.auth.kept_secrets import token_hash
from console.auth.people import Role
from console.database import now_ms, reading, review_queue, writing
from console.errors import Refused, Unknown
from console.gate import Gate, Reason, checks
from console.gate.checks import CheckId, Wait
from console.gate.policy import policy_store
from console.gate.request import Asker
from console.review import decisions
from console.review.decision_details import MarkedStep
from console.runs import maintenance
from storage import tables
from storage.backup import backup, restore
from storage.check import check, epoch_of
from storage.errors import StorageError
from storage.queue import Claim
from storage.tables.people import ENDED
from tests.sweeps import sweep

RUN, PAY = "shop-bot", "pay(1)"
ASK = "{default: ask}"


class Shop:
    """An agent, a reviewer and an operator on one database."""

    def __init__(self, url, folder):
        self.url, self.folder, self.backups = url, folder, 0
        self.gate = Gate(RUN, url=url, undo_s=0, detector="rules")
        self.set_policy(ASK)

    def set_policy(self, text, run="*"):
        with writing(self.url) as session:
            found = None if run == "*" else runs.get(session, run)
            policy_store.save(session, found, text, "ada", now_ms())

    def ask(self, action=PAY, task_id="t", agent_id=None, **more):
        asker = Asker(agent_id, "bot")
        return self.gate.ask_for(asker, "pay what is due", [], action, task_id=task_id, **more)

    def decide(self, decision="approve", person="ann", **more):
        with reading(self.url) as session:
            run = runs.get(session, RUN)
            claim = decisions.claim_next_item(review_queue(self.url), session, run, person, now_ms())
        assert isinstance(claim, Claim)
        answer = decisions.ReviewDecision(decision, "no, wait", **more)
        decisions.submit(review_queue(self.url), run, claim, person, answer, now_ms())

    def approved(self, **asked):
        """A check with a go-ahead, which the agent has fetched."""
        wait = self.ask(**asked)
        self.decide()
        decision = wait.look()
        assert decision.approved
        return decision

    def begin(self, decision, agent_id=None):
        return checks.begin_check(self.url, CheckId(decision.check_id), Asker(agent_id, "bot"))

    def backup(self):
        self.backups += 1
        return backup(self.url, self.folder / f"backup{self.backups}.db")

    def restore(self, copy, **options):
        found = restore(self.url, copy, **options)
        assert check(self.url) == []
        return found


@pytest.fixture
def shop(url, tmp_path):
    """A shop on a fresh database."""
    return Shop(url, tmp_path)


def rows(url, table):
    with reading(url) as session:
        found = list(session.exec(select(table).order_by(table.id)))
        session.expunge_all()
    return found


def test_a_go_ahead_of_before_never_begins(shop):
    decision = shop.approved()
    shop.restore(shop.backup())
    again = shop.begin(decision)
    assert (again.approved, again.reason, again.intent_id) == (False, Reason.VOID, None)
    assert "Submit the check again" in again.feedback
    assert rows(shop.url, tables.Intent) == []


def test_what_began_after_the_backup_does_not_begin_again(shop):
    decision = shop.approved()
    copy = shop.backup()
    assert shop.begin(decision).approved
    shop.restore(copy)
    assert shop.begin(decision).reason is Reason.ALREADY_HANDED_OUT
    assert shop.ask().reason is Reason.ALREADY_HANDED_OUT
    (intent,) = rows(shop.url, tables.Intent)
    assert intent.decision_id == 1


def test_what_was_asked_before_and_began_after_the_backup_keeps_its_answer(shop):
    wait = shop.ask()
    copy = shop.backup()
    shop.decide()
    decision = wait.look()
    shop.begin(decision)
    found = shop.restore(copy).went_back
    assert (found.begun_carried, found.checks_void, found.items_cancelled) == (1, 0, 1)
    assert [(ask.answer, ask.action) for ask in rows(shop.url, tables.Ask)] == [("approved", PAY)]
    assert shop.begin(decision).reason is Reason.ALREADY_HANDED_OUT
    assert shop.ask().reason is Reason.ALREADY_HANDED_OUT


def test_of_two_approvals_only_the_one_that_began_after_the_backup_counts_as_begun(shop):
    begun, other = shop.approved(), shop.approved(action="pay(2)", task_id="u")
    copy = shop.backup()
    assert shop.begin(begun).approved
    shop.restore(copy)
    assert [intent.action for intent in rows(shop.url, tables.Intent)] == [PAY]
    assert (shop.begin(begun).reason, shop.begin(other).reason) == (Reason.ALREADY_HANDED_OUT, Reason.VOID)


@pytest.mark.at_length
def test_what_was_asked_and_began_after_the_backup_does_not_begin_again(shop):
    copy = shop.backup()
    decision = shop.approved()
    assert shop.begin(decision).approved
    shop.restore(copy)
    with pytest.raises(Unknown):
        shop.begin(decision)
    assert shop.ask().reason is Reason.ALREADY_HANDED_OUT
    assert isinstance(shop.ask(task_id="another"), Wait)
    shop.restore(shop.backup())
    assert shop.ask().reason is Reason.ALREADY_HANDED_OUT


def test_a_carried_action_has_begun_at_its_step_of_its_trial_whatever_the_steps_before_say(shop):
    def ask(*seen, **more):
        steps = [("look", text) for text in seen]
        return shop.gate.ask_for(Asker(None, "bot"), "pay what is due", steps, PAY, task_id="t", **more)

    copy = shop.backup()
    wait = ask("one bill")
    shop.decide()
    assert shop.begin(wait.look()).approved
    shop.restore(copy)
    assert [ask(text).reason for text in ("one bill", "two bills")] == [Reason.ALREADY_HANDED_OUT] * 2
    for other in (ask("one bill", trial=1), ask("one bill", "more")):
        assert isinstance(other, Wait)


@pytest.mark.at_length
def test_what_began_after_the_backup_does_not_begin_again_after_several_restores_of_it(shop):
    copy = shop.backup()
    shop.begin(shop.approved())
    shop.ask("pay(2)")
    shop.decide("reject")
    for _ in range(3):
        shop.restore(copy)
        assert shop.ask().reason is Reason.ALREADY_HANDED_OUT
        rejected = shop.ask("pay(2)")
        assert (rejected.reason, "no, wait" in rejected.feedback) == (Reason.ALREADY_REJECTED, True)


def test_an_unflagged_action_that_began_after_the_backup_does_not_begin_again_in_its_task(shop):
    shop.set_policy("{default: judge}")
    copy = shop.backup()
    looks = [look(shop, task_id) for task_id in ("t", None)]
    assert [each.reason for each in looks] == [Reason.NOT_FLAGGED] * 2
    shop.restore(copy)
    again = look(shop, "t")
    assert (again.approved, again.reason) == (False, Reason.ALREADY_HANDED_OUT)
    assert look(shop, None).approved


def look(shop, task_id):
    """What a new gate answers about an action that no detector flags."""
    return Gate(RUN, url=shop.url).check("look at the shop", [], "look(1)", task_id=task_id)


@sweep("is_asked_before", [True, False], kept=1)
def test_a_rejection_made_after_the_backup_holds(shop, is_asked_before):
    copy = None if is_asked_before else shop.backup()
    wait = shop.ask()
    copy = copy or shop.backup()
    shop.decide("reject", marked_steps=(MarkedStep(1),))
    assert wait.look().reason is Reason.REJECTED
    found = shop.restore(copy).went_back
    assert (found.rejections_carried, found.decisions_lost) == (1, 1)
    again = shop.ask()
    assert again.reason is Reason.ALREADY_REJECTED
    said = "This action was already rejected in this task. Step 1, `pay(1)`: this step is wrong. no, wait"
    assert again.feedback == said
    assert isinstance(shop.ask("pay(2)"), Wait)


def test_a_rejection_that_could_still_be_undone_at_the_backup_holds(shop):
    shop.ask()
    shop.decide("reject")
    assert shop.restore(shop.backup()).went_back.items_cancelled == 1
    assert shop.ask().reason is Reason.ALREADY_REJECTED


def test_open_checks_are_void_and_their_units_are_given_back(shop):
    shop.gate = Gate(RUN, url=shop.url, undo_s=0, budget=2)
    wait = shop.ask()
    with reading(shop.url) as session:
        run = runs.get(session, RUN)
        decisions.claim_next_item(review_queue(shop.url), session, run, "ann", now_ms())
    shop.ask("pay(2)")
    found = shop.restore(shop.backup()).went_back
    assert (found.checks_void, found.items_cancelled) == (2, 2)
    assert [item.status for item in rows(shop.url, tables.Item)] == ["cancelled"] * 2
    assert [budget.used for budget in rows(shop.url, tables.Budget)] == [0]
    decision = wait.look()
    assert (decision.approved, decision.reason) == (False, Reason.VOID)
    assert isinstance(shop.ask(), Wait)


@pytest.mark.at_length
def test_a_wait_never_gets_the_decision_of_a_check_that_has_its_number_now(shop):
    copy = shop.backup()
    wait = shop.ask("pay(2)")
    shop.restore(copy)
    other = shop.ask("pay(1)")
    assert other.check.ask.id == wait.check.ask.id
    before = rows(shop.url, tables.Ask)[0].heartbeat_ms
    wait.beaten_ms = 0
    wait._beat(now_ms() + 60_000)
    assert rows(shop.url, tables.Ask)[0].heartbeat_ms == before
    shop.decide()
    assert (wait.look().reason, wait.withdraw().reason) == (Reason.VOID, Reason.VOID)
    assert wait.look().feedback.startswith("This check no longer exists: the console was restored from a backup")
    assert other.look().approved


@pytest.mark.at_length
def test_a_result_is_never_stored_with_an_intent_that_has_its_number_now(shop):
    copy = shop.backup()
    begun = shop.gate.begin(shop.approved(action="pay(2)"))
    shop.restore(copy)
    other = shop.gate.begin(shop.approved(action="pay(1)"))
    assert other.intent_id == begun.intent_id
    with pytest.raises(Unknown):
        shop.gate.done(begun, "paid 2")
    assert [intent.finished_ms for intent in rows(shop.url, tables.Intent)] == [None]
    shop.gate.done(other, "paid 1")
    assert rows(shop.url, tables.Intent)[0].finished_ms is not None


def test_each_restore_raises_the_epoch_and_is_an_event(shop):
    copy = shop.backup()
    assert epoch_of(shop.url) == 1
    assert [shop.restore(copy).went_back.epoch for _ in range(2)] == [2, 3]
    began_ms = now_ms()
    assert shop.restore(copy).went_back.epoch == 4
    event = rows(shop.url, tables.Event)[-1]
    assert began_ms <= event.at_ms <= now_ms()
    assert (event.kind, event.subject, event.before, event.after) == ("database restored", str(copy), "3", "4")


def test_a_backup_that_another_program_changed_is_refused_unless_it_is_accepted(shop):
    with writing(shop.url) as session:
        people.add_person(session, "Bob", [Role.REVIEWER], 1)
    copy = shop.backup()
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE person SET roles = 'admin'")
    said = "Audit: person 1 was changed outside the console: what (roles, hold)."
    files = sorted(shop.folder.iterdir())
    with pytest.raises(StorageError) as refusal:
        shop.restore(copy)
    assert f"{said} Name another backup" in str(refusal.value)
    assert (epoch_of(shop.url), sorted(shop.folder.iterdir())) == (1, files)
    assert restore(shop.url, copy, accept_changed=True).went_back.changed == (said,)
    assert json.loads(rows(shop.url, tables.Event)[-1].detail)["changed"] == [said]


class Staff:
    """People, agents and links of one database."""

    def __init__(self, url):
        self.url = url
        with writing(url) as session:
            ada = people.add_person(session, "Ada", [Role.ADMIN], 1)
            people.add_person(session, "Bob", [Role.RESEARCHER], 1)
            self.session = sessions.open_session(session, ada, now_ms())
            self.link = invitations.invite(session, None, [Role.ADMIN], "Ada", now_ms())
            self.token = agents.add(session, "bot", 1)

    def __call__(self, work, *arguments, **named):
        with writing(self.url) as session:
            return work(session, *arguments, **named)

    def is_in(self, token=None):
        return self(sessions.identity_of, token or self.session, now_ms()) is not None

    def opens(self, token):
        try:
            self(invitations.read_invitation, token, now_ms())
        except Refused:
            return False
        return True

    def answers(self, token=None):
        return self(agents.find_by_token, token or self.token) is not None

    def person(self, name):
        return self(people.get_person, name)


@pytest.fixture
def staff(shop):
    """The staff of the shop."""
    return Staff(shop.url)


def test_sessions_links_and_tokens_end(shop, staff):
    staff(agents.add, "gone", now_ms())
    staff(agents.disable, "gone", now_ms())
    found = shop.restore(shop.backup()).went_back
    assert (staff.is_in(), staff.opens(staff.link), staff.answers()) == (False, False, False)
    assert (found.sessions_ended, found.links_ended, found.tokens_ended) == (1, 1, 1)
    token = staff(agents.renew, "bot", now_ms())
    assert staff.answers(token)
    assert staff(agents.find_by_token, token).id == 1


def test_people_and_agents_get_back_no_access_that_ended_since(shop, staff):
    copy = shop.backup()
    staff(lambda session: people.disable(session, people.get_person(session, "Ada"), now_ms()))
    staff(lambda session: setattr(people.get_person(session, "Bob"), "roles", "reviewer"))
    staff(agents.disable, "bot", now_ms())
    staff(agents.add, "new", now_ms())
    found = shop.restore(copy).went_back
    assert found.people == ("Ada", "Bob")
    assert staff.person("Ada").disabled_ms is not None
    assert staff.person("Bob").roles == "reviewer"
    with pytest.raises(Refused, match="disabled"):
        staff(agents.renew, "bot", now_ms())
    assert staff.answers(staff(agents.renew, "new", now_ms()))


@sweep("keep_access", [False, True], kept=1)
def test_a_person_whom_the_replaced_file_does_not_have_is_disabled(shop, staff, keep_access):
    copy = shop.backup()
    staff(lambda session: session.delete(people.get_person(session, "Bob")))
    shop.restore(copy, keep_access=keep_access)
    assert staff.person("Bob").disabled_ms is not None


@sweep("keep_access", [False, True], kept=1)
def test_an_agent_that_the_replaced_file_does_not_have_is_disabled_without_a_token(shop, staff, keep_access):
    copy = shop.backup()
    staff(lambda session: session.delete(session.get_one(tables.Agent, 1)))
    shop.restore(copy, keep_access=keep_access)
    (agent,) = rows(shop.url, tables.Agent)
    assert (agent.disabled_ms is not None, agent.token_hash.startswith(ENDED)) == (True, True)
    assert not staff.answers()


def test_access_can_be_kept_as_it_is_now_but_no_go_ahead(shop, staff):
    shop.gate.open()
    decision = shop.approved(agent_id=1)
    used = staff(invitations.invite, "Bob", None, "Ada", now_ms())
    lost = staff(sessions.open_session, staff.person("Bob"), now_ms())
    copy = shop.backup()
    staff(invitations.accept, used, "", now_ms())
    staff(sessions.end_session, lost, now_ms())
    staff(lambda session: people.add_person(session, "Eve", [Role.RESEARCHER], 1))
    later = staff(sessions.open_session, staff.person("Eve"), now_ms())
    token = staff(agents.add, "new", now_ms())
    link = staff(invitations.invite, "Eve", None, "Ada", now_ms())
    found = shop.restore(copy, keep_access=True).went_back
    assert (found.sessions_ended, found.links_ended, found.tokens_ended) == (0, 0, 0)
    assert all([staff.is_in(), staff.is_in(later), staff.answers(), staff.answers(token), staff.opens(link)])
    assert not any([staff.is_in(lost), staff.opens(used)])
    assert staff.person("Eve").roles == "researcher,reviewer"
    assert shop.begin(decision, agent_id=1).reason is Reason.VOID


@sweep("keep_access", [False, True], kept=1)
def test_groups_and_owners_of_agents_are_not_those_of_the_backup(shop, staff, keep_access):
    def member(group, person_id):
        return tables.GroupMember(name=group, name_key=group, person_id=person_id)

    staff(
        lambda session: session.add_all(
            [member("both", 1), member("left", 1), tables.AgentOwner(agent_id=1, owner="Ada")]
        )
    )
    copy = shop.backup()
    staff(lambda session: session.delete(session.get(tables.GroupMember, 2)))
    staff(lambda session: session.add(member("joined", 2)))
    staff(lambda session: setattr(session.get(tables.AgentOwner, 1), "owner", "Bob"))
    shop.restore(copy, keep_access=keep_access)
    groups = [row.name for row in rows(shop.url, tables.GroupMember)]
    assert groups == (["both", "joined"] if keep_access else ["both"])
    assert [row.owner for row in rows(shop.url, tables.AgentOwner)] == ["Bob"]


@pytest.mark.at_length
def test_a_channel_that_was_muted_or_removed_since_stays_silent(shop, staff):
    def channel(address):
        return tables.NoticeChannel(person_id=1, kind="mail", address=address, events="item.pending", since_ms=1)

    staff(
        lambda session: session.add_all(
            [channel("on@a.example"), channel("muted@a.example"), channel("gone@a.example")]
        )
    )
    copy = shop.backup()
    staff(lambda session: setattr(session.get(tables.NoticeChannel, 2), "muted", True))
    staff(lambda session: session.delete(session.get(tables.NoticeChannel, 3)))
    shop.restore(copy)
    assert [(row.address, row.muted) for row in rows(shop.url, tables.NoticeChannel)] == [
        ("on@a.example", False),
        ("muted@a.example", True),
        ("gone@a.example", True),
    ]


@pytest.mark.at_length
def test_access_of_another_database_is_not_kept(shop, staff, tmp_path, empty_database):
    other = f"sqlite:///{tmp_path / 'other.db'}"
    (tmp_path / "other.db").write_bytes(empty_database.read_bytes())
    with writing(other) as session:
        people.add_person(session, "Eve", [Role.ADMIN], 1)
    copy = backup(other, tmp_path / "copy.db")
    with pytest.raises(StorageError, match="another database"):
        shop.restore(copy, keep_access=True)
    assert staff.is_in()
    assert not [path for path in tmp_path.iterdir() if "replaced" in path.name]


@sweep("keep_access", [False, True], kept=1)
def test_study_links_that_were_used_or_not_do_not_open_again(shop, staff, keep_access):
    def study(session):
        made = tables.Study(name="pilot", design="{}", status="open", join_code="j", created_ms=1)
        session.add(made)
        session.flush()
        gone, stays = (
            tables.Participant(study_id=made.id, number=n, code=f"P0{n}", secret=token_hash(f"secret {n}"))
            for n in (1, 2)
        )
        links = [tables.StudyInvitation(study_id=made.id, token=token, created_ms=1) for token in ("unused", "since")]
        session.add_all([gone, stays, *links])
        session.flush()
        used = tables.StudyInvitation(study_id=made.id, token="used", created_ms=1, participant_id=gone.id)
        session.add(used)

    staff(study)
    copy = shop.backup()
    staff(lambda session: setattr(session.get(tables.Study, 1), "status", "closed"))
    staff(lambda session: setattr(session.get(tables.Participant, 1), "secret", None))
    staff(lambda session: setattr(session.get(tables.StudyInvitation, 2), "participant_id", 2))
    shop.restore(copy, keep_access=keep_access)
    unused, since, used = (link.token for link in rows(shop.url, tables.StudyInvitation))
    assert (unused == "unused", since == "since", used) == (keep_access, False, "used")
    secrets = [participant.secret for participant in rows(shop.url, tables.Participant)]
    assert secrets[0] != token_hash("secret 1")
    assert secrets[1] == token_hash("secret 2")
    assert rows(shop.url, tables.Study)[0].status == "closed"


@pytest.mark.at_length
def test_access_ends_if_the_replaced_file_cannot_be_read(shop, staff, tmp_path):
    channel = {"person_id": 1, "kind": "mail", "address": "ada@a.example", "events": "item.pending", "since_ms": 1}
    staff(lambda session: session.add(tables.NoticeChannel(**channel)))
    copy, lost = shop.backup(), tmp_path / "lost" / "console.db"
    lost.parent.mkdir()
    lost.write_text("not a database any more, " * 400)
    found = restore(f"sqlite:///{lost}", copy, keep_access=True).went_back
    assert "cannot be read" in found.unread
    assert (found.sessions_ended, found.links_ended, found.tokens_ended, found.access_kept) == (1, 1, 1, False)
    assert [row.muted for row in rows(f"sqlite:///{lost}", tables.NoticeChannel)] == [True]
    assert check(f"sqlite:///{lost}") == []


ALLOW, DENY = "{default: allow}", "{default: deny}"


@sweep(
    ("before", "since", "reason"),
    [
        (ALLOW, DENY, Reason.DENIED),
        (DENY, ALLOW, Reason.DENIED),
        (ALLOW, "{default: allow, mode: shadow}", Reason.NOT_CRITICAL),
        ("{default: allow, mode: shadow}", DENY, Reason.DENIED),
        ("{default: deny, mode: shadow}", ALLOW, Reason.NOT_CRITICAL),
        (DENY, "{default: allow, mode: shadow}", Reason.DENIED),
        ("{default: deny, mode: shadow}", "{default: ask, mode: shadow}", Reason.SHADOW),
    ],
    kept=2,
)
def test_of_two_policies_the_stricter_ruling_counts_until_a_person_chooses(shop, before, since, reason):
    shop.set_policy(before)
    copy = shop.backup()
    shop.set_policy(since)
    assert shop.restore(copy).went_back.policies == ("*",)
    assert shop.ask().reason is reason
    shop.set_policy(ALLOW)
    assert shop.ask("pay(3)").reason is Reason.NOT_CRITICAL


def test_the_terms_of_two_policies_are_joined(shop):
    shop.set_policy("{rules: [{tool: pay, then: ask, reviews: 2, who: [Ada, Bob], decisions: [approve, reject]}]}")
    copy = shop.backup()
    shop.set_policy("{rules: [{tool: pay, then: ask, who: [Bob, Eve], decisions: [reject, edit]}]}")
    shop.restore(copy)
    shop.ask()
    (item,) = rows(shop.url, tables.Item)
    assert item.reviews_required == 2
    assert item.terms.startswith('{"decisions":["reject"],"who":["Bob"]')


@pytest.mark.at_length
def test_a_choice_for_one_run_leaves_the_others_their_stricter_ruling(shop):
    shop.set_policy(ALLOW)
    for name in ("other", RUN):
        Gate(name, url=shop.url).open()
    copy = shop.backup()
    shop.set_policy(DENY)
    shop.restore(copy)
    shop.set_policy(ALLOW, RUN)
    assert shop.ask().reason is Reason.NOT_CRITICAL
    assert Gate("other", url=shop.url).check("t", [], "pay(1)").reason is Reason.DENIED
    assert Gate("new", url=shop.url).check("t", [], "pay(1)").reason is Reason.DENIED
    shop.set_policy(ALLOW)
    assert Gate("other", url=shop.url).check("t", [], "pay(1)").reason is Reason.NOT_CRITICAL


@pytest.mark.at_length
def test_a_policy_that_an_agent_s_first_check_makes_is_no_choice(shop):
    copy = shop.backup()
    Gate("new", url=shop.url).open()
    shop.set_policy(DENY, "new")
    found = shop.restore(copy).went_back
    assert found.policies == ("new",)
    assert Gate("new", url=shop.url).check("t", [], "pay(1)").reason is Reason.DENIED


@pytest.mark.at_length
def test_replaced_policies_of_both_files_apply_although_they_have_the_same_number(shop):
    def add(session, run):
        kept = {"version": 1, "text": DENY, "digest": "d", "author": "ada", "created_ms": 1}
        session.add(tables.ReplacedPolicy(id=1, epoch=1, run=run, **kept))

    with writing(shop.url) as session:
        add(session, "first")
    copy = shop.backup()
    with writing(shop.url) as session:
        session.delete(session.get_one(tables.ReplacedPolicy, 1))
    with writing(shop.url) as session:
        add(session, "second")
    shop.restore(copy)
    assert {row.run for row in rows(shop.url, tables.ReplacedPolicy)} == {"first", "second"}
    for run in ("first", "second"):
        shop.set_policy(ALLOW)
        assert Gate(run, url=shop.url).check("t", [], "pay(1)").reason is Reason.DENIED


def test_the_runs_whose_policy_differs_are_named_in_order(shop):
    names = ("d", "b", "e", "a", "c")
    for name in names:
        Gate(name, url=shop.url).open()
    copy = shop.backup()
    for name in names:
        shop.set_policy(DENY, name)
    assert shop.restore(copy).went_back.policies == ("a", "b", "c", "d", "e")


def test_each_restored_policy_applies_until_a_person_chooses(shop):
    shop.set_policy(ALLOW)
    copy = shop.backup()
    shop.set_policy(DENY)
    shop.restore(copy)
    shop.restore(copy)
    assert shop.ask().reason is Reason.DENIED


@pytest.mark.at_length
def test_an_approval_is_withheld_if_the_replaced_policy_denies_the_edit(shop):
    shop.gate.open()
    copy = shop.backup()
    shop.set_policy("{default: ask, rules: [{tool: drop, then: deny}]}", RUN)
    shop.restore(copy)
    wait = shop.ask('pay({"order": 1})')
    shop.decide("edit", edited_action='drop({"order": 1})', allow_other_tool=True)
    assert wait.look().reason is Reason.DENIED


def test_what_was_used_of_a_limit_after_the_backup_stays_used(shop):
    shop.set_policy("{rules: [{tool: pay, then: allow, limit: {count: 1, per: day, by: agent}}]}")
    shop.gate.open()
    copy, call = shop.backup(), {"name": "pay", "arguments": {"order": 1}}
    assert shop.ask(call).reason is Reason.NOT_CRITICAL
    for _ in range(2):
        shop.restore(copy)
        assert isinstance(shop.ask(call), Wait)
        copy = shop.backup()


LIMITED = "{rules: [{tool: pay, then: allow, limit: {count: 2, per: day, by: agent}}]}"


@pytest.mark.at_length
def test_a_use_of_a_limit_that_both_files_have_counts_once(shop):
    shop.set_policy(LIMITED)
    call = {"name": "pay", "arguments": {"order": 1}}
    assert shop.ask(call).reason is Reason.NOT_CRITICAL
    shop.restore(shop.backup())
    assert shop.ask(call).reason is Reason.NOT_CRITICAL
    assert isinstance(shop.ask(call), Wait)


@sweep("column", ["scope", "rule", "counted_by", "at_ms"], kept=2)
def test_another_use_with_the_number_of_one_in_the_backup_counts_too(shop, column):
    shop.set_policy(LIMITED)
    shop.gate.open()
    shop.ask({"name": "pay", "arguments": {"order": 1}})
    copy = shop.backup()
    with writing(shop.url) as session:
        use = session.get_one(tables.LimitUse, 1)
        setattr(use, column, getattr(use, column) + (1 if column == "at_ms" else "x"))
        session.add(use)
    shop.restore(copy)
    assert len(rows(shop.url, tables.LimitUse)) == 2


@pytest.mark.at_length
def test_a_deleted_run_takes_its_replaced_policy_and_carried_checks_along(shop):
    shop.gate.open()
    copy = shop.backup()
    shop.set_policy(DENY, RUN)
    shop.restore(copy)
    with writing(shop.url) as session:
        maintenance.delete_run(session, runs.get(session, RUN), now_ms())
    assert [row.run for row in rows(shop.url, tables.ReplacedPolicy)] == ["*"]
    assert check(shop.url) == []


def test_a_legal_hold_that_was_placed_after_the_backup_holds(shop):
    shop.approved()
    copy = shop.backup()
    with writing(shop.url) as session:
        maintenance.set_hold(session, runs.get(session, RUN), "Case 12", now_ms())
    shop.restore(copy)
    with reading(shop.url) as session:
        assert runs.get(session, RUN).hold == "Case 12"
