"""The gateway of plain HTTP services: which operations are tools, what is sent, and what asks again."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

pytest.importorskip("mcp", reason="the extra mcp of inferact-client is not installed")

from inferact_client.errors import ClientError
from inferact_client.mcp_gateway.gateway import Gateway
from inferact_client.mcp_gateway.http_tools import HttpTools, read_operations
from inferact_client.mcp_gateway.servers_file import GatewaySpec, ServerSpec
from mcp import Client

from tests.console.client.test_mcp_gateway import bench, read, served

__all__ = ["bench", "served"]
ORDER = {"type": "integer"}
SHOP = {
    "openapi": "3.1.0",
    "components": {
        "schemas": {
            "Refund": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
            "Tree": {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Tree"}}},
        },
        "parameters": {"Order": {"name": "order", "in": "path", "required": True, "schema": ORDER}},
    },
    "paths": {
        "/orders/{order}/refund": {
            "parameters": [{"$ref": "#/components/parameters/Order"}],
            "post": {
                "operationId": "refundOrder",
                "summary": "Refund an order.",
                "parameters": [
                    {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}}
                ],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refund"}}},
                },
            },
        },
        "/notes/{title}": {"get": {"parameters": [{"name": "title", "in": "path", "schema": {"type": "string"}}]}},
        "/pictures": {"post": {"operationId": "draw", "requestBody": {"content": {"image/png": {}}}}},
        "/trees": {
            "post": {
                "operationId": "plant",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}},
            }
        },
        "/loose/{part}": {"get": {"operationId": "loose"}},
        "/cookies": {
            "get": {
                "operationId": "eat",
                "parameters": [{"name": "kind", "in": "cookie", "schema": {"type": "string"}}],
            }
        },
    },
}


@pytest.fixture
def shop(tmp_path):
    """(the spec of a shop's server, the requests that it got)."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self._answer()

        def do_GET(self):
            self._answer()

        def _answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            got.append((self.command, self.path, self.headers.get("Authorization"), body))
            is_found = self.command == "POST"
            self.send_response(200 if is_found else 302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"Refunded." if is_found else b"Moved.")

        def log_message(self, *_):
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    file = tmp_path / "openapi.yaml"
    file.write_text(yaml.safe_dump(SHOP))
    url = f"http://127.0.0.1:{server.server_address[1]}/v2"
    yield ServerSpec("shop", url=url, headers={"Authorization": "Bearer secret"}, tools=str(file)), got
    server.shutdown()
    thread.join()
    server.server_close()


def test_operations_that_fit_json_are_tools_and_others_are_named(shop, caplog):
    found = {one.tool.name: one.tool for one in read_operations(Path(shop[0].tools))}
    assert list(found) == ["get_notes_title", "refundOrder"]
    schema = found["refundOrder"].input_schema
    assert schema["properties"]["order"] == ORDER
    assert schema["properties"]["body"]["properties"] == {"amount": {"type": "number"}}
    assert (schema["required"], schema["additionalProperties"]) == (["order", "body"], False)
    hints = [(tool.annotations.read_only_hint, tool.annotations.destructive_hint) for tool in found.values()]
    assert hints == [(True, False), (False, True)]
    for words in ("POST /pictures", "refers to itself", "path's part is not described", "kind in cookie"):
        assert words in caplog.text


def test_file_that_is_not_openapi_is_refused(tmp_path):
    for text in ("swagger: '2.0'", "[", "- a"):
        path = tmp_path / "tools.yaml"
        path.write_text(text)
        with pytest.raises(ClientError):
            read_operations(path)


def test_arguments_stay_in_their_place(shop):
    spec, got = shop

    async def work():
        tools = HttpTools(spec)
        await tools.list_tools()
        await tools.call("get_notes_title", {"title": "a/../b?x=1#y"})
        said = [await tools.call("get_notes_title", {"title": title}) for title in ("..", "", {"a": 1})]
        said.append(await tools.call("refundOrder", {"order": 1, "body": {"amount": 1}, "admin": True}))
        said.append(await tools.call("refundOrder", {"order": 1}))
        await tools.drop()
        return said

    refused = asyncio.run(work())
    assert [request[:2] for request in got] == [("GET", "/v2/notes/a%2F..%2Fb%3Fx%3D1%23y")]
    assert all(one.is_error and "The request was not sent" in read(one) for one in refused)


def test_operation_runs_once_with_an_approval_and_asks_again_after_a_change(bench, shop):
    spec, got = shop
    call = {"order": 12, "tag": ["late", "b&c"], "body": {"amount": 20}}

    async def work():
        gateway = Gateway(GatewaySpec(bench.url, bench.token, bench.run, (spec,), journal=bench.folder / "journal"))
        async with gateway.opened() as server, Client(server) as client:
            asking = asyncio.create_task(client.call_tool("refundOrder", call))
            await bench.items()
            before = list(got)
            await bench.approve()
            ran = await asking
            asking = asyncio.create_task(client.call_tool("refundOrder", call | {"order": 13}))
            await bench.items(2)
            changed = json.loads(json.dumps(SHOP))
            changed["paths"]["/orders/{order}/refund"]["post"]["summary"] = "Refund everything."
            (bench.folder / "openapi.yaml").write_text(yaml.safe_dump(changed))
            await bench.approve()
            return before, ran, await asking

    before, ran, refused = asyncio.run(work())
    assert (before, read(ran), ran.is_error) == ([], "Refunded.", False)
    assert "changed the definition of this tool" in read(refused)
    assert got == [("POST", "/v2/orders/12/refund?tag=late&tag=b%26c", "Bearer secret", '{"amount":20}')]
