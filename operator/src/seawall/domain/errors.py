"""The errors of Seawall. Adapters translate what their libraries raise into these, at the border."""

from __future__ import annotations


class SeawallError(Exception):
    """Base of all errors that a tick knows how to answer."""


class OutsideUnavailable(SeawallError):  # noqa: N818 - named for what happened
    """Kafka or the API server did not answer, or only in part: try again. Deletes and writes may have happened."""


class Unauthenticated(OutsideUnavailable):
    """The API server does not know who asks, and nothing is done: the credentials are gone, expired, or refused.

    An operator's token is replaced while it runs, so it tries again; a person's is not, by itself.
    """


class Refused(SeawallError):  # noqa: N818 - named for what happened
    """The outside understood and said no; the message is its own sentence. Trying again changes nothing."""


class Forbidden(Refused):
    """The operator has no right to do this: its Role lacks it."""


class NotSupported(Refused):
    """Kafka does not do this for us at all: our user has no right to it, or the service does not offer it."""


class Conflict(SeawallError):  # noqa: N818 - named for what happened
    """The object changed since it was read: read again."""
