"""Quantities as anybody may write them to the API server ("Quantity" in the Kubernetes API conventions)."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

_PARTS = re.compile(r"([+-]?[0-9]*[.]?[0-9]*)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def whole_bytes(quantity: str) -> int:
    """The bytes of a quantity, up to a whole one: `1Gi`, `1.5G`, `1e9`, `1500m`."""
    found = _PARTS.fullmatch(quantity)
    if found is None:
        raise ValueError(f"{quantity!r} is no quantity")
    digits, suffix = found.groups(default="")
    if suffix[:1] in {"e", "E"} and len(suffix) > 1 and suffix not in _BINARY:
        value = Decimal(f"{digits}{suffix}")
    elif suffix in _BINARY:
        value = Decimal(digits) * 2 ** _BINARY[suffix]
    else:
        value = Decimal(digits).scaleb(_DECIMAL.get(suffix, 0))
    return int(value.to_integral_value(ROUND_CEILING))
