"""Tables, engine, queue and migrations: all code that accesses the database file."""
