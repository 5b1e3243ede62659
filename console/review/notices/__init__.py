"""Notices to people about pending items: their channels, the events of items, and the texts.

A notice is a hint. It contains no token and decides nothing; its links lead to the item through the sign-in.
"""
