"""Identities: who is at a browser, and what their roles let them open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from console.errors import BadInput


class Role(StrEnum):
    """A reviewer sees Inbox and Review, a researcher every page; both see their own sessions.

    A researcher invites and disables whom has no other role than theirs, an admin everybody, whose sessions they end.

    A participant sees their study and no more; no person has that role.
    """

    REVIEWER = "reviewer"
    RESEARCHER = "researcher"
    ADMIN = "admin"
    PARTICIPANT = "participant"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who is at the browser, and as what; a participant's name is their code, in the study of that id."""

    name: str
    roles: frozenset[Role]
    study_id: int | None = None
    session_id: int | None = None

    def has(self, role: Role) -> bool:
        """Whether that is one of their roles."""
        return role in self.roles


def participant_identity(code: str, study_id: int) -> Identity:
    """The identity of a study's participant."""
    return Identity(code, frozenset({Role.PARTICIPANT}), study_id)


def roles_of(text: str) -> frozenset[Role]:
    """The roles in words joined by commas; every person may review. Raises BadInput for any other word."""
    return as_roles(word.strip().lower() for word in text.split(",") if word.strip())


def as_roles(words: Iterable[str]) -> frozenset[Role]:
    """The roles of those words, reviewer always among them; raises BadInput for a word that is none."""
    known = {str(role): role for role in (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN)}
    roles = {Role.REVIEWER}
    for word in words:
        if word not in known:
            raise BadInput(f"No role named {word!r}. Known: {', '.join(known)}.")
        roles.add(known[word])
    return frozenset(roles)


def roles_text(roles: Iterable[Role]) -> str:
    """Those roles as words joined by commas."""
    return ",".join(sorted(str(role) for role in roles))
