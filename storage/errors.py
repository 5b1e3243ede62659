"""What the store can refuse.

StorageError
├── NewerSchema               the file was written by a newer version
├── NotOurs                   the file is no console database
├── DatabaseUnusable          its file is gone, another, damaged, full, read-only or locked
├── NoSuchItem                there is no item of that id
└── QueueRefusal              the item is not in the state that the request needs
    ├── BudgetSpent           the cap leaves no unit for it
    ├── NotYours              the claim belongs to somebody else, or has lapsed
    ├── AlreadyDecided        this reviewer's answer is in
    └── AlreadyDelivered      the agent has the answer; it can no longer be taken back
"""


class StorageError(Exception):
    """The store could not do what was asked; without words of its own, an error says its docstring."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "")


class NewerSchema(StorageError):
    """The database was written by a newer version of the console; upgrade the console to open it."""


class NotOurs(StorageError):
    """The file is not a database of this console."""


class DatabaseUnusable(StorageError):
    """The database cannot be used as it is; nothing was stored."""


class NoSuchItem(StorageError):
    """There is no such review item."""


class QueueRefusal(StorageError):
    """The item is not in the state that this needs."""


class BudgetSpent(QueueRefusal):
    """The inspection budget is spent; raise the cap or release a claim."""


class NotYours(QueueRefusal):
    """The claim on this item belongs to somebody else, or it has lapsed; open the item again."""


class AlreadyDecided(QueueRefusal):
    """Your review of this item is already in."""


class AlreadyDelivered(QueueRefusal):
    """The decision has already reached the agent and can no longer be undone."""
