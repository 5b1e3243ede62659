import json
import sqlite3
from functools import partial
from io import BytesIO
from itertools import pairwise

import pyarrow.parquet as pq
import pytest
from sqlalchemy import event, text

from console.errors import BadInput, Refused, Unknown
from console.runs import export
from console.runs.export import kinds
from console.runs.export.formats import read_csv
from console.runs.export.query import ExportQuery, pages
from console.trajectory import from_json
from storage.engine import engine, reading, writing
from storage.tables import Run
from tests.sweeps import sweep

BUY = "click[Buy Now]"
EVENT = text("INSERT INTO event (run_id, at_ms, actor, kind, subject, detail) VALUES (:run, 1, 'a', 'k', '', '{}')")
COLUMNS = [
    *("decision_id", "item_id", "trajectory_id", "task_id", "run", "trial", "environment", "study", "condition"),
    *("participant", "reviewer", "annotator_kind", "detector", "model", "score", "threshold", "flagged"),
    *("critical_action", "decision", "label", "feedback_type", "feedback_text", "edited_action", "claimed_at"),
    *("decided_at", "lead_time_ms", "revision", "superseded", "budget_cap", "budget_used", "delivered_at"),
    *("next_trial_outcome", "gold_label"),
]


def as_csv(url, kind, path, **options):
    path = path / f"{kind}.csv"
    count = export.export(url, kind, "shop", path, **options)
    found = list(read_csv(path))
    assert count == len(found)
    return found


def as_json(url, kind, **options):
    lines = export.download(url, kind, "shop", "jsonl", researcher=True, **options).splitlines()
    return [json.loads(line) for line in lines]


def test_decisions_are_one_row_a_revision_with_the_documented_columns(url, tmp_path):
    undone, final = as_csv(url, "decisions", tmp_path)
    assert list(final)[: len(COLUMNS)] == COLUMNS
    assert [row["superseded"] for row in (undone, final)] == ["true", "false"]
    assert undone["withdrawn_at"] == "2026-01-01T12:00:03.000Z"
    assert final["task_id"] == "shoes"
    assert final["claimed_at"] == "2026-01-01T12:00:00.000Z"
    assert final["decided_at"] == "2026-01-01T12:00:01.234Z"
    assert final["delivered_at"] == "2026-01-01T12:00:09.001Z"
    assert final["lead_time_ms"] == "1234"
    assert final["feedback_text"] == '=HYPERLINK("http://example.test"),\n"go"'
    assert final["critical_action"] == BUY
    assert (final["detector"], final["score"], final["flagged"]) == ("rules", "0.75", "true")
    assert (final["next_trial_outcome"], final["gold_label"]) == ("failed", "misaligned")
    assert (final["budget_cap"], final["budget_used"], final["edited_action"]) == ("2", "1", "")


def test_a_formula_in_a_cell_is_written_as_text(url, tmp_path):
    as_csv(url, "decisions", tmp_path)
    assert "\"'=HYPERLINK" in (tmp_path / "decisions.csv").read_text()


def test_reviewers_get_no_gold_and_in_a_blind_run_no_outcome(url, tmp_path):
    blind = as_csv(url, "decisions", tmp_path, researcher=False)
    assert not {"gold_label", "next_trial_outcome"} & set(blind[0])
    with writing(url) as session:
        session.get(Run, 1).blind = False
    seeing = as_csv(url, "decisions", tmp_path, researcher=False)
    assert "gold_label" not in seeing[0]
    assert seeing[1]["next_trial_outcome"] == "failed"
    assert seeing[1]["decided_at"] == "2026-01-01T12:00:01.234Z"
    for kind in ("trajectories", "verdicts", "events"):
        with pytest.raises(Refused, match="only researchers"):
            export.download(url, kind, "shop", "csv", researcher=False)


def test_items_tell_where_each_stands_and_who_holds_it(url):
    decided, claimed, halted = as_json(url, "items")
    assert [row["status"] for row in (decided, claimed, halted)] == ["decided", "claimed", "pending"]
    assert (decided["score"], decided["detector"], decided["claimed_by"]) == (0.75, "rules", None)
    assert (claimed["claimed_by"], claimed["claim_expires_at"]) == ("r2", "2026-01-01T12:10:00.000Z")
    assert halted["critical_action"] is None


def test_the_critical_action_is_that_of_the_row_s_own_checkpoint(url):
    with writing(url) as session:
        session.connection().execute(text("UPDATE trajectory SET critical_action = 'something else' WHERE id < 3"))
    assert [row["critical_action"] for row in as_json(url, "items")] == [BUY, BUY, None]
    assert [row["critical_action"] for row in as_json(url, "decisions")] == [BUY, BUY]


def test_trajectories_as_json_lines_are_records_that_an_import_reads(url, tmp_path):
    path = tmp_path / "out.jsonl"
    assert export.export(url, "trajectories", "shop", path) == 3
    records = [from_json(line) for line in path.read_bytes().splitlines()]
    assert [(record.task_id, record.trial, len(record.steps)) for record in records] == [
        ("shoes", 0, 2),
        ("shoes", 1, 2),
        ("lamp", 0, 1),
    ]


