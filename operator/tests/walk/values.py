"""The values that a leaf is given: what it has, what its schema allows, bounds, what is beyond, other types, none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.walk.leaves import ABSENT, Leaf

MAX_SAFE = 2**53 - 1


class Intent(StrEnum):
    """What a value is to show."""

    VALID = "valid"
    """The schema of the leaf allows it; other fields may not."""
    BOUND = "at a bound"
    BEYOND = "beyond"
    TYPE = "of another type"
    REMOVED = "removed"
    SHAPE = "of another shape"
    """A text that only the validators can judge."""


@dataclass(frozen=True)
class Value:
    """A value, and whether the schema of the leaf alone refuses it; None: it does not say."""

    intent: Intent
    value: Any
    refused: bool | None = None

    def __str__(self) -> str:
        text = "nothing" if self.value is ABSENT else repr(self.value)
        return f"{self.intent}: {text if len(text) < 60 else f'{text[:40]}… ({len(text)} characters)'}"


SPACES = ("\n", " ", "\t", "\v", "\u00a0", "\u2003", "\x00")
"""What ends a text in disguise: regular expressions of Go and of Rust do not agree on all of them."""
TEXTS = (
    *(
        "0",
        "1",
        "x",
        "X",
        "é",
        "\u017f",
        "\u212a",
        "\u0661",
        ".",
        "-",
        "_",
        "/",
        "*",
        "a..b",
        "a/b",
        "a b",
        "a=b",
        "a:1",
    ),
    *("0s", "1s", "90s", "1h30m", "1m1h", "99999h", "99999h99999m99999s", "00001s", "1.5h", "1d", "-1s", "1ms", "s"),
    *("0Mi", "1Mi", "01Mi", "1mi", "1.5Gi", "1k", "1K", "1Ti", "2Gi", "2147483647", "2147483648", "999999Mi", "1e3"),
    *("100m", "0m", "1000000m", "host:0", "host:9092", "host:65536", "[::1]:9092", "http://", "http://a", "http://a:0"),
    *("http://a:65536", "https://a.b/", "https://[::1]:80", "http://a/b", "HTTP://a", "http://u:p@a", "ftp://a"),
    *("s3a://bucket/path", "s3a://", "S3a://x", "file:///a", "local:/x", "1.1", "1.10", "01.1", "1.1.0", "4.1.0"),
    *("* * * * *", "*/5 * * * *", "0 24 * * *", "0 0 31 2 *", "0 0 * * 8", "@daily", "0 0 * * MON#2", "5-1 * * * *"),
    *("UTC", "Europe/Berlin", "Mars/Olympus", "europe/berlin", "EST5EDT", "Local", "posix/UTC", "localtime"),
    *("2026-11-26T12:00:00Z", "2026-11-26T12:00:00+01:00", "2026-11-26T12:00:00.5Z", "2026-11-26T12:00:00"),
    *("2026-11-26 12:00:00Z", "2026-11-26t12:00:00z", "2026-02-30T00:00:00Z", "2026-11-26T24:00:00Z", "2026-11-26"),
    *("2026-11-26T23:59:60Z", "2026-11-26T12:00Z", "2026-11-26T12:00:00+0100", "1764158400", "0001-01-01T00:00:00Z"),
    *("9999-12-31T23:59:59-23:59", "2026-11-26T12:00:00.123456789Z", "earliest", "latest", "true", "null", "~"),
)


def values(leaf: Leaf) -> Iterator[Value]:
    """All values of a leaf, each once."""
    given: set[str] = set()
    for value in _values(leaf):
        if repr(value.value) not in given:
            given.add(repr(value.value))
            yield value


def _values(leaf: Leaf) -> Iterator[Value]:
    schema = leaf.schema
    if leaf.value is not ABSENT:
        yield Value(Intent.VALID, leaf.value, refused=False)
        yield Value(Intent.REMOVED, ABSENT, refused=True if leaf.required and "default" not in schema else None)
    yield from _of_type(leaf, schema)
    yield Value(Intent.TYPE, None)


def _of_type(leaf: Leaf, schema: dict[str, Any]) -> Iterator[Value]:
    if schema.get("x-kubernetes-int-or-string"):
        yield from _integers({"minimum": 0, **schema}, bounded=False)
        yield from _texts(leaf, {**schema, "maxLength": schema.get("maxLength", 1024)})
        yield from _of_other_types(True, 1.5, [], {})
        return
    kind = schema["type"]
    if "enum" in schema:
        yield from (Value(Intent.VALID, each) for each in schema["enum"])
    if kind == "boolean":
        yield from _booleans(schema)
    elif kind == "integer":
        yield from _integers(schema, bounded=True)
        yield from _of_other_types("1", 1.5, True, [], {})
    elif kind == "string":
        if "enum" in schema:
            yield from (Value(Intent.BEYOND, each, refused=True) for each in ("", "Bogus", schema["enum"][0].lower()))
        else:
            yield from _texts(leaf, schema)
        yield from _of_other_types(1, True, [], {})
    elif kind == "array":
        yield from _lists(leaf, schema)
    elif kind == "object":
        yield from _objects(leaf, schema)


def _of_other_types(*others: Any) -> Iterator[Value]:
    return (Value(Intent.TYPE, other, refused=True) for other in others)


def _booleans(schema: dict[str, Any]) -> Iterator[Value]:
    allowed = schema.get("enum", [True, False])
    yield from (Value(Intent.VALID if each in allowed else Intent.BEYOND, each) for each in (True, False))
    yield from _of_other_types("true", "yes", 1, 0, "", [], {})


def _integers(schema: dict[str, Any], *, bounded: bool) -> Iterator[Value]:
    least, most = schema.get("minimum"), schema.get("maximum", MAX_SAFE)
    if least is not None:
        yield Value(Intent.BOUND, least)
        yield Value(Intent.BEYOND, least - 1, refused=bounded or None)
        yield Value(Intent.VALID, least + 1)
    yield Value(Intent.BOUND, most)
    yield Value(Intent.BEYOND, most + 1, refused=bounded or None)
    yield from (Value(Intent.BEYOND, each) for each in (-1, -(2**63), 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64))
    yield Value(Intent.TYPE, 1e3)


def _texts(leaf: Leaf, schema: dict[str, Any]) -> Iterator[Value]:
    base = leaf.value if isinstance(leaf.value, str) else "a"
    least, most = schema.get("minLength", 0), schema.get("maxLength", 64)
    filled = base + base[-1:] * (most - len(base)) if base else "a" * most
    yield Value(Intent.BOUND, filled[:most])
    yield Value(Intent.BEYOND, filled[:most] + filled[-1:], refused=True)
    yield Value(Intent.BOUND, "é" * most)
    yield Value(Intent.BOUND, "😀" * most)
    yield Value(Intent.BEYOND if least else Intent.BOUND, "", refused=True if least else None)
    yield from (Value(Intent.SHAPE, base + space) for space in SPACES)
    yield from (Value(Intent.SHAPE, space + base) for space in SPACES)
    yield from (Value(Intent.SHAPE, text) for text in (*TEXTS, base.upper(), base + base, f"{base}é", f"{base}\\"))


def _lists(leaf: Leaf, schema: dict[str, Any]) -> Iterator[Value]:
    items = leaf.value if isinstance(leaf.value, list) else []
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    yield Value(Intent.BEYOND if least else Intent.BOUND, [], refused=True if least else None)
    if items:
        yield Value(
            Intent.SHAPE, [*items, items[0]], refused=True if schema.get("x-kubernetes-list-type") == "set" else None
        )
        yield Value(Intent.SHAPE, items[:1])
        if most is not None and isinstance(items[0], str):
            numbered = [f"{items[0]}{number}" for number in range(most + 1)]
            yield Value(Intent.BOUND, numbered[:-1])
            yield Value(Intent.BEYOND, numbered, refused=True)
    yield from _of_other_types("a", 1, {}, {"a": "b"}, [[]])


def _objects(leaf: Leaf, schema: dict[str, Any]) -> Iterator[Value]:
    if "properties" in schema:
        required = schema.get("required")
        yield Value(Intent.SHAPE, {}, refused=True if required else None)
        whole = leaf.value if isinstance(leaf.value, dict) else {}
        yield Value(Intent.SHAPE, {**whole, "unknownField": 1}, refused=True)
    else:
        entries = leaf.value if isinstance(leaf.value, dict) else {}
        least, most = schema.get("minProperties", 0), schema["maxProperties"]
        yield Value(Intent.BEYOND if least else Intent.BOUND, {}, refused=True if least else None)
        for key, value in list(entries.items())[:1]:
            yield from (Value(Intent.SHAPE, {key + space: value}) for space in SPACES)
            yield from (Value(Intent.SHAPE, {text: value}) for text in TEXTS)
            for count, intent in ((most, Intent.BOUND), (most + 1, Intent.BEYOND)):
                numbered = {f"{key}{number}": value for number in range(count)}
                yield Value(intent, numbered, refused=True if intent is Intent.BEYOND else None)
    yield from _of_other_types("a", 1, [], ["a"])
