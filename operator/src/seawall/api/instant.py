"""Points in time as Kubernetes writes them (RFC 3339): `2026-11-26T12:00:00Z`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, WithJsonSchema

_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"


def _check_text(value: object) -> object:
    """Numbers, and texts that pydantic would read all the same, are none to the API server.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str | int | float) and not (isinstance(value, str) and re.fullmatch(_PATTERN, value)):
        raise ValueError(f"{value!r} is no time such as 2026-11-26T12:00:00Z")
    return value


Instant = Annotated[
    AwareDatetime,
    BeforeValidator(_check_text),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": _PATTERN, "maxLength": 35}),
]
"""A point in time with its zone."""
