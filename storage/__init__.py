"""Tables, engine, queue and migrations: everything that touches the database file."""
