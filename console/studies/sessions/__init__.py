"""Study sessions: participants join, work through their conditions, and leave.

Each condition of each participant is an ordinary run (`condition_run`), so that queue, budget, lease, undo and crash
safety work as in any other run. `position` reads a participant's position, `steps` moves a participant forward, and
`seeded_items` adds items with a known answer. All states are rows in the database.
"""
