"""What the command lines of all applications have alike: a request goes in, and a summary comes out."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

NONE = "-"
"""In place of a file that nobody wants."""


def request_parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """A parser of `--request`, `--digest` and `--summary`; what else an application takes is added."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("--request", required=True, help="file, gzipped when it ends in .gz")
    parser.add_argument("--digest", help="SHA-256 of the request: another one is refused before anything is done")
    parser.add_argument("--summary", required=True, help="file, at most 4 KiB; - for none")
    return parser


def begin_logging() -> None:
    """The log goes to stderr, with its times."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)


def write_summary(path: str, content: bytes) -> None:
    """Writes what is left behind, if anybody wants it."""
    if path != NONE:
        Path(path).write_bytes(content)
