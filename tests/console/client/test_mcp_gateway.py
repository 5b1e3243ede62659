"""The gateway of MCP servers: what runs, what does not, and what the agent reads."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlmodel import select

pytest.importorskip("mcp", reason="the extra mcp of inferact-client is not installed")

from inferact_client.errors import ClientError
from inferact_client.mcp_gateway.gateway import STILL_WAITING, Gateway
from inferact_client.mcp_gateway.servers_file import GatewaySpec, ServerSpec, read_gateway
from mcp import Client

from console import runs
from console.database import now_ms, reading, review_queue, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.review import decisions
from console.review.decisions import ReviewDecision
from console.settings import settings
from storage import tables
from storage.queue import Claim
from tests.serving import new_agent, serving

BANK = Path(__file__).parents[2] / "doors" / "bank_server.py"
PAY = {"to": "ada", "amount": 5}
TRUST = """
undo: 0
hints_from: [%s]
rules: [{tool: balance, when: hints.read_only && !hints.destructive, then: allow}]
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A served console."""
    with serving(tmp_path_factory.mktemp("mcp") / "data") as server:
        yield server


class Bench:
    """A bank behind a gateway, in a run of its own, and a reviewer."""

    def __init__(self, served, folder, name):
        self.database, self.folder, self.run = f"sqlite:///{served.data / 'console.db'}", folder, name
        self.url, self.token = served.url, new_agent(served.data, name)
        Gate(name, url=self.database).open()
        with writing(self.database) as session:
            policy_store.save(session, runs.get(session, name), TRUST % name, "ada", now_ms())

    @asynccontextmanager
    async def client(self, hold_s=30.0, trusted=False, **times):
        """An MCP client of the gateway, which starts the bank itself."""
        bank = ServerSpec("bank", sys.executable, (str(BANK), str(self.folder)), trust_annotations=trusted)
        spec = GatewaySpec(
            self.url, self.token, self.run, (bank,), hold_s=hold_s, journal=self.folder / "journal", **times
        )
        async with Gateway(spec).opened() as server, Client(server) as client:
            yield client

    @property
    def executed(self):
        """The transfers that the bank has executed."""
        log = self.folder / "executed.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [{name: line[name] for name in PAY} for line in map(json.loads, lines)]

    async def items(self, least=1):
        """The run's items as (id, status), when there are that many."""
        for _ in range(200):
            with reading(self.database) as session:
                run = runs.get(session, self.run)
                item = tables.Item
                found = session.exec(select(item.id, item.status).where(item.run_id == run.id).order_by(item.id)).all()
            if len(found) >= least:
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"{found} after 10 s")

    async def approve(self):
        """Approve the next item."""
        queue = review_queue(self.database)
        for _ in range(200):
            with reading(self.database) as session:
                run = runs.get(session, self.run)
                session.expunge(run)
                claim = decisions.claim_next_item(queue, session, run, "rita", now_ms())
            if isinstance(claim, Claim):
                decisions.submit(queue, run, claim, "rita", ReviewDecision("approve"), now_ms())
                return
            await asyncio.sleep(0.05)
        raise AssertionError("nothing to approve")


@pytest.fixture
def bench(served, tmp_path, monkeypatch, request):
    """A bench for one test."""
    monkeypatch.setenv("INFERACT_DATA_DIR", str(served.data))
    settings.cache_clear()
    yield Bench(served, tmp_path, request.node.name[:60])
    settings.cache_clear()


def read(result):
    """The texts of a result."""
    return " ".join(part.text for part in result.content)


def test_call_comes_back_to_its_check_and_runs_once(bench):
    async def work():
        async with bench.client(hold_s=0.3) as client:
            first = await client.call_tool("transfer", PAY)
            again = await client.call_tool("transfer", PAY)
            await bench.approve()
            while read(last := await client.call_tool("transfer", PAY)) == STILL_WAITING:
                pass
            return first, again, last, await bench.items()

    first, again, last, items = asyncio.run(work())
    assert (read(first), first.is_error, read(again)) == (STILL_WAITING, True, STILL_WAITING)
    assert (read(last), last.is_error, bench.executed, len(items)) == ("Sent 5 to ada.", False, [PAY], 1)


