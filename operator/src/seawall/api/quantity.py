"""Byte quantities as Kubernetes writes them: `64Mi`, `1500k`, `1048576`.

Source: "Quantity" in the Kubernetes API conventions. Only whole bytes make sense here, so fractions are refused.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from seawall.api.meta import MAX_INT32, Rule

MAX_INTEGER = 2**53 - 1
"""Of an integer in a schema: bounds are JSON numbers, that is floats, in the API server, where 2^63 - 1 overflows."""
MI = 2**20
"""Bytes of a mebibyte."""

_SUFFIX = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_PATTERN = r"^[0-9]{1,10}(k|M|G|Ki|Mi|Gi)?$"
_LARGE_PATTERN = r"^[0-9]{1,15}(k|M|G|T|Ki|Mi|Gi|Ti)?$"
_PARTS = re.compile(r"([0-9]{1,15})(k|M|G|T|Ki|Mi|Gi|Ti)?")
MAX_LARGE = 10**15
"""A petabyte: no topic's log is longer."""


def parse_bytes(value: object) -> object:
    """Returns the bytes of a quantity such as `64Mi`; other types are left for pydantic to refuse.

    Raises:
        ValueError: the text is no whole quantity of bytes.
    """
    if not isinstance(value, str):
        return value
    found = _PARTS.fullmatch(value)
    if found is None:
        raise ValueError(f"{value!r} is no quantity of bytes such as 64Mi")
    digits, suffix = found.groups(default="")
    return int(digits) * _SUFFIX[suffix]


def format_bytes(value: int) -> str:
    """Writes bytes in the form that `parse_bytes` reads, with the greatest binary suffix that is exact."""
    suffix = max((name for name in ("", "Ki", "Mi", "Gi", "Ti") if value % _SUFFIX[name] == 0), key=_SUFFIX.__getitem__)
    return f"{value // _SUFFIX[suffix]}{suffix}"


Bytes = Annotated[
    int,
    Field(strict=True, ge=1, le=MAX_INT32),
    BeforeValidator(parse_bytes),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": _PATTERN, "maxLength": 12}),
]
"""A number of bytes, at most 2^31 - 1 (Kafka's size configs are int32). Shape on the wire: integer or quantity."""

LargeBytes = Annotated[
    int,
    Field(strict=True, ge=1, le=MAX_LARGE),
    BeforeValidator(parse_bytes),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": _LARGE_PATTERN, "maxLength": 17}),
]
"""A number of bytes of a log, at most a petabyte. Shape on the wire: integer or quantity."""


def bytes_rule(field: str, most: int = MAX_INT32) -> Rule:
    """CEL for the bounds of a field of type `Bytes` or `LargeBytes`, which OpenAPI cannot say of an int-or-string."""
    value = f"quantity(string(self.{field}))"
    return Rule(
        f"!has(self.{field}) || ({value}.isGreaterThan(quantity('0')) && {value}.isLessThan(quantity('{most + 1}')))",
        f"{field} must be between 1 byte and {most} bytes",
    )
