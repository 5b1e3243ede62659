"""Adversaries as their requests look: what each shows of a session, of its origin, and of an agent's token."""

import secrets
from dataclasses import dataclass

from console.auth import agents, people, sessions
from console.auth.sessions import participant_cookie
from console.database import now_ms, reading, writing
from console.studies.design import Design
from console.studies.sessions import joining, lifecycle
from console.studies.sessions.withdrawal import withdraw
from tests.signing_in import signed_in

API_TOKEN = "the-token-of-the-settings"
EVIL = "https://evil.example"


@dataclass(frozen=True)
class Site:
    """A console that really listens on that port of this machine."""

    port: int

    @property
    def host(self):
        """What its own pages send as Host."""
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self):
        """What its own pages send as Origin."""
        return f"http://{self.host}"

    @property
    def cookie(self):
        """The name of a person's cookie."""
        return f"inferact_{self.port}"


def headers_of(adversary, site):
    """The headers of that adversary's requests: those of our own pages, but for what makes it this adversary."""
    return {"Host": site.host, "Origin": site.origin} | _ADVERSARIES[adversary](site)


def study_code(places, **changes):
    """The code of an open study with that many places, and whatever else its design has."""
    fields = {
        "name": f"pilot-{secrets.token_hex(4)}",
        "source": {"actor": "scripted", "environment": "webshop"},
        "tasks": 1,
        "trials": 1,
        "participants": {"human": places},
        "consent": {"text": "Agree?"},
    }
    study = lifecycle.create(Design.model_validate(fields | changes), now_ms())
    lifecycle.open_study(study.name)
    return study.join_code


def participant():
    """(the cookie's value, who it is, the study's code) of somebody who takes the only place of a study."""
    code = study_code(places=1)
    person = joining.join(code)
    return participant_cookie(person.secret), person, code


def agent_token(*, is_disabled=False):
    """The token of a new agent."""
    name = f"bot {secrets.token_hex(4)}"
    with writing() as session:
        token = agents.add(session, name, now_ms())
        if is_disabled:
            session.flush()
            agents.disable(session, name, now_ms())
    return token


def ended(name):
    """The token of a session that is over."""
    token = signed_in(name)
    with writing() as session:
        sessions.end_session(session, token, now_ms())
    return token


def disabled(name):
    """The token of a session of somebody who was disabled."""
    token = signed_in(name)
    with writing() as session:
        people.disable(session, people.get_person(session, name), now_ms())
    return token


def sessions_of(name):
    """How many sessions of that person are open."""
    with reading() as session:
        return len(sessions.open_sessions(session, now_ms(), name))


def _withdrawn():
    cookie, person, _ = participant()
    withdraw(person.id)
    return cookie


def _person(name, role):
    return lambda site: {"Cookie": f"{site.cookie}={signed_in(name, role)}"}


def _other_page(**headers):
    """A page that is not the console's, in the browser of a reviewer who is signed in."""
    return lambda site: (
        _person("Rae", "reviewer")(site)
        | {name: value.format(port=site.port, next=site.port + 1) for name, value in headers.items()}
    )


def _agent(*, is_disabled=False):
    """An agent that knows the reviewer's name."""
    return lambda site: {
        "Authorization": f"Bearer {agent_token(is_disabled=is_disabled)}",
        "Cookie": f"{site.cookie}=Rae",
    }


_ADVERSARIES = {
    "nobody": lambda site: {},
    "a name": lambda site: {"Cookie": f"{site.cookie}=Rae; inferact_hat=Rae"},
    "made-up session": lambda site: {"Cookie": f"{site.cookie}={'x' * 43}"},
    "another port's cookie": lambda site: {"Cookie": f"inferact_{site.port + 1}={signed_in('Rae', 'reviewer')}"},
    "ended session": lambda site: {"Cookie": f"{site.cookie}={ended('Eve')}"},
    "disabled person": lambda site: {"Cookie": f"{site.cookie}={disabled('Dan')}"},
    "withdrawn participant": lambda site: {"Cookie": f"{site.cookie}_participant={_withdrawn()}"},
    "foreign page": _other_page(Origin=EVIL),
    "page of another local port": _other_page(Origin="http://127.0.0.1:{next}"),
    "sandboxed page": _other_page(Origin="null"),
    "rebound name": _other_page(Host="evil.example", Origin="http://evil.example"),
    "another local name": _other_page(Origin="http://localhost:{port}"),
    "agent": _agent(),
    "disabled agent": _agent(is_disabled=True),
    "token of the settings": lambda site: {"Authorization": f"Bearer {API_TOKEN}"},
    "reviewer": _person("Rae", "reviewer"),
    "researcher": _person("Sam", "researcher"),
    "admin": _person("Rosa", "admin"),
    "participant": lambda site: {"Cookie": f"{site.cookie}_participant={participant()[0]}"},
}
