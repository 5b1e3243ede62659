"""User studies: their design, their sessions with participants, and their reports."""
