"""Identities: the person or participant who uses a browser, and the roles that give access to pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from console.errors import BadInput


class Role(StrEnum):
    """A role of a person, or of a participant, who sees only their study.

    A reviewer sees Inbox and Review, a researcher every page; both see their own sessions. A researcher invites and
    disables people who have no role beyond the researcher's own; an admin does so for all, and ends their sessions.
    """

    REVIEWER = "reviewer"
    RESEARCHER = "researcher"
    ADMIN = "admin"
    PARTICIPANT = "participant"


@dataclass(frozen=True, slots=True)
class Identity:
    """The person or participant who uses the browser, with their roles.

    A participant's name is their code, and `study_id` is the id of their study.
    """

    name: str
    roles: frozenset[Role]
    study_id: int | None = None
    session_id: int | None = None

    def has(self, role: Role) -> bool:
        """Return whether the person has this role."""
        return role in self.roles


def participant_identity(code: str, study_id: int) -> Identity:
    """Return the identity of a study's participant."""
    return Identity(code, frozenset({Role.PARTICIPANT}), study_id)


def roles_of(text: str) -> frozenset[Role]:
    """Parse comma-separated roles and add reviewer; raise BadInput if a role is unknown."""
    return as_roles(word.strip().lower() for word in text.split(",") if word.strip())


def as_roles(words: Iterable[str]) -> frozenset[Role]:
    """Return the roles with these names and reviewer; raise BadInput if a role is unknown."""
    known = {str(role): role for role in (Role.REVIEWER, Role.RESEARCHER, Role.ADMIN)}
    roles = {Role.REVIEWER}
    for word in words:
        if word not in known:
            raise BadInput(f"No role named {word!r}. Known: {', '.join(known)}.")
        roles.add(known[word])
    return frozenset(roles)


def roles_text(roles: Iterable[Role]) -> str:
    """Return the roles as comma-separated words."""
    return ",".join(sorted(str(role) for role in roles))
