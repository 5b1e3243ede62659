"""User studies at work: made from a design, joined, played condition by condition, left again.

Each condition of each participant is an ordinary run of its own (`arms`), so that queue, budget, lease, undo and crash
safety are those of every run. `sessions` says what a participant does now and takes them on; `rounds` hands what they
decided to the agents; `probes` puts items with a known answer in their way. All states are rows in the database.
"""
