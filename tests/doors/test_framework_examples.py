"""The handbook's examples of frameworks, as they are shown, with the frameworks' own clients of models.

The model is a scripted endpoint in the provider's protocol; it wants to refund an order that nobody asked about.
"""

import json
import os
import re
import subprocess

import pytest

from console import runs
from console.database import now_ms, writing
from console.gate import Gate
from console.gate.policy import policy_store
from console.settings import settings
from console.web.handbook import chapter
from tests.doors.contract import CLIENT, Case, Reviewers, find_python
from tests.doors.scripted_models import ScriptedModel
from tests.serving import new_agent, serving

EXAMPLES = dict(re.findall(r"^## (.+?)$.*?^```python\n(.*?)^```$", chapter("frameworks"), re.MULTILINE | re.DOTALL))
NEEDS = {
    "LangChain": "langchain, langchain_openai",
    "LangGraph with HumanInTheLoopMiddleware": "langchain, langchain_openai",
    "OpenAI Agents SDK": "agents",
    "OpenAI Agents SDK with needs_approval": "agents",
    "Pydantic AI": "pydantic_ai, openai",
    "Strands": "strands, openai",
    "Google ADK": "google.adk",
    "Microsoft Agent Framework": "agent_framework.openai",
    "Claude Agent SDK": "claude_agent_sdk",
    "Inspect": "inspect_ai, openai",
}
CALL = "refund_order", {"order": 13, "amount": 20}
DECIDED = {
    "approve": [("rita", "approve", "", None)],
    "reject": [("rita", "reject", "Wrong order.", None)],
    "edit": [("rita", "edit", "", {"amount": 5})],
    "nothing": [],
}
NO_EDIT = ("OpenAI Agents SDK with needs_approval",)
"""The examples whose framework cannot replace the arguments of an approved call."""
ADDRESS = "http://127.0.0.1:8501"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A served console without undo time, and its data directory."""
    data = tmp_path_factory.mktemp("examples") / "data"
    with serving(data) as server:
        yield server, data


def test_each_adapter_has_a_short_example():
    assert [*EXAMPLES] == [*NEEDS]
    assert max(text.count("\n") for text in EXAMPLES.values()) < 40
    shown = set(re.findall(r"inferact_client\.adapters\.(\w+)", "".join(EXAMPLES.values())))
    known = {file.stem for file in (CLIENT / "inferact_client" / "adapters").glob("*.py")}
    assert shown == known - {"__init__", "shared"}


@pytest.mark.at_length
@pytest.mark.parametrize("decided", DECIDED)
@pytest.mark.parametrize("name", NEEDS)
def test_example_runs_as_it_is_shown(served, tmp_path, monkeypatch, name, decided):
    python = find_python(NEEDS[name])
    if python is None:
        pytest.skip(f"{NEEDS[name]} is not installed; INFERACT_FRAMEWORKS names a folder of environments")
    server, data = served
    monkeypatch.setenv("INFERACT_DATA_DIR", str(data))
    settings.cache_clear()
    run, database = f"{decided} {name}", f"sqlite:///{data / 'console.db'}"
    Gate(run, url=database, undo_s=0).open()
    with writing(database) as session:
        policy_store.save(session, runs.get(session, run), "undo: 0\ndefault: ask\n", "ada", now_ms())
    text = EXAMPLES[name].replace('"support-bot"', repr(run)).replace(ADDRESS, server.url)
    (tmp_path / "agent.py").write_text(text if DECIDED[decided] else text.replace("1800", "4"))
    reviewers = Reviewers(database, run, Case(name, [], reviews={"refund_order": DECIDED[decided]}))
    with ScriptedModel(function=CALL) as model:
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT)}
        env |= {"INFERACT_TOKEN": new_agent(data, run), "INFERACT_HOOK_STATE": str(tmp_path / "state")}
        env |= {"OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": "none", "GEMINI_API_KEY": "none"}
        env |= {"GOOGLE_GEMINI_BASE_URL": model.url, "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
        env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "OPENAI_AGENTS_DISABLE_TRACING": "1"}
        # Claude Code would offer the tool only after a search for it.
        env["ENABLE_TOOL_SEARCH"] = "false"
        reviewers.start()
        try:
            ran = subprocess.run(
                [python, "agent.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=170
            )
        finally:
            reviewers.stop()
    assert "Finished." in ran.stdout, ran.stderr[-3_000:]
    (result,) = model.results.values()
    assert ("Refunded 20 for order 13." in result) == (decided == "approve"), json.loads(result)
    assert ("Refunded 5 for order 13." in result) == (decided == "edit" and name not in NO_EDIT), json.loads(result)
    assert ("Refunded" in result) == (decided in ("approve", "edit") and (name, decided) != (*NO_EDIT, "edit"))
    assert ("Wrong order." in result) == (decided == "reject"), json.loads(result)
