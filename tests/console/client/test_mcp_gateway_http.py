"""The gateway of MCP servers over HTTP: the command that serves it, its token, and a server behind an address."""

import asyncio
import os
import subprocess
import sys
import time

import httpx
import pytest
import yaml

pytest.importorskip("mcp", reason="the extra mcp of inferact-client is not installed")

from inferact_client.mcp_gateway.gateway import Gateway
from inferact_client.mcp_gateway.servers_file import GatewaySpec, ServerSpec
from mcp import Client

from console import runs
from console.database import now_ms, writing
from console.gate import Gate
from console.gate.policy import policy_store
from tests.console.client.test_mcp_gateway import BANK, PAY, bench, read, served
from tests.serving import free_port

__all__ = ["bench", "served"]
SECRET = "a-secret-of-the-gateway"


@pytest.fixture
def address(bench, tmp_path):
    """The address of the command's gateway, whose server is the bank."""
    port = free_port()
    console = {"url": bench.url, "token": bench.token, "run": bench.run}
    servers = {"bank": {"command": sys.executable, "args": [str(BANK), str(bench.folder)]}}
    (tmp_path / "servers.yaml").write_text(
        yaml.safe_dump({"console": console, "servers": servers, "journal": str(tmp_path)})
    )
    command = "import sys; from inferact_client.mcp_gateway.command import main; sys.exit(main(sys.argv[1:]))"
    options = ["serve", "--config", str(tmp_path / "servers.yaml"), "--http", f"127.0.0.1:{port}"]
    environment = os.environ | {"INFERACT_MCP_TOKEN": SECRET}
    process = subprocess.Popen([sys.executable, "-c", command, *options], env=environment)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        _await(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def _await(url, process):
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.get(url, trust_env=False)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    pytest.fail("the gateway did not come up")


@pytest.mark.at_length
def test_call_over_http_needs_the_token_and_runs_once_and_only_with_an_approval(bench, address):
    """The client is a second gateway, whose server is the address of the first one."""
    for headers in ({}, {"Authorization": "Bearer another-secret-of-the-gateway"}):
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        answer = httpx.post(address, json=asked, headers=headers, trust_env=False)
        assert (answer.status_code, "Bearer TOKEN" in answer.text) == (401, True)
    outer = f"{bench.run} outer"
    Gate(outer, url=bench.database).open()
    with writing(bench.database) as session:
        policy_store.save(session, runs.get(session, outer), "default: allow", "ada", now_ms())
    behind = ServerSpec("bank", url=address, headers={"Authorization": f"Bearer {SECRET}"})
    spec = GatewaySpec(bench.url, bench.token, outer, (behind,), journal=bench.folder / "outer")

    async def work():
        async with Gateway(spec).opened() as server, Client(server) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            asking = asyncio.create_task(client.call_tool(next(name for name in names if "transfer" in name), PAY))
            await bench.items()
            before = list(bench.executed)
            await bench.approve()
            return before, await asking

    before, ran = asyncio.run(work())
    assert (before, read(ran), bench.executed) == ([], "Sent 5 to ada.", [PAY])
