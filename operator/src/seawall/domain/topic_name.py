"""Names of topics, as Kafka takes them."""

from __future__ import annotations

import re

MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


_NUMBER = re.compile(r"([0-9]+)")


def by_number(name: str) -> tuple[tuple[str | int, ...], str]:
    """Sorts names as people count: `wal_2` before `wal_10`. Text and numbers take turns, so that any two compare."""
    parts = _NUMBER.split(name)
    return tuple(int(part) if number % 2 else part for number, part in enumerate(parts)), name


def describe_illegal_name(name: str) -> str | None:
    """Why Kafka takes no such name, in Kafka's words; None when it does."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in {".", ".."}:
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.fullmatch(name):
        allowed = "ASCII alphanumerics, '.', '_' and '-'"
        return f"Topic name is invalid: '{name}' contains one or more characters other than {allowed}"
    return None
