"""A drill of random histories: a backup at a random moment, a restore at another; no act and no access comes back."""

import random
import shutil
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from console import runs
from console.auth import agents, invitations, people, sessions
from console.auth.people import Role
from console.database import now_ms, reading, review_queue, writing
from console.errors import ConsoleError, Refused
from console.gate import Gate, GateDecision, Reason, checks
from console.gate.checks import CheckId
from console.gate.policy import policy_store
from console.gate.request import Asker
from console.review import decisions
from storage.backup import backup, restore
from storage.check import check
from storage.engine import close
from storage.queue import Claim
from storage.transfer import copy_database
from tests import postgres

RUN, NAMES = "shop-bot", ("Ada", "Bob", "Eve")
ACTIONS, TASKS, ASKERS = ("pay(1)", "send(2)"), ("t1", "t2"), (Asker(None, "agent"), Asker(1, "bot"))
STRICTNESS = ("allow", "judge", "ask", "deny")
RANKS = {Reason.NOT_CRITICAL: 0, Reason.NOT_FLAGGED: 1, Reason.DENIED: 3}


class World:
    """What happened outside the database, which no restore takes back."""

    def __init__(self, url, folder, seed):
        self.url, self.folder, self.random = url, folder, random.Random(seed)
        self.gate = Gate(RUN, url=url, undo_s=0)
        self.waits, self.approved, self.begun, self.done = {}, {}, {}, set()
        self.policies, self.policies_differ = {"*": "ask", RUN: "ask"}, False
        self.sessions, self.links, self.tokens = [], [], ["agent 1"]
        self.disabled, self.agents, self.rejected, self.failures = set(), 1, set(), []

    def change(self, work, *arguments, **named):
        with writing(self.url) as session:
            return work(session, *arguments, **named)

    def ask(self, request):
        task, action, asker = request
        return self.gate.ask_for(asker, "pay what is due", [], action, task_id=task)

    def begin(self, check_id, asker):
        try:
            return checks.begin_check(self.url, CheckId(check_id), asker).approved
        except ConsoleError:
            return False

    def check(self):
        request = tuple(map(self.random.choice, (TASKS, ACTIONS, ASKERS)))
        answer = self.ask(request)
        if isinstance(answer, GateDecision):
            if answer.approved and answer.check_id:
                self.approved[answer.check_id] = request
        else:
            self.waits[answer.check.ask.item_id] = request, answer

    def decide(self):
        with reading(self.url) as session:
            run = runs.get(session, RUN)
            claim = decisions.claim_next_item(review_queue(self.url), session, run, "ann", now_ms())
        if not isinstance(claim, Claim):
            return
        word = self.random.choice(("approve", "approve", "reject"))
        decisions.submit(review_queue(self.url), run, claim, "ann", decisions.ReviewDecision(word, ""), now_ms())
        # The time in which the decision can be undone is over.
        self.change(lambda session: session.execute(text("UPDATE decision SET deliverable_ms = 0")))
        request, wait = self.waits.pop(claim.item_id)
        if word == "reject":
            self.rejected.add(request)
        if self.random.random() < 0.8 and (found := wait.look()) and found.approved:
            self.approved[found.check_id] = request

    def begin_one(self):
        for check_id, request in list(self.approved.items()):
            if check_id not in self.begun and self.begin(check_id, request[2]):
                self.begun[check_id] = request
                return

    def result(self):
        for check_id in {*self.begun} - self.done:
            self.change(checks.record_result, CheckId(check_id), self.begun[check_id][2], "ok", now_ms())
            self.done.add(check_id)

    def policy(self):
        run, then = self.random.choice(("*", RUN)), self.random.choice(STRICTNESS)
        named = None if run == "*" else RUN
        self.change(
            lambda session: policy_store.save(
                session, named and runs.get(session, named), f"{{default: {then}}}", "ada", now_ms()
            )
        )
        self.policies[run], self.policies_differ = then, True

    def person(self):
        name = self.random.choice(NAMES)
        if self.random.random() < 0.5:
            self.change(lambda session: people.disable(session, people.get_person(session, name), now_ms()))
            self.disabled.add(name)
        else:
            self.links.append(self.change(invitations.invite, name, [Role.ADMIN], "console", now_ms()))
            self.disabled.discard(name)

    def token(self):
        if self.random.random() < 0.5 and self.agents > 1:
            self.change(agents.disable, f"agent {self.agents}", now_ms())
        else:
            self.agents += 1
            self.tokens.append(self.change(agents.add, f"agent {self.agents}", now_ms()))

    def session(self):
        if self.sessions and self.random.random() < 0.4:
            self.change(sessions.end_session, self.sessions[-1], now_ms())
        else:
            name = self.random.choice(NAMES)
            opened = self.change(
                lambda session: sessions.open_session(session, people.get_person(session, name), now_ms())
            )
            self.sessions.append(opened)

    def invitation(self):
        if self.links and self.random.random() < 0.5:
            try:
                self.change(invitations.accept, self.links[-1], f"New {len(self.links)}", now_ms())
            except Refused:
                return
        else:
            self.links.append(self.change(invitations.invite, None, [Role.ADMIN], "console", now_ms()))

    def play(self, steps):
        others = (self.result, self.policy, self.person, self.token, self.session, self.invitation)
        for act in self.random.choices((self.check,) * 5 + others, k=steps):
            act()
            for later in (self.decide, self.begin_one) if act == self.check else ():
                if self.random.random() < 0.7:
                    later()

    def inspect(self):
        """What came back, by kind."""
        found = Counter()
        for check_id, request in {**self.approved, **self.begun}.items():
            found["begun by an old id"] += self.begin(check_id, request[2])
        for request in {*self.begun.values()}:
            answer = self.ask(request)
            if isinstance(answer, GateDecision) and answer.approved and answer.check_id:
                found["begun without a new yes"] += self.begin(answer.check_id, request[2])
        for request in self.rejected - {*self.begun.values()}:
            answer = self.ask(request)
            found["a rejection forgotten"] += not isinstance(answer, GateDecision)
        found["an access revived"] += sum(map(self.is_let_in, self.sessions + self.links + self.tokens))
        with reading(self.url) as session:
            enabled = {one.name for one in people.list_people(session) if one.disabled_ms is None}
        found["a person enabled"] += len(enabled & self.disabled)
        stated = ((RUN, self.policies[RUN]), ("another run", self.policies["*"]))
        for run, then in stated if self.policies_differ else ():
            answer = Gate(run, url=self.url).ask("look at the shop", [], "look(9)", task_id="probe")
            rank = RANKS[answer.reason] if isinstance(answer, GateDecision) else 2
            found["a policy laxer"] += rank < STRICTNESS.index(then)
        return +found

    def is_let_in(self, token):
        with reading(self.url) as session:
            if sessions.identity_of(session, token, now_ms()) or agents.find_by_token(session, token):
                return True
            try:
                return invitations.read_invitation(session, token, now_ms()) is not None
            except Refused:
                return False


