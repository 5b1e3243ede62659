"""What the API writes into the audit: the agent, through this door, from its address."""

import csv

from console.cli import run_command
from tests.serving import new_agent


def test_what_a_check_makes_is_recorded_as_the_agent_s(serve, question, data_dir, tmp_path):
    server = serve()
    with server.client_with(new_agent(data_dir, "shopper")) as client:
        assert client.post("/checks", json=question(run="bot")).status_code == 202
    out = tmp_path / "events.csv"
    assert run_command(["export", "events", "--run", "bot", "--out", str(out)]) == 0
    made = next(csv.DictReader(out.read_text().splitlines()))
    assert (made["kind"], made["actor"], made["door"], made["where"]) == ("run created", "shopper", "api", "127.0.0.1")
