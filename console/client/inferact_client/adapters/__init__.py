"""Adapters: one file for each framework, which imports the framework. `shared` holds the steps of every adapter."""
