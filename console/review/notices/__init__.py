"""Notices to people about pending items: their channels, the events of items, and the texts.

A notice contains no token and cannot decide an item; its links lead to the item after the sign-in.
"""