@pytest.fixture(scope="module")
def template(tmp_path_factory, empty_database):
    """A database with a run, its policies, three people and an agent."""
    path = shutil.copy(empty_database, tmp_path_factory.mktemp("drill") / "console.db")
    url = f"sqlite:///{path}"
    Gate(RUN, url=url).open()
    with writing(url) as session:
        agents.add(session, "bot", 1)
        for name in NAMES:
            people.add_person(session, name, [Role.ADMIN], 1)
        for run in (None, runs.get(session, RUN)):
            policy_store.save(session, run, "{default: ask}", "ada", 1)
    close(url)
    return path


@contextmanager
def copied(template, path, kind):
    """The URL of a copy of the template, a file or a database on the server."""
    if kind == "postgresql":
        with postgres.database() as url:
            copy_database(f"sqlite:///{template}", url)
            yield url
    else:
        yield f"sqlite:///{shutil.copy(template, path)}"


@pytest.mark.parametrize(
    ("kind", "histories"),
    [
        ("sqlite", 4),
        pytest.param("sqlite", 200, marks=pytest.mark.at_length),
        pytest.param("postgresql", 60, marks=(postgres.NEEDED, pytest.mark.at_length)),
    ],
)
def test_nothing_comes_back_in_random_histories(template, tmp_path, kind, histories):
    found, acts = Counter(), Counter()
    for seed in range(histories):
        with copied(template, tmp_path / f"{seed}.db", kind) as url:
            come_back, did = drill(World(url, tmp_path, seed), tmp_path / f"{seed}.backup.db")
            found, acts = found + come_back, acts + did
            assert seed % 10 or check(url) == []
            close(url)
        for path in tmp_path.glob(f"{seed}.*"):
            path.unlink()
    assert found == Counter()
    assert min(acts.values()) > histories / 4, acts
    assert not [path for path in Path("/proc/self/fd").iterdir() if "ready.db" in open_file(path)]


def open_file(path):
    """The file of a descriptor, or "" if it was closed in the meantime."""
    return str(path.readlink()) if path.is_symlink() else ""


def drill(world, path):
    """What came back by a backup and a restore at random moments, and what had happened."""
    world.play(world.random.randrange(1, 7))
    copy = backup(world.url, path)
    world.play(world.random.randrange(1, 7))
    restore(world.url, copy)
    came_back = world.inspect()
    return came_back, Counter(begun=len(world.begun), rejected=len(world.rejected), waiting=len(world.waits))
