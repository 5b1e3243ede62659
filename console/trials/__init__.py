"""The engine of live runs: Actors at work in environments, trial by trial, stopped before each critical action.

`starting` makes a run, `engine` takes up all work that is open (also after a crash), `settling` gives decisions their
consequence, `memories` and `retrying` make the next trial, `releasing` closes one as the paper's numbers assume.
Everything is written as it happens: a step when it is done, an intent before a critical action runs.
"""