@pytest.mark.at_length
def test_changed_definition_ends_the_approval_and_asks_again_even_if_a_rule_allows(bench):
    async def work():
        async with bench.client(trusted=True) as client:
            assert read(await client.call_tool("balance", {})) == "The balance is 12."
            asking = asyncio.create_task(client.call_tool("transfer", PAY))
            await bench.items()
            (bench.folder / "changed").touch()
            await bench.approve()
            refused = await asking
            executed = bench.executed
            asking = asyncio.create_task(client.call_tool("transfer", PAY))
            items = await bench.items(2)
            await bench.approve()
            return refused, executed, items, await asking

    refused, executed, items, ran = asyncio.run(work())
    assert "changed the definition of this tool" in read(refused)
    assert (executed, len(items), read(ran), bench.executed) == ([], 2, "Sent 5 to ada.", [PAY])


@pytest.mark.at_length
def test_hints_of_a_server_that_is_not_trusted_do_not_count(bench):
    async def work():
        async with bench.client(hold_s=0.2) as client:
            return await client.call_tool("balance", {}), await bench.items()

    said, items = asyncio.run(work())
    assert (read(said), len(items)) == (STILL_WAITING, 1)


@pytest.mark.at_length
def test_cancelled_call_withdraws_its_item(bench):
    async def work():
        async with bench.client() as client:
            asking = asyncio.create_task(client.call_tool("transfer", PAY))
            await bench.items()
            asking.cancel()
            for _ in range(400):
                if (found := await bench.items())[0][1] != "pending":
                    return found
                await asyncio.sleep(0.05)
            return found

    assert [status for _, status in asyncio.run(work())] == ["cancelled"]
    assert bench.executed == []


@pytest.mark.at_length
def test_server_that_dies_in_a_call_has_run_it_once_and_starts_again(bench):
    async def work():
        async with bench.client() as client:
            (bench.folder / "dies").touch()
            for _ in range(2):
                asking = asyncio.create_task(client.call_tool("transfer", PAY))
                await bench.approve()
                yield await asking

    async def collect():
        return [one async for one in work()]

    died, ran = asyncio.run(collect())
    assert "The call may have run" in read(died)
    assert (read(ran), bench.executed) == ("Sent 5 to ada.", [PAY, PAY])


@pytest.mark.at_length
def test_resources_and_prompts_pass_through(bench):
    async def work():
        async with bench.client() as client:
            return await client.list_resources(), await client.list_prompts(), await client.list_tools()

    resources, prompts, tools = asyncio.run(work())
    assert [one.name for one in resources.resources] == ["rates"]
    assert [one.name for one in prompts.prompts] == ["monthly"]
    assert [one.name for one in tools.tools] == ["transfer", "balance"]


CONSOLE = "console: {url: 'http://127.0.0.1:1', token: '${MCP_TEST_TOKEN}', run: bot}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CONSOLE + "servers: {}", "servers is empty"),
        (CONSOLE + "servers: {a: {command: x, url: y}}", "servers.a needs a command or a url, but not both"),
        (CONSOLE + "servers: {a: {command: x, headers: {}}}", "belongs to the other kind"),
        (CONSOLE + "servers: {a: {command: x, trust_annotation: true}}", "unknown. Use"),
        (CONSOLE + "servers: {a: {command: x, env: {KEY: '${NOT_SET_HERE}'}}}", "NOT_SET_HERE is not set"),
        (CONSOLE + "servers: {a__b: {command: x}}", "Use lower-case letters"),
        (CONSOLE + "hold_s: 0\nservers: {a: {command: x}}", "hold_s is 0"),
        ("servers: {a: {command: x}}", "lacks console"),
        ("servers: [", "cannot be read as YAML"),
    ],
)
def test_bad_file_is_refused_in_one_sentence(tmp_path, monkeypatch, text, words):
    monkeypatch.setenv("MCP_TEST_TOKEN", "secret")
    path = tmp_path / "servers.yaml"
    path.write_text(text)
    with pytest.raises(ClientError, match=words):
        read_gateway(path)


def test_file_takes_secrets_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_TEST_TOKEN", "secret")
    path = tmp_path / "servers.yaml"
    path.write_text(
        CONSOLE + "servers: {web: {url: 'http://x/mcp', headers: {Authorization: 'Bearer ${MCP_TEST_TOKEN}'}}}"
    )
    spec = read_gateway(path)
    assert (spec.token, spec.servers[0].headers) == ("secret", {"Authorization": "Bearer secret"})
