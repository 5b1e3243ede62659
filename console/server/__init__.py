"""The HTTP door: the console's pages and, under /api/v1, an API for agents that are not written in Python.

`door` is the ASGI app, `api` the routes with their one table in `operations`, `admission` who may come in,
`policy` what a browser may load, `schema` what is sent and answered.
"""

from console.server.app import app

__all__ = ["app"]
