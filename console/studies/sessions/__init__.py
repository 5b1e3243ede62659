"""User studies at work: joined, played condition by condition, left again.

Each condition of each participant is an ordinary run of its own (`condition_run`), so that queue, budget, lease, undo
and crash safety are those of every run. `position` says what lies before a participant, `steps` takes them on;
`seeded_items` puts items with a known answer in their way. All states are rows in the database.
"""
