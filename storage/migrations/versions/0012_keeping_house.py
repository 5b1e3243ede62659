"""Tags, archived runs, imports that can be undone, and the index of words, for which all there is waits."""

import sqlalchemy as sa
from alembic import op

from storage.tables.text_search import make_text_index

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Adds them; no trajectory of before belongs to an import. The index takes its words in later."""
    op.add_column("run", sa.Column("tags", sa.String(), nullable=False, server_default="[]"))
    op.add_column("run", sa.Column("archived_ms", sa.BigInteger()))
    op.create_table(
        "log_import",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("run_id", sa.Integer(), sa.ForeignKey("run.id", name="fk_log_import_run_id"), nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("imported", sa.Integer(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("undone_ms", sa.BigInteger()),
    )
    op.create_index("ix_log_import_run", "log_import", ["run_id"])
    with op.batch_alter_table("trajectory") as batch:
        batch.add_column(sa.Column("import_id", sa.Integer()))
        batch.create_foreign_key("fk_trajectory_import_id", "log_import", ["import_id"], ["id"])
    op.create_index("ix_trajectory_import", "trajectory", ["import_id"])
    make_text_index(op.get_bind())
