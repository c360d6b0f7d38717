"""Identifiers and file names are the field's words: what a Kafka, Kubernetes or database engineer would search for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "seawall"
BANNED = frozenset(
    [
        "look",
        "looks",
        "looked",
        "looking",
        "sight",
        "sights",
        "sightings",
        "seen",
        "unseen",
        "told",
        "tend",
        "tends",
        "tended",
        "tending",
        "elder",
        "rival",
        "rivals",
        "shut",
        "blind",
        "ailment",
        "ailments",
        "hindrance",
        "hindrances",
        "hindered",
        "regime",
        "news",
    ]
)
"""Words of our own that were once here, for: observe, recorded, reported, manage, ahead or conflicting owner, blocker,
unavailable, failure reason, prune mode, event filter."""
ON_THE_WIRE = frozenset({"ailment", "seen_time"})
"""Names of fields of the API: they are users', and do not change."""
OF_OTHERS = frozenset({"SHUT_RDWR"})
"""The standard library's (POSIX, shutdown)."""


def words_of(name: str) -> list[str]:
    """`LedgerLooks` and `ledger_looks` are two words each."""
    parts = (re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", part) for part in name.split("_"))
    return [word.lower() for part in parts for word in part]


def names_in(node: ast.AST) -> Iterator[str]:
    """The identifiers that a node of the syntax tree brings."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield from (*name.split("."), other or "")
        case ast.ImportFrom(module=str(name)):
            yield from name.split(".")
        case _:
            pass


def banned_in(text: str) -> set[str]:
    """The identifiers of a module that have a banned word."""
    found = (name for node in ast.walk(ast.parse(text)) for name in names_in(node))
    return {name for name in found if not BANNED.isdisjoint(words_of(name)) and name not in ON_THE_WIRE | OF_OTHERS}


def test_no_identifier_has_a_word_of_our_own() -> None:
    found = {
        f"{path.relative_to(SOURCE)}: {name}" for path in SOURCE.rglob("*.py") for name in banned_in(path.read_text())
    }
    assert not found


def test_no_file_has_a_word_of_our_own() -> None:
    assert not [path.name for path in SOURCE.rglob("*.py") if not BANNED.isdisjoint(words_of(path.stem))]


def test_a_banned_word_is_found_wherever_it_is() -> None:
    text = "from a.looks import x as seen_by\nclass LogSeen: ...\ndef tend(rival=1): news.told(shut=2)\n"
    assert banned_in(text) == {"looks", "seen_by", "LogSeen", "tend", "rival", "news", "told", "shut"}
    assert not banned_in("lookup = overlook(seen_time, ailment)\n")
