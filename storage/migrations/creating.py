"""A new database: the tables as they are today, with no step in between."""

import secrets

from sqlalchemy import insert, inspect

from storage import audit_chain
from storage.migrations.exclusive import alone_with
from storage.tables import DatabaseKey, Table


def create(url: str, revision: str) -> bool:
    """Makes every table in an empty database and says at which revision it is; False where it was not empty."""
    with alone_with(url) as connection:
        if inspect(connection).get_table_names():
            return False
        Table.metadata.create_all(connection)
        connection.execute(insert(DatabaseKey).values(id=1, key=secrets.token_hex(16)))
        audit_chain.begin(connection)
        # As Alembic makes it, which asks for it before every later step.
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql(f"INSERT INTO alembic_version (version_num) VALUES ('{revision}')")
    return True
