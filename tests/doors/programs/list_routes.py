"""Prints the methods and the path of every route that the served app answers, ours and Streamlit's, as JSON."""

import json

from starlette.routing import Mount, WebSocketRoute

from console.server import serve
from console.server.site import site_at
from console.web.streamlit_internals import load_options


def described(route):
    if isinstance(route, Mount):
        return [["GET"], f"{route.path}/{{a page}}"]
    if isinstance(route, WebSocketRoute):
        return [["WEBSOCKET"], route.path]
    return [sorted(route.methods or []), route.path]


if __name__ == "__main__":
    site = site_at("127.0.0.1", 8501, None)
    load_options(serve.options(site))
    app = serve.console_app(site, serve.app_file())
    print(json.dumps([described(route) for route in app._build_starlette_app().routes]))
