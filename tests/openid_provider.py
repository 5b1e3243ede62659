"""An OpenID provider of one person: discovery, authorize, token and keys, with the faults that it can have."""

import base64
import hashlib
import secrets
import threading
import time
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlencode

import uvicorn
from joserfc import jwk, jwt
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from tests.serving import free_port

CLIENT_ID, CLIENT_SECRET = "inferact", "the-secret-of-the-client"


class OpenIdProvider:
    """The provider; `claims` are added to each ID token, None takes one out, `key` signs it."""

    def __init__(self, port):
        self.issuer = f"http://127.0.0.1:{port}"
        self._own_key = jwk.RSAKey.generate_key(2048, {"kid": "own"})
        self.stranger_key = jwk.RSAKey.generate_key(2048, {"kid": "own"})
        self._codes = {}
        self.forget()
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._metadata),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    def forget(self):
        """Takes every fault back."""
        self.claims, self.key, self.has_id_token, self.asked = {}, self._own_key, True, []

    async def _metadata(self, _request):
        found = {name: f"{self.issuer}/{path}" for name, path in _ENDPOINTS.items()}
        return JSONResponse(found | {"issuer": self.issuer, "id_token_signing_alg_values_supported": ["RS256"]})

    async def _authorize(self, request):
        """Lets the person in at once, as a provider does that knows its browser."""
        asked = dict(request.query_params)
        self.asked.append(asked)
        code = secrets.token_urlsafe(8)
        self._codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 302)

    async def _token(self, request):
        sent = dict(parse_qsl((await request.body()).decode()))
        asked = self._codes.pop(sent.get("code"), None)
        known = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if asked is None or request.headers.get("authorization") != f"Basic {known}":
            return JSONResponse({"error": "invalid_grant"}, 400)
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        if asked["code_challenge"] != base64.urlsafe_b64encode(digest).decode().rstrip("="):
            return JSONResponse({"error": "invalid_grant"}, 400)
        token = {"access_token": secrets.token_urlsafe(8), "token_type": "Bearer"}
        return JSONResponse(token | ({"id_token": self._id_token(asked["nonce"])} if self.has_id_token else {}))

    def _id_token(self, nonce):
        now = int(time.time())
        said = {"iss": self.issuer, "sub": "u-1", "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce}
        said |= {"email": "ada@example.org", "email_verified": True} | self.claims
        kept = {name: value for name, value in said.items() if value is not None}
        return jwt.encode({"alg": "RS256", "kid": "own"}, kept, self.key)

    async def _keys(self, _request):
        return JSONResponse({"keys": [self._own_key.as_dict(private=False)]})


_ENDPOINTS = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}


@contextmanager
def providing():
    """A provider that listens on this machine."""
    port = free_port()
    provider = OpenIdProvider(port)
    server = uvicorn.Server(uvicorn.Config(provider.app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield provider
    finally:
        server.should_exit = True
        thread.join()
