"""The server: the console and its HTTP API as one ASGI app, webhooks and the worker."""
