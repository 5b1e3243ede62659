"""Trials of runs: Actors at work in environments, trial by trial, stopped before each critical action.

`start` makes a run, `engine` takes up all work that is open (also after a crash), `apply_decisions` gives decisions
their consequence, `memory` and `next_trial` make the next trial, `release` closes one as the paper's numbers assume,
and `replay` does the same for a recorded log. Everything is written as it happens: a step when it is done, an intent
before a critical action runs.
"""
