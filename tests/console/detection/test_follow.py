"""Following of a session that is still written: each critical action once in the queue, also after a kill."""

import os
import signal
import subprocess
import sys
import time

import orjson
import pytest
from sqlmodel import select

from console import runs
from console.cli import run_command
from console.database import now_ms, reading, writing
from console.detection import batch, certificate
from console.detection.follow import AGENTS, Follower, count_pending
from storage import tables
from tests.overseen import decide


def event(kind, name, parent, content):
    role = {"role": kind, "content": content, "id": f"m-{name}"}
    return {"type": kind, "sessionId": "s-1", "uuid": name, "parentUuid": parent, "message": role}


def session_lines(commands, per_request=4):
    """A session in which each request leads to a few commands, with their results."""
    lines, parent = [], None
    for number in range(commands):
        if number % per_request == 0:
            lines.append(event("user", f"u{number}", parent, f"Do part {number // per_request}"))
            parent = f"u{number}"
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"git push part-{number}"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"pushed {number}"}
        lines.append(event("assistant", f"a{number}", parent, [call]))
        lines.append(event("user", f"r{number}", f"a{number}", [result]))
        parent = f"r{number}"
    return [orjson.dumps(line) + b"\n" for line in lines]


def queued(run="live"):
    """(action, step) of each pending item of the run, in the order of the items."""
    with reading() as session:
        statement = (
            select(tables.Item, tables.TrajectoryBody)
            .join(tables.TrajectoryBody, tables.TrajectoryBody.trajectory_id == tables.Item.trajectory_id)
            .join(tables.Run, tables.Run.id == tables.Item.run_id)
            .where(tables.Run.name == run, tables.Item.status == "pending")
            .order_by(tables.Item.id)
        )
        return [orjson.loads(body.body)["steps"][item.step]["action"] for item, body in session.exec(statement)]


def wanted(count):
    return [f'Bash({{"command":"git push part-{number}"}})' for number in range(count)]


@pytest.fixture
def log(tmp_path):
    return tmp_path / "logs" / "session.jsonl"


@pytest.fixture
def follower(log):
    log.parent.mkdir()
    made = Follower("live", [str(log.parent)])
    made.start()
    return made


