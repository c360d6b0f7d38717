"""What can go wrong, with the numbers that GreptimeDB's HTTP API answers."""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus


class StatusCode(IntEnum):
    """The codes of a failed statement (facts: HTTP SQL)."""

    INTERNAL = 1003
    INVALID_ARGUMENTS = 1004
    TABLE_ALREADY_EXISTS = 4000
    TABLE_NOT_FOUND = 4001
    REGION_NOT_FOUND = 4005
    REGION_NOT_READY = 4008
    REGION_BUSY = 4009
    USER_NOT_FOUND = 7000
    USER_PASSWORD_MISMATCH = 7002
    AUTH_HEADER_NOT_FOUND = 7003
    INVALID_AUTH_HEADER = 7004
    PERMISSION_DENIED = 7006

    @property
    def http_status(self) -> HTTPStatus:
        """Of an answer with this code."""
        if self is StatusCode.PERMISSION_DENIED:
            return HTTPStatus.FORBIDDEN
        if self >= StatusCode.USER_NOT_FOUND:
            return HTTPStatus.UNAUTHORIZED
        return HTTPStatus.INTERNAL_SERVER_ERROR if self is StatusCode.INTERNAL else HTTPStatus.BAD_REQUEST


class DatabaseError(Exception):
    """A refusal or a failure, told to the client with its code."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class RegionFatalError(DatabaseError):
    """A region must not be served any more: its log or its manifest is not what it must be. A person has to look."""

    def __init__(self, message: str) -> None:
        super().__init__(StatusCode.REGION_NOT_READY, message)


class AnotherLeads(RegionFatalError):  # noqa: N818 - it says what is found
    """A later leader has opened the region: it is none of this datanode's any more."""


class Unavailable(DatabaseError):  # noqa: N818 - it says what the other side is
    """Something outside does not answer: etcd, Kafka, another role. Whether it did what was asked is unknown."""

    def __init__(self, message: str) -> None:
        super().__init__(StatusCode.INTERNAL, message)


def invalid(message: str) -> DatabaseError:
    """What the client sent makes no sense."""
    return DatabaseError(StatusCode.INVALID_ARGUMENTS, message)
