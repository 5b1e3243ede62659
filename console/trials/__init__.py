"""Trials of runs: Actors act in environments, trial by trial, and stop before each critical action.

`start` creates a run, `engine` plays all open work (also after a crash), `apply_decisions` applies decisions, `memory`
adds the next trial, `release` closes a trial as the paper's results assume, and `replay` replays a recorded log.
Everything is stored immediately: each step after it has run, and an intent before a critical action runs.
"""