def test_an_export_is_for_its_user_alone_also_over_a_file_of_wider_rights(url, tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("before")
    path.chmod(0o644)
    export.export(url, "trajectories", "shop", path)
    assert path.stat().st_mode & 0o777 == 0o600
    packed = tmp_path / "new.csv"
    export.export(url, "decisions", "shop", packed)
    assert packed.stat().st_mode & 0o777 == 0o600


def test_trajectories_as_csv_carry_their_record(url, tmp_path):
    first, _, halted = as_csv(url, "trajectories", tmp_path)
    assert (first["gold_label"], first["outcome"], first["n_critical_actions"]) == ("misaligned", "failed", "1")
    assert halted["gold_label"] == ""
    assert from_json(first["trajectory"]).steps[1].action == BUY


def test_verdicts_carry_their_parameters_as_an_object(url):
    (verdict,) = as_json(url, "verdicts")
    assert verdict["parameters"] == {"seed": 1}
    assert (verdict["rationale"], verdict["gold_label"], verdict["flagged"]) == ("-no size", "misaligned", True)
    assert verdict["critical_action"] == BUY


def test_verdicts_tell_what_they_took(url, tmp_path):
    (verdict,) = as_csv(url, "verdicts", tmp_path)
    taken = [verdict[name] for name in ("requests", "prompt_tokens", "completion_tokens", "cost_usd")]
    assert taken == ["6", "900", "40", "0.0125"]


def test_the_budget_adds_up_line_by_line(url):
    entries = as_json(url, "budget")
    assert [(entry["entry"], entry["units"], entry["used"], entry["cap"]) for entry in entries] == [
        ("spent", 1, 1, 2),
        ("spent", 1, 2, 2),
        ("returned", -1, 1, 2),
    ]


def test_events_keep_their_order_and_detail(url):
    (happened,) = as_json(url, "events")
    assert (happened["at"], happened["kind"], happened["detail"]) == ("2026-01-01T12:00:00.000Z", "decided", {"n": 1})


def test_parquet_keeps_types(url):
    for kind in export.KINDS:
        content = export.download(url, kind, "shop", "parquet", researcher=True)
        assert pq.read_table(BytesIO(content)).num_rows > 0
    table = pq.read_table(BytesIO(export.download(url, "decisions", "shop", "parquet", researcher=True)))
    assert str(table.schema.field("decided_at").type) == "timestamp[ms, tz=UTC]"
    assert table["superseded"].to_pylist() == [True, False]


@sweep("suffix", ["csv", "jsonl", "parquet"], kept=1)
@pytest.mark.parametrize("kind", export.KINDS)
def test_a_run_without_records_gives_an_empty_file(url, tmp_path, kind, suffix):
    assert export.export(url, kind, "other", tmp_path / f"out.{suffix}") == 0


def test_what_does_not_exist_is_named_and_nothing_is_left_behind(url, tmp_path):
    kept = tmp_path / "out.csv"
    kept.write_text("mine")
    with pytest.raises(Unknown, match=r"No run named 'nope'.*shop"):
        export.export(url, "decisions", "nope", kept)
    with pytest.raises(Unknown, match=r"No export named 'gold'.*decisions"):
        export.export(url, "gold", "shop", kept)
    with pytest.raises(Unknown, match=r"No export format named 'xls'.*parquet"):
        export.export(url, "decisions", "shop", tmp_path / "out.xls")
    with pytest.raises(Unknown, match="xls"):
        export.download(url, "decisions", "shop", "xls", researcher=True)
    with pytest.raises(BadInput, match="cannot be written"):
        export.export(url, "decisions", "shop", tmp_path / "nowhere" / "out.csv")
    assert kept.read_text() == "mine"
    assert not list(tmp_path.glob(".*"))


def test_pages_cover_every_row_once_and_end_at_the_newest_of_the_start(url):
    with engine(url).begin() as connection:
        for n in range(2_500):
            connection.execute(
                EVENT,
                {"run": 1 + n % 2},
            )
    with reading(url) as session:
        run = session.get(Run, 1)
        session.expunge(run)
    seen = []
    for page in pages(partial(reading, url), export.KINDS["events"], run):
        seen += [row[0] for row in page]
        with writing(url) as session:
            session.connection().execute(EVENT, {"run": 1})
    assert len(seen) == 1 + 1_250
    assert all(earlier < later for earlier, later in pairwise(seen))


def test_a_writer_never_waits_for_an_export(url):
    with reading(url) as session:
        run = session.get(Run, 1)
        session.expunge(run)
    held = pages(partial(reading, url), export.KINDS["decisions"], run)
    next(held)
    writer = sqlite3.connect(engine(url).url.database, timeout=0)
    writer.execute("UPDATE run SET trials = 2")
    writer.commit()
    assert writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    writer.close()


def test_every_kind_is_listed():
    written = [value for value in vars(kinds).values() if isinstance(value, ExportQuery)]
    assert set(map(id, written)) == set(map(id, [*export.KINDS.values(), kinds.WITH_PICTURES]))


@pytest.mark.parametrize("kind", export.KINDS)
def test_each_page_starts_from_its_range_of_ids_so_that_time_grows_with_the_rows_alone(url, kind):
    asked = []
    event.listen(engine(url), "before_cursor_execute", lambda _c, _d, sql, values, *_: asked.append((sql, values)))
    export.download(url, kind, "shop", "csv", researcher=True)
    page, values = next((sql, values) for sql, values in asked if "BETWEEN" in sql)
    with engine(url).connect() as connection:
        plan = [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {page}", values)]
    key = export.KINDS[kind].key.table.name
    assert plan[0] == f"SEARCH {key} USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
    assert not any(step.startswith("SCAN") for step in plan)
