"""The errors of the store.

StorageError
├── NewerSchema               a newer version wrote the file
├── OlderSchema               a version before the first release wrote the file
├── NoDatabase                the database is missing or empty
├── NotOurs                   the file is not a database of this console
├── DatabaseUnusable          the file is missing, replaced, damaged, full, read-only or locked
├── NoSuchItem                no item has that id
└── QueueRefusal              the item is not in the state that the request needs
    ├── BudgetSpent           the cap leaves no unit for the claim
    ├── NotYours              another reviewer has the claim, or it has expired
    ├── AlreadyDecided        this reviewer has already decided
    └── AlreadyDelivered      the agent has the decision; it can no longer be undone
"""


class StorageError(Exception):
    """The store could not do what was asked; the docstring of an error is its default message."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "")


class NewerSchema(StorageError):
    """A newer version of the console wrote this database; upgrade the console to open it."""


class OlderSchema(StorageError):
    """A version before the first release wrote this database; export it with that version."""


class NoDatabase(StorageError):
    """The database does not exist; start one with `inferact serve`."""


class NotOurs(StorageError):
    """The file is not a database of this console; name another file."""


class DatabaseUnusable(StorageError):
    """The database cannot be used as it is; nothing was stored."""


class NoSuchItem(StorageError):
    """This review item does not exist."""


class QueueRefusal(StorageError):
    """The item is not in the state that this request needs."""


class BudgetSpent(QueueRefusal):
    """The inspection budget is spent; raise the cap or release a claim."""


class NotYours(QueueRefusal):
    """Another reviewer has claimed this item, or your claim has expired; open the item again."""


class AlreadyDecided(QueueRefusal):
    """You have already reviewed this item."""


class AlreadyDelivered(QueueRefusal):
    """The decision has already reached the agent and can no longer be undone."""
