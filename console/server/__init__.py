"""The server: the console and its HTTP API as one ASGI app, webhooks and the worker.

`serve` builds and starts the app, `site` has the console's addresses, `guard` admits requests, `sign_in` has the pages
that do not require a session, `api` serves agents, `content_security` restricts the sources from which a browser loads,
`worker` runs in parallel to the server, `webhooks` sends decisions to agents' servers.
"""
