"""Who Seawall is to GreptimeDB's HTTP ports, and what it means not to be let in.

What GreptimeDB asks for, and where: docs/adr/0041-data-plane-tls-and-users.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import IntEnum
from http import HTTPStatus

from seawall.adapters.http import Answer, Part, basic_header, url_of
from seawall.domain.dataplane.connection import NotReached, PartRefused, User

DECLARED = "dataPlane.greptimedb.auth"
_NO_ENTRY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class Code(IntEnum):
    """GreptimeDB's codes of authentication, and the first after them (src/common/error/src/status_code.rs)."""

    USER_NOT_FOUND = 7000
    ACCESS_DENIED = 7005
    PERMISSION_DENIED = 7006
    END = 8000


def basic(user: User | None) -> Mapping[str, str]:
    """The header of HTTP Basic authentication, in UTF-8 as GreptimeDB reads it; none without a user.

    Raises:
        PartRefused: the name has a colon, at which it would end.
    """
    return basic_header(user, "the frontend", DECLARED)


def require_entry(answer: Answer, part: Part, url: str) -> None:
    """For a part that knows no users: only something before it can want one.

    Raises:
        PartRefused: it does.
    """
    if answer.status in _NO_ENTRY:
        advice = f"let Seawall in by {part.tls}.clientCertSecretRef, or by where it comes from"
        message = (
            f"{_said(answer, part, url)}, so a proxy before it wants a user, which Seawall does not send it: {advice}"
        )
        raise PartRefused(NotReached.AUTHENTICATION_FAILED, message)


def require_entry_as(user: User | None, answer: Answer, part: Part, url: str) -> None:
    """For a part with users.

    Raises:
        PartRefused: it wants one, or another, or one who may do more.
    """
    code = _code(answer) if answer.status in _NO_ENTRY else None
    if code is None or not (code == 0 or Code.USER_NOT_FOUND <= code < Code.END):
        return  # 401 is also what GreptimeDB says of a region that is read-only
    said = _said(answer, part, url)
    if user is None:
        message = f"{said}: it wants a user name and password, set {DECLARED}"
    elif code in {Code.ACCESS_DENIED, Code.PERMISSION_DENIED} or (code == 0 and answer.status == HTTPStatus.FORBIDDEN):
        message = f"{said}: the user may not do this, let it read and write"
    else:
        message = f"{said}: it refused the user name or password, correct the Secret of {DECLARED}"
    raise PartRefused(NotReached.AUTHENTICATION_FAILED, message)


def _said(answer: Answer, part: Part, url: str) -> str:
    """Without its own words, which name the user."""
    code = _code(answer)
    return f"{part.name} at {url_of(url)} answers {answer.status}" + (f" (code {code})" if code else "")


def _code(answer: Answer) -> int:
    """GreptimeDB's; 0 for the answer of something else."""
    try:
        code = json.loads(answer.body)["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return code if isinstance(code, int) else 0
