"""The replaced signing secret of a notice channel, which signs for some time beside the new one."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("notice_channel", sa.Column("old_secret", sa.String()))
    op.add_column("notice_channel", sa.Column("old_until_ms", sa.BigInteger()))
