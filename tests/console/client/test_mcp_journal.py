"""The journal of the gateway: what an earlier process began, and what the console did not get."""

from inferact_client.mcp_gateway.tasks import UNKNOWN_RESULT, Journal


def test_next_process_knows_what_began_and_what_was_not_reported(tmp_path):
    first = Journal(tmp_path / "journal")
    for number, task in enumerate(["mcp a", "mcp a", "mcp b"]):
        first.write("begun", f"c{number}", task=task, name="pay", arguments={"n": number})
    first.write("result", "c0", text="Paid.")
    first.write("reported", "c0")
    first.write("result", "c2", text="Paid too.")
    first.close()
    (written,) = (tmp_path / "journal").glob("*.jsonl")
    with written.open("a") as file:
        # The process was killed within this line.
        file.write('{"event": "result", "check_id": "c1", "te')
    assert written.stat().st_mode & 0o077 == 0
    second = Journal(tmp_path / "journal")
    steps = [(step["action"]["arguments"]["n"], step["observation"]) for step in second.steps("mcp a")]
    assert steps == [(0, "Paid."), (1, UNKNOWN_RESULT)]
    assert second.unreported() == {"c2": "Paid too."}
    assert Journal(tmp_path / "nothing here").steps("mcp a") == []
