"""Sign-in by an organisation's OpenID provider: the code flow with PKCE, exchanged for a session of our own.

The extra `oidc` brings Authlib, which keeps state, nonce and verifier in a cookie of ten minutes until the way back.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import Response

from console.auth import api_token, people
from console.auth.kept_secrets import kept_secret
from console.auth.origin import By, Door
from console.database import now_ms, writing
from console.errors import BadInput, Refused
from console.language import _, gettext_noop
from console.runs import audit_log
from console.server.sign_in import wrong_tokens
from console.server.sign_in.coming_in import address_of, kept_link, lead_in, let_in
from console.server.sign_in.html_pages import HEADERS, notice
from console.server.site import Site
from console.settings import settings

BEGIN, BACK = "/sign-in/organisation", "/sign-in/organisation/back"

_ON_THE_WAY_S = 600
_CLOCKS_APART_S = 60
_LONGEST = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider (OpenID Connect Core 1.0), and what it knows this console by."""

    metadata_url: str
    client_id: str
    client_secret: str = field(repr=False)


class NotLetIn(Refused):
    """Whom the provider does not vouch for stays out; the audit log keeps the reason in English."""

    def __init__(self, reason: str, **fields: str) -> None:
        self.english = reason.format(**fields)
        super().__init__(_(reason).format(**fields))


def provider() -> Provider | None:
    """The provider of the settings, None where there is none; raises BadInput where it cannot be used."""
    given = settings()
    parts = (given.oidc_metadata_url, given.oidc_client_id, given.oidc_client_secret)
    if not any(parts):
        return None
    url, client_id, secret = parts
    if not url or not client_id or not secret:
        raise BadInput(
            "INFERACT_OIDC_METADATA_URL, INFERACT_OIDC_CLIENT_ID and INFERACT_OIDC_CLIENT_SECRET belong together; "
            "set all three, or none."
        )
    address = urlsplit(url)
    if address.scheme != "https" and not (address.scheme == "http" and api_token.is_loopback(address.hostname or "")):
        raise BadInput("INFERACT_OIDC_METADATA_URL is no https address.")
    if find_spec("authlib") is None:
        raise BadInput("Signing in by an organisation needs Authlib: pip install 'inferact-console[oidc]'")
    return Provider(url, client_id, secret.get_secret_value())


def begin_address(site: Site) -> str | None:
    """Where a sign-in by the organisation begins, None where none is set up."""
    # By the name that the provider sends people back to, or the cookie would not be there.
    return f"{site.base}{BEGIN}" if provider() else None


def on_the_way(site: Site) -> list[Middleware]:
    """What keeps the state of a sign-in in the browser, signed, until its way back; nothing where none is set up."""
    if provider() is None:
        return []
    return [
        Middleware(
            SessionMiddleware,
            secret_key=kept_secret("oidc.secret"),
            session_cookie=f"inferact_{site.port}_oidc",
            max_age=_ON_THE_WAY_S,
            path=BEGIN,
            same_site="lax",
            https_only=site.is_secure,
        )
    ]


async def begin(site: Site, request: Request) -> Response:
    """Sends the browser to the provider."""
    found = provider()
    if found is None:
        return _not_set_up()
    try:
        response: Response = await _client(found).authorize_redirect(request, f"{site.base}{BACK}")
    except Exception as problem:
        # Whatever an address elsewhere answers, or does not, is one sentence here.
        _log.warning("The OpenID provider cannot be used: %r", problem)
        return notice(_("Your organisation does not answer"), _("Try again in a moment, or ask for a link."), 502)
    response.headers.update(HEADERS)
    return response


async def back(site: Site, request: Request) -> Response:
    """Opens a session for the person whom the provider vouches for, where they were invited."""
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
        # Anybody can send an answer; only a browser that began here writes into the audit.
        if began_here:
            await asyncio.to_thread(partial(_record_refusal, refusal.english, _email(claims), request))
        return notice(_("You are not signed in"), str(refusal), 403)
    finally:
        request.session.clear()
    wrong_tokens.forget(request)
    return lead_in(site, token, kept_link(request, site) or first)


async def _claims(found: Provider, request: Request) -> dict[str, Any]:
    """What the provider's ID token says, once its signature, issuer, audience, nonce and time are checked."""
    client = _client(found)
    try:
        issuer = (await client.load_server_metadata())["issuer"]
        wanted = {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": found.client_id}}
        token = await client.authorize_access_token(request, claims_options=wanted, leeway=_CLOCKS_APART_S)
        return dict(token["userinfo"])
    except Exception as problem:
        # The answer comes from elsewhere: whatever is wrong with it, it lets nobody in.
        _log.warning("An answer of the OpenID provider was refused: %s", repr(problem)[:_LONGEST])
        raise NotLetIn(
            gettext_noop(
                "Your organisation did not let you in, or its answer could not be verified; begin again at the "
                "sign-in, or ask for a link."
            )
        ) from problem


def _open(claims: dict[str, Any], request: Request) -> tuple[str, str]:
    """(the token of the session, the first page); raises Refused for whom nobody invited, or who is disabled."""
    email = _email(claims)
    # Names are compared in the widest sense; two addresses that merely look alike are not one.
    if "@" not in email or not email.isascii() or claims.get("email_verified") is not True:
        raise NotLetIn(
            gettext_noop("Your organisation gave no verified e-mail address of yours; ask whoever runs this console.")
        )
    with writing() as session:
        person = people.person_named(session, email) if len(email) <= people.MAX_NAME else None
        if person is None:
            nobody = gettext_noop(
                "Nobody was invited as {email}; ask whoever runs this console to invite you under that address."
            )
            raise NotLetIn(nobody, email=email)
        if person.disabled_ms is not None:
            raise NotLetIn(people.DISABLED, name=person.name)
        return let_in(session, person, request, {"issuer": str(claims["iss"]), "sub": str(claims["sub"])})


def _record_refusal(reason: str, email: str, request: Request) -> None:
    by = By("somebody", Door.BROWSER, address_of(request))
    with writing() as session:
        audit_log.record(
            session, None, "sign-in refused", now_ms(), by=by, subject=email[:_LONGEST], detail={"reason": reason}
        )


def _email(claims: dict[str, Any]) -> str:
    return str(claims.get("email") or "").strip()


def _not_set_up() -> Response:
    return notice(_("Nothing here"), _("This console signs nobody in by an organisation; ask for a link."), 404)


@lru_cache(maxsize=1)
def _client(found: Provider) -> Any:
    """Authlib's client of that provider; it fetches the provider's metadata once."""
    from authlib.integrations.starlette_client import OAuth

    return OAuth().register(
        "organisation",
        server_metadata_url=found.metadata_url,
        client_id=found.client_id,
        client_secret=found.client_secret,
        client_kwargs={"scope": "openid email", "code_challenge_method": "S256"},
    )
