"""Sign-in by an organisation's OpenID provider: the code flow with PKCE, which opens a session of this console.

The extra `oidc` installs Authlib, which stores state, nonce and verifier in a cookie for ten minutes.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response

from console.auth import audit_log, people
from console.auth.audit_log import By, Door
from console.auth.kept_secrets import load_secret
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import _, gettext_noop
from console.server.sign_in import wrong_tokens
from console.server.sign_in.html_pages import HEADERS, notice
from console.server.sign_in.session_cookies import lead_in, let_in, read_kept_link
from console.server.site import Site, is_loopback
from console.settings import settings

BEGIN, BACK = "/sign-in/organisation", "/sign-in/organisation/back"

_ON_THE_WAY_S = 600
_CLOCKS_APART_S = 60
_LONGEST = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider (OpenID Connect Core 1.0), with this console's client id and secret."""

    metadata_url: str
    client_id: str
    client_secret: str = field(repr=False)


class NotLetIn(Refused):
    """A refusal of the sign-in by the provider or the console; the audit log records the reason in English."""

    def __init__(self, reason: str, **fields: str) -> None:
        self.english = reason.format(**fields)
        super().__init__(_(reason).format(**fields))


def provider() -> Provider | None:
    """Return the provider in the settings, or None if none is set; raise BadInput if the settings are invalid."""
    given = settings()
    parts = (given.oidc_metadata_url, given.oidc_client_id, given.oidc_client_secret)
    if not any(parts):
        return None
    url, client_id, secret = parts
    if not url or not client_id or not secret:
        raise BadInput(
            "INFERACT_OIDC_METADATA_URL, INFERACT_OIDC_CLIENT_ID and INFERACT_OIDC_CLIENT_SECRET belong "
            "together. Set all three variables, or none."
        )
    address = urlsplit(url)
    if address.scheme != "https" and not (address.scheme == "http" and is_loopback(address.hostname or "")):
        raise BadInput("INFERACT_OIDC_METADATA_URL is not an https address. Correct the address.")
    if find_spec("authlib") is None:
        raise BadInput("Organisation sign-in needs Authlib. Install Authlib: pip install 'inferact-console[oidc]'")
    return Provider(url, client_id, secret.get_secret_value())


def begin_address(site: Site) -> str | None:
    """Return the address that starts the organisation sign-in, or None if no provider is configured."""
    # Under the name that the provider redirects to, since the cookie is bound to it.
    return f"{site.base}{BEGIN}" if provider() else None


def on_the_way(site: Site) -> list[Middleware]:
    """Return the middleware that stores the state of a sign-in in a signed cookie, or [] without a provider."""
    if provider() is None:
        return []
    return [
        Middleware(
            SessionMiddleware,
            secret_key=load_secret("oidc.secret"),
            session_cookie=f"inferact_{site.port}_oidc",
            max_age=_ON_THE_WAY_S,
            path=BEGIN,
            same_site="lax",
            https_only=site.is_secure,
        )
    ]


async def begin(site: Site, request: Request) -> Response:
    """Send the browser to the provider."""
    found = provider()
    if found is None:
        return _not_set_up()
    try:
        response: Response = await _client(found).authorize_redirect(request, f"{site.base}{BACK}")
    except Exception as problem:
        # Every failure of the provider becomes one sentence here.
        _log.warning("The OpenID provider cannot be used: %r", problem)
        return notice(
            _("Your organisation's sign-in service does not respond"),
            _("Try again in a moment, or ask the operator for a link."),
            502,
        )
    response.headers.update(HEADERS)
    return response


async def complete_sign_in(site: Site, request: Request) -> Response:
    """Open a session for the invited person that the provider identifies."""
    found = provider()
    if found is None:
        return _not_set_up()
    await wrong_tokens.slow(request)
    began_here, claims = bool(request.session), dict[str, Any]()
    try:
        claims = await _claims(found, request)
        token, first = await asyncio.to_thread(_open, claims, request)
    except NotLetIn as refusal:
        wrong_tokens.count_wrong(request, "sign-in by the organisation")
        # Anyone can send an answer; only a browser that began here may write to the audit log.
        if began_here:
            await asyncio.to_thread(_record_refusal, refusal.english, _email(claims), request)
        return notice(_("You are not signed in"), str(refusal), 403)
    finally:
        request.session.clear()
    wrong_tokens.forget(request)
    return lead_in(site, token, read_kept_link(request, site) or first)


async def _claims(found: Provider, request: Request) -> dict[str, Any]:
    """Return the claims of the ID token after checking its signature, issuer, audience, nonce and time."""
    client = _client(found)
    try:
        issuer = (await client.load_server_metadata())["issuer"]
        wanted = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": found.client_id}}
        token = await client.authorize_access_token(request, claims_options=wanted, leeway=_CLOCKS_APART_S)
        return dict(token["userinfo"])
    except Exception as problem:
        # An answer with any fault at all must not open a session.
        _log.warning("An answer of the OpenID provider was refused: %s", repr(problem)[:_LONGEST])
        raise NotLetIn(
            gettext_noop(
                "Your organisation refused the sign-in, or its response could not be verified. Sign in again, or ask "
                "the operator for a link."
            )
        ) from problem


def _open(claims: dict[str, Any], request: Request) -> tuple[str, str]:
    """Return the token of the new session and the first page; raise NotLetIn for an uninvited or disabled person."""
    email = _email(claims)
    # Names match loosely, but two addresses that only look alike are different.
    if "@" not in email or not email.isascii() or claims.get("email_verified") is not True:
        raise NotLetIn(
            gettext_noop("Your organisation sent no verified e-mail address for you. Ask the operator for a link.")
        )
    with writing() as session:
        person = people.find_person(session, email) if len(email) <= people.MAX_NAME else None
        if person is None:
            nobody = gettext_noop(
                "{email} has no invitation. Ask the operator of this console to invite you under this address."
            )
            raise NotLetIn(nobody, email=email)
        if person.disabled_ms is not None:
            raise NotLetIn(people.DISABLED, name=person.name)
        return let_in(session, person, request, {"issuer": str(claims["iss"]), "sub": str(claims["sub"])})


def _record_refusal(reason: str, email: str, request: Request) -> None:
    by, detail = By("somebody", Door.BROWSER, wrong_tokens.address_of(request)), {"reason": reason}
    with writing() as session:
        audit_log.record(session, None, "sign-in refused", now_ms(), by=by, subject=email[:_LONGEST], detail=detail)


def _email(claims: dict[str, Any]) -> str:
    return str(claims.get("email") or "").strip()


def _not_set_up() -> Response:
    return notice(
        _("Page not found"), _("This console has no sign-in with an organisation. Ask the operator for a link."), 404
    )


@lru_cache(maxsize=1)
def _client(found: Provider) -> Any:
    from authlib.integrations.starlette_client import OAuth

    return OAuth().register(
        "organisation",
        server_metadata_url=found.metadata_url,
        client_id=found.client_id,
        client_secret=found.client_secret,
        client_kwargs={"scope": "openid email", "code_challenge_method": "S256"},
    )