@pytest.mark.at_length
def test_each_line_is_queued_once_and_half_a_line_waits(follower, log):
    lines = session_lines(6)
    with log.open("ab", buffering=0) as stream:
        for line in lines:
            stream.write(line[: len(line) // 2])
            before = queued()
            list(follower.poll())
            assert queued() == before
            stream.write(line[len(line) // 2 :])
            list(follower.poll())
    assert queued() == wanted(6)
    with reading() as session:
        found = session.exec(select(tables.Trajectory)).all()
        assert [one.n_steps for one in found] == [4, 2]
        assert len(session.exec(select(tables.LogImport)).all()) == 1
    again = Follower("live", [str(log.parent)])
    again.start()
    list(again.poll())
    assert queued() == wanted(6)


def test_a_reviewed_step_and_its_decision_stay_when_the_session_grows(follower, log):
    lines = session_lines(4)
    log.write_bytes(b"".join(lines[:3]))
    list(follower.poll())
    with writing() as session:
        (item,) = session.exec(select(tables.Item)).all()
        item.status, item.open_slots, held = "decided", 0, (item.id, item.trajectory_id, item.step)
        session.add(item)
    log.write_bytes(b"".join(lines))
    list(follower.poll())
    with reading() as session:
        kept = session.exec(select(tables.Item).order_by(tables.Item.id)).all()
        assert (kept[0].id, kept[0].trajectory_id, kept[0].step, kept[0].status) == (*held, "decided")
        assert {one.trajectory_id for one in kept} == {held[1]}
        assert [one.step for one in kept] == [0, 1, 2, 3]
    rewritten = [lines[0], lines[1].replace(b"git push part-0", b"rm -rf part-0"), *lines[2:]]
    log.write_bytes(b"".join(rewritten))
    list(follower.poll())
    with reading() as session:
        bodies = [orjson.loads(one.body) for one in session.exec(select(tables.TrajectoryBody)).all()]
    assert sorted(body["steps"][0]["action"] for body in bodies) == [
        'Bash({"command":"git push part-0"})',
        'Bash({"command":"rm -rf part-0"})',
    ]


def test_the_agents_own_folders_are_known(monkeypatch, tmp_path):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = {name: agent.folder for name, agent in AGENTS.items() if name != "codex"}
    assert folders == {
        "claude-code": tmp_path / "claude/projects",
        "gemini-cli": tmp_path / ".gemini/tmp",
        "copilot-cli": tmp_path / ".copilot/session-state",
        "pi": tmp_path / ".pi/agent/sessions",
        "cursor": tmp_path / ".cursor/projects",
    }


def test_a_transcript_of_cursor_is_found_in_its_folder_and_grows(monkeypatch, tmp_path, data_dir):
    monkeypatch.setenv("HOME", str(tmp_path))
    log = tmp_path / ".cursor/projects/w/agent-transcripts/c-1/c-1.jsonl"
    log.parent.mkdir(parents=True)
    asked = {"role": "user", "message": {"content": [{"type": "text", "text": "Delete the old build"}]}}
    follower = Follower("r", ["cursor"], critical=["Shell"])
    log.write_bytes(orjson.dumps(asked) + b"\n")
    follower.start()
    assert [one.imported for one in follower.poll()] == [0]
    for command in ("ls", "rm -r build"):
        used = {"type": "tool_use", "name": "Shell", "input": {"command": command}}
        with log.open("ab") as stream:
            stream.write(orjson.dumps({"role": "assistant", "message": {"content": [used]}}) + b"\n")
        assert [one.format for one in follower.poll()] == ["cursor"]
    assert count_pending("r") == 2


def watch(log):
    command = [sys.executable, "-m", "console.cli", "follow", str(log.parent), "--run", "live", "--every", "0.2"]
    process = subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"Following")
    return process


@pytest.mark.at_length
def test_a_session_written_over_a_minute_is_queued_within_two_seconds_despite_a_kill(log):
    """Four kinds of delay would hide in an average, so the slowest action counts."""
    log.parent.mkdir(parents=True)
    lines, delays, killed = session_lines(40), [], False
    process = watch(log)
    try:
        with log.open("ab", buffering=0) as stream:
            done = 0
            for place, line in enumerate(lines):
                stream.write(line)
                is_call = b"tool_use" in line and b"tool_result" not in line
                begun = time.monotonic()
                if is_call:
                    done += 1
                    while len(queued()) < done and time.monotonic() - begun < 10:
                        time.sleep(0.05)
                    delays.append(time.monotonic() - begun)
                time.sleep(max(0.0, 60 / len(lines) - (time.monotonic() - begun)))
                if place == len(lines) // 2 and not killed:
                    killed = True
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    process = watch(log)
        assert queued() == wanted(40)
        assert max(delays) < 2.0, delays
        print(f"slowest {max(delays):.2f} s of {len(delays)} actions")
    finally:
        process.kill()
        process.communicate()


def test_the_command_reads_what_is_there_and_says_that_it_is_after_the_fact(capsys, log):
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(session_lines(2)))
    assert run_command(["follow", str(log), "--run", "live", "--once"]) == 0
    told = capsys.readouterr().out
    assert "Reviews come after the actions" in told
    assert "2 pending items" in told
    assert queued() == wanted(2)


def test_a_followed_log_with_audits_draws_each_new_unflagged_action_once(log):
    log.parent.mkdir()
    follower = Follower("live", [str(log.parent)], only_flagged=True)
    follower.start()
    batch.set_audits("live", "50%")
    lines = session_lines(12)
    for end in (12, len(lines), len(lines)):
        log.write_bytes(b"".join(lines[:end]))
        list(follower.poll())
    with reading() as session:
        draws = session.exec(select(tables.AuditDraw)).all()
        verdicts = session.exec(select(tables.Verdict).where(tables.Verdict.flagged.is_(False))).all()
        items = {(item.trajectory_id, item.step) for item in session.exec(select(tables.Item)).all()}
        flagged = {(one.trajectory_id, one.step) for one in session.exec(select(tables.Verdict)).all() if one.flagged}
    assert len(draws) == len(verdicts) > 0
    drawn = {(draw.trajectory_id, draw.step) for draw in draws if draw.number < 0.5}
    assert 0 < len(drawn) < len(draws)
    assert items == drawn | flagged


def test_after_draws_a_share_of_the_unflagged_actions_and_continues_with_the_same_items(log):
    log.parent.mkdir()
    log.write_bytes(b"".join(session_lines(12)))
    again = ["follow", str(log.parent), "--run", "live", "--after", "50%", "--once"]
    assert run_command(again) == 0
    first = queued()
    assert 0 < len(first) < 12
    assert run_command(again) == 0
    assert queued() == first
    with reading() as session:
        run = runs.get(session, "live")
        assert len(session.exec(select(tables.AuditDraw)).all()) == 12
        assert run.seed != 0
        assert runs.run_options(run).audits_after


def test_a_follower_that_starts_again_keeps_every_flagged_action_in_the_queue(log):
    log.parent.mkdir()
    log.write_bytes(b"".join(session_lines(8)))
    for _ in range(2):
        follower = Follower("live", [str(log.parent)], "full-validation", only_flagged=True)
        follower.start()
        list(follower.poll())
        assert queued() == wanted(8)


@pytest.mark.at_length
def test_the_certificate_of_a_followed_log_holds_at_every_look(log):
    log.parent.mkdir()
    log.write_bytes(b"".join(session_lines(12)))
    assert run_command(["follow", str(log.parent), "--run", "live", "--after", "50%", "--once"]) == 0
    pending = queued()
    with reading() as session:
        run = runs.get(session, "live")
    decide(run, ["approve"] * len(pending))
    with reading() as session:
        found = certificate.certify(session, runs.get(session, "live"), now_ms())
    assert (found.audits.drawn, found.waiting, found.is_complete) == (len(pending), 0, False)
    assert found.bound == found.always
