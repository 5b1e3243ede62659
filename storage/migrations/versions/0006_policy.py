"""Policies: the rules of each gate, what they allowed, and which rule stands behind a check."""

import hashlib
import json
import time

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_BEFORE = "Patterns alone stood here before there were rules: what they did not match ran, and still does."


def upgrade() -> None:
    """Adds the tables; the patterns of each gate so far become its rules, with a last one that allows as they did."""
    op.create_table(
        "policy",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_policy_run_id"), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        _text("text"),
        _text("digest"),
        _text("author"),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.UniqueConstraint("run_id", "version", name="uq_policy_run_id_version"),
    )
    op.create_table(
        "allowed",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_allowed_run_id"), nullable=False),
        sa.Column("policy_id", sa.Integer(), sa.ForeignKey("policy.id", name="fk_allowed_policy_id"), nullable=False),
        _text("rule"),
        _text("tool"),
        sa.Column("checks", sa.Integer(), nullable=False),
        sa.UniqueConstraint("run_id", "policy_id", "rule", "tool", name="uq_allowed_run_id_policy_id_rule_tool"),
    )
    op.add_column("ask", sa.Column("policy_version", sa.Integer()))
    op.add_column("ask", sa.Column("rule", sa.String()))
    op.add_column("ask", sa.Column("tool", sa.String()))
    op.create_index("ix_ask_item", "ask", ["item_id"])
    op.add_column("item", sa.Column("terms", sa.String(), nullable=False, server_default="{}"))
    _take_patterns_over()


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=False)


def _take_patterns_over() -> None:
    run = sa.table("run", sa.column("id"), sa.column("kind"), sa.column("critical"))
    policy = sa.table("policy", *map(sa.column, ("run_id", "version", "text", "digest", "author", "created_ms")))
    connection = op.get_bind()
    for run_id, critical in connection.execute(sa.select(run.c.id, run.c.critical).where(run.c.kind == "gate")).all():
        text = _policy(json.loads(critical))
        row = {
            "run_id": run_id,
            "version": 1,
            "text": text,
            "digest": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            "author": "migration",
            "created_ms": time.time_ns() // 1_000_000,
        }
        connection.execute(policy.insert().values(**row))


def _policy(patterns: list[str]) -> str:
    """The rules as YAML, in which a text may be written as JSON writes it."""
    rules = [f"- pattern: {json.dumps(pattern)}\n  then: judge\n" for pattern in patterns if pattern.strip()]
    last = f"- name: as before\n  then: allow\n  because: {json.dumps(_BEFORE)}\n"
    return "".join(["default: ask\nrules:\n", *rules, last])
