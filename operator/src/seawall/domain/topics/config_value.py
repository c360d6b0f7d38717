"""When two texts are the same config value to Kafka.

Kafka keeps some values in a form of its own: `TRUE` becomes `true`, ` 5` and `+005` become `5`, `a, b` becomes `a,b`
(seen on 4.3.1). Comparing texts would find drift for ever and repair it for ever.
"""

from __future__ import annotations


def is_same_value(one: str, other: str) -> bool:
    """Whether Kafka takes both texts for one value."""
    return _canonical(one) == _canonical(other)


def _canonical(text: str) -> tuple[str | float, ...]:
    return tuple(_canonical_item(item.strip()) for item in text.split(","))


def _canonical_item(item: str) -> str | float:
    if item.lower() in {"true", "false"}:
        return item.lower()
    try:
        return int(item)
    except ValueError:
        pass
    try:
        return float(item)
    except ValueError:
        return item
