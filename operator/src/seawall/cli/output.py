"""How a command prints what it found: tables as kubectl prints them, or data for programs; once, or as it changes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import yaml

FORMATS = ("table", "wide", "json", "yaml", "name")
Columns = Mapping[str, str]
"""Heading → field of a line."""
Lines = Sequence[Mapping[str, Any]]


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """The flag `-o`; the first format is the default."""
    parser.add_argument("-o", "--output", choices=formats, default=formats[0], help=f"default: {formats[0]}")


def as_data(found: object, output: str) -> str:
    """What programs read: JSON, or the same in YAML."""
    text = json.dumps(found, indent=2)
    if output == "json":
        return text
    return str(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=10**9)).rstrip("\n")


def table(lines: Lines, columns: Columns) -> str:
    """Lines under headings; columns as wide as what is in them, as kubectl prints."""
    rows = [tuple(columns), *_cells(lines, columns)]
    widths = _widths(rows, (0,) * len(columns))
    return "\n".join(_line(row, widths) for row in rows)


def changes(read: Callable[[], Lines], columns: Columns, pause: Callable[[], None]) -> Iterator[str]:
    """The table, and then for ever each line that is new or has changed, as `kubectl get --watch` prints them."""
    rows: Sequence[Row] = [tuple(columns)]
    widths, known = (0,) * len(columns), set[Row]()
    while True:
        found = _cells(read(), columns)
        rows = [*rows, *(row for row in found if row not in known)]
        widths, known = _widths(rows, widths), set(found)
        if rows:
            yield "\n".join(_line(row, widths) for row in rows)
        rows = []
        pause()


Row = tuple[str, ...]


def _cells(lines: Lines, columns: Columns) -> list[Row]:
    return [tuple(_cell(line[field]) for field in columns.values()) for line in lines]


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _widths(rows: Sequence[Row], least: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max([width, *(len(row[at]) for row in rows)]) for at, width in enumerate(least))


def _line(row: Row, widths: Sequence[int]) -> str:
    return "   ".join(map(str.ljust, row, widths)).rstrip()
