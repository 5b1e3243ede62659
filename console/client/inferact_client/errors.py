"""The errors of the client. A check never raises these errors; its decision contains the reason instead."""


class ClientError(Exception):
    """The gate cannot be used in this way."""


class CheckRefused(ClientError):
    """A refusal of the request by the console."""


class ConsoleAway(ClientError):
    """The console could not be reached in time."""
