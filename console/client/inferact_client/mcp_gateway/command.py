"""The command `inferact-mcp`: serve the gateway over stdio or HTTP."""

from __future__ import annotations

import argparse
import asyncio
import hmac
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

from inferact_client.errors import ClientError
from inferact_client.mcp_gateway.servers_file import GatewaySpec, read_gateway

TOKEN = "INFERACT_MCP_TOKEN"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 for a file or an environment that cannot be used."""
    options = _parser().parse_args(arguments)
    # Standard output belongs to the protocol.
    logging.basicConfig(stream=sys.stderr, format="inferact-mcp: %(message)s", level=logging.WARNING)
    try:
        spec = read_gateway(Path(options.config))
        if options.http:
            asyncio.run(_serve_http(spec, *_address(options.http), _token()))
        else:
            asyncio.run(_serve_stdio(spec))
    except ClientError as failure:
        sys.stderr.write(f"inferact-mcp: {failure}\n")
        return 2
    except ImportError as missing:
        sys.stderr.write(f"inferact-mcp: {missing.name} is not installed. Run: pip install 'inferact-client[mcp]'\n")
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 0
    return 0


async def _serve_stdio(spec: GatewaySpec) -> None:
    from mcp.server.stdio import stdio_server

    from inferact_client.mcp_gateway.gateway import Gateway

    me = asyncio.current_task()
    if me is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)
    async with Gateway(spec).opened() as server, stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def _serve_http(spec: GatewaySpec, host: str, port: int, token: str) -> None:
    import uvicorn

    from inferact_client.mcp_gateway.gateway import Gateway

    async with Gateway(spec).opened() as server:
        app = _with_token(server.streamable_http_app(host=host), token)
        config = uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=5)
        sys.stderr.write(f"inferact-mcp: http://{host}:{port}/mcp\n")
        await uvicorn.Server(config).serve()


def _with_token(app: Any, token: str) -> Any:
    """Return the ASGI app behind a bearer token; other requests get 401."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, wanted):
            await app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"Send the gateway's token as Authorization: Bearer TOKEN."})

    return guarded


def _token() -> str:
    token = os.environ.get(TOKEN, "")
    if len(token) < 16:
        raise ClientError(
            f"Set {TOKEN} to a secret of at least 16 characters, which MCP clients send as a bearer token."
        )
    return token


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise ClientError(f"{text!r} is not a valid address for --http. Give host and port, such as 127.0.0.1:8700.")
    return host, int(port)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="inferact-mcp", description="Run the tools of MCP servers behind a console.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the tools over stdio, or over HTTP with --http")
    serve.add_argument("--config", required=True, metavar="FILE", help="YAML file with the console and the servers")
    serve.add_argument("--http", metavar="HOST:PORT", help="serve streamable HTTP at this address, path /mcp")
    return parser
