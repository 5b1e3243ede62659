"""Prints the methods and the path of every route that the served app answers, ours and Streamlit's, as JSON."""

import json

from starlette.routing import Mount, WebSocketRoute
from streamlit import config
from streamlit.web import bootstrap

from console.server import serve
from console.server.site import site_at


def described(route):
    if isinstance(route, Mount):
        return [["GET"], f"{route.path}/{{a page}}"]
    if isinstance(route, WebSocketRoute):
        return [["WEBSOCKET"], route.path]
    return [sorted(route.methods or []), route.path]


if __name__ == "__main__":
    site = site_at("127.0.0.1", 8501, None)
    config.get_config_files = lambda file_name: []
    bootstrap.load_config_options(serve.options(site))
    from console.server.app import console_app

    print(json.dumps([described(route) for route in console_app(site, serve.app_file())._build_starlette_app().routes]))
