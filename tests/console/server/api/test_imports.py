"""A log sent as a body is imported as the command imports it."""

import pytest

from tests.logs import purchase, write_log


@pytest.fixture
def log(tmp_path):
    return write_log(tmp_path / "kettles.jsonl", purchase(0, wrong=True), purchase(1, wrong=False)).read_bytes()


def test_a_log_is_imported_and_known_the_second_time(admin, log):
    said = admin.post("/trajectories?run=sent&name=kettles.jsonl", content=log)
    assert said.status_code == 200
    assert said.json() == {
        "files": [
            {
                "path": "kettles.jsonl",
                "format": "jsonl",
                "read": 2,
                "imported": 2,
                "extended": 0,
                "duplicates": 0,
                "skipped": 0,
                "rejected": [],
                "trajectories": 2,
                "calls": 8,
                "answers": 0,
                "pictures": 0,
                "decisions": 0,
                "left_out": [],
                "documents": [],
            }
        ],
        "imported": 2,
        "rejected": 0,
    }
    again = admin.post("/trajectories?run=sent&format=jsonl", content=log).json()
    assert (again["imported"], again["files"][0]["duplicates"]) == (0, 2)


def test_a_damaged_log_leaves_nothing_behind_and_names_its_line(admin, log):
    said = admin.post("/trajectories?run=damaged&name=a.jsonl&format=jsonl", content=log + b"{broken\n")
    assert said.status_code == 422
    document = said.json()
    assert document["files"][0]["rejected"][0]["line"] == 3
    assert document["error"].startswith("a.jsonl, line 3:")
    assert document["imported"] == 0
    whole = admin.post("/trajectories?run=damaged&name=a.jsonl", content=log).json()
    assert whole["imported"] == 2


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", "?run=NAME"),
        ("?run=", "?run=NAME"),
        ("?run=a/b", "not a valid run name"),
        ("?run=a&format=no", "Unknown format 'no'"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused(admin, log, query, named):
    said = admin.post(f"/trajectories{query}", content=log)
    assert said.status_code == 422
    assert named in said.json()["error"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "..", "a\x00b", "x" * 500])
def test_a_name_is_no_path(admin, log, name):
    said = admin.post("/trajectories", params={"run": "named", "name": name, "format": "jsonl"}, content=log)
    assert said.status_code == 200


def test_an_empty_body_is_refused(admin):
    said = admin.post("/trajectories?run=empty", content=b"")
    assert said.status_code == 422
    assert said.json()["error"]


def test_an_agent_may_not_import(api, log):
    said = api.post("/trajectories?run=by-an-agent", content=log)
    assert said.status_code == 403
    assert "may not import" in said.json()["error"]
