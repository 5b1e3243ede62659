"""The server: the console and its HTTP API as one ASGI app, webhooks, the worker, and how they start and stop.

`app` is the ASGI app, `site` its names and links, `guard` who gets to it, `sign_in` the plain pages before it, `api`
what agents in other languages call, `content_security` what a browser may load, `serve` starts it all, `worker` is the
loop beside it, `webhooks` tells agents' servers of decisions.
"""
