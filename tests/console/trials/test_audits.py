"""Random audits of a live run: a drawn action waits like a flagged one."""

from sqlmodel import select

from console import runs
from console.database import now_ms, reading, writing
from console.detection import audit_draws
from console.trials import engine, start
from storage import tables


def test_a_drawn_action_of_a_live_run_waits_and_its_draw_is_stored():
    start.start_run("shop", {"webshop": 8}, "scripted", "random", threshold=0.9999, trials=1)
    with writing() as session:
        audit_draws.set_audits(session, runs.get(session, "shop"), "100%", now_ms())
    engine.resume("shop")
    with reading() as session:
        draws = {row.trajectory_id for row in session.exec(select(tables.AuditDraw)).all()}
        judged = select(tables.Item).where(tables.Item.kind == "action")
        items = {row.trajectory_id: row for row in session.exec(judged).all()}
        assert draws == set(items) != set()
        assert {session.get_one(tables.Trajectory, one).outcome for one in draws} == {"paused"}
        assert not any(row.flagged for row in session.exec(select(tables.Verdict)).all())
        assert all(0 < item.priority <= 1 for item in items.values())
