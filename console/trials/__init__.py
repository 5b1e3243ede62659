"""Trials of runs: Actors act in environments, trial by trial, and stop before each critical action.

Everything is stored immediately: each step after it has run, and an intent before a critical action runs.
"""
