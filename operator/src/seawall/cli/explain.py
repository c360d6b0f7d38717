"""`seawall explain <reason>`: what docs/conditions.md says of it; `seawall explain --log` knows lines of others' logs.

The page comes with the command: `domain/overview/reasons_page.py` has it.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files

import yaml

from seawall.cli.session import Session
from seawall.domain.errors import Refused
from seawall.domain.overview.reasons_page import Row, plain, read_page, rows_of, sections_of

KNOWN_ERRORS = "known_errors.yaml"
WIDTH = 100
LONGEST_LINE = 20_000
"""Of what is read: a log in one line must not take a pattern for ever."""


def add_arguments(parser: argparse.ArgumentParser, _: str = "") -> None:
    """The arguments of `seawall explain`."""
    parser.add_argument("reason", nargs="?", help="a reason, a state or a condition, as `seawall status` shows it")
    parser.add_argument("--log", action="store_true", help="read a log or an error from standard input instead")


def answers(arguments: argparse.Namespace, _: Session) -> Iterator[str]:
    """What is printed.

    Raises:
        Refused: nothing is known of it.
    """
    if arguments.log == (arguments.reason is not None):
        raise Refused("name a reason, or give a log to --log by standard input")
    if arguments.log:
        if isinstance(sys.stdin, io.TextIOWrapper):  # logs have bytes of records in them, which are no text
            sys.stdin.reconfigure(errors="replace")
        yield from explain_log(sys.stdin)
    else:
        yield explain(arguments.reason, read_page())


def explain(word: str, page: str) -> str:
    """All that the page says of a word.

    Raises:
        Refused: it says nothing.
    """
    rows = [row for row in rows_of(page) if row.name.lower() == word.lower()]
    if rows:
        return "\n\n".join(_row(row) for row in rows)
    sections = sections_of(page)
    found = next((title for title in sections if title.lower() == word.lower()), None)
    if found is not None:
        return f"{found}\n\n{plain(sections[found])}"
    close = get_close_matches(word, sorted({*(row.name for row in rows_of(page)), *sections}), n=3)
    more = f": did you mean {' or '.join(close)}?" if close else ""
    raise Refused(f"{word} is no reason, state or condition of Seawall's{more}")


def names() -> list[str]:
    """All words that it explains."""
    page = read_page()
    return sorted({*(row.name for row in rows_of(page)), *sections_of(page)} - {""})


def _row(row: Row) -> str:
    lines = [f"{row.name} ({row.section})", ""]
    for heading, cell in row.cells[1:]:
        if cell:
            lines.append(f"{heading}: {plain(cell)}")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ") if line else "" for line in lines)


@dataclass(frozen=True, slots=True)
class KnownError:
    """A line of somebody's log that is known, what it means, what a person can do, and who says so."""

    name: str
    system: str
    pattern: str
    sample: str
    means: str
    remedy: str
    source: str


def known_errors() -> tuple[KnownError, ...]:
    """The table."""
    return tuple(KnownError(**each) for each in yaml.safe_load(_read(KNOWN_ERRORS)))


def explain_log(lines: Iterable[str]) -> Iterator[str]:
    """Each known error that is in it, once, in the order of their first lines.

    Raises:
        Refused: there is none.
    """
    known = [(each, re.compile(each.pattern)) for each in known_errors()]
    first: dict[str, tuple[KnownError, int, str]] = {}
    times: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        for each, pattern in known:
            if pattern.search(line[:LONGEST_LINE]):
                first.setdefault(each.name, (each, number, line.strip()))
                times[each.name] = times.get(each.name, 0) + 1
    if not first:
        raise Refused("none of its lines is known: `seawall status` says what Seawall itself sees")
    for each, number, line in first.values():
        yield _known(each, number, line, times[each.name])


def _known(each: KnownError, number: int, line: str, times: int) -> str:
    head = f"{each.system}: {each.name}, line {number}" + (f" and {times - 1} more" if times > 1 else "")
    texts = (f"means: {each.means}", f"what to do: {each.remedy}", f"source: {each.source}")
    filled = [textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    ") for text in texts]
    return "\n".join([head, f"  {textwrap.shorten(line, WIDTH)}", *filled])


def _read(name: str) -> str:
    return (files("seawall.cli") / name).read_text(encoding="utf-8")
