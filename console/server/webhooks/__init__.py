"""Decisions on agents' actions, sent to a server of theirs: signed, tried again, and never in anybody's way.

A webhook tells that a check is decided; the go-ahead itself is what the agent gets when it asks for the check.
`receiver` says where to and signs, `outbox` what is due, `sending` sends it.
"""

from console.server.webhooks.delivery import Receiver, keep_sending, receiver, send_due, signature

__all__ = ["Receiver", "keep_sending", "receiver", "send_due", "signature"]
