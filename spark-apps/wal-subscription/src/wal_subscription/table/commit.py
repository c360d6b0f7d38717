"""A commit: what a stretch of a topic came to. The chain of them is the position, and all that is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sparkjob.errors import Refused
from sparkjob.fields import MAX_U64, Fields
from wal_subscription.records.progress import Progress
from wal_subscription.records.progress import parse_fields as progress_of

CHECKPOINT_EVERY = 100
"""Commits, of which a checkpoint has the content."""


@dataclass(frozen=True, slots=True)
class File:
    """A Parquet file with rows of one table, whose columns are of one type each.

    Attributes:
        path: below the prefix of the bucket.
        table: None: its name is not known.
        first, last: the offsets of the first and of the last entry that it has rows of.
    """

    path: str
    table_id: int
    table: str | None
    rows: int
    bytes: int
    first: int
    last: int

    def to_json(self) -> dict[str, Any]:
        """As a commit has it."""
        return {
            "path": self.path,
            "tableId": self.table_id,
            "table": self.table,
            "rows": self.rows,
            "bytes": self.bytes,
            "firstOffset": self.first,
            "lastOffset": self.last,
        }


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that gave no rows, as an object.

    Attributes:
        region: None: its key does not say.
    """

    path: str
    offset: int
    region: int | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As a commit has it."""
        return {"path": self.path, "offset": self.offset, "region": self.region, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Commit:
    """One object of the chain.

    Attributes:
        number: its place, from 0 on: what it is called by.
    """

    number: int
    progress: Progress
    files: tuple[File, ...] = ()
    letters: tuple[Letter, ...] = ()

    @property
    def checkpoint(self) -> int:
        """The newest checkpoint: the commits below this number are in one, which was written before; 0: none is."""
        return checkpoint_of(self.number)

    def to_json(self) -> dict[str, Any]:
        """Its members."""
        return {
            **self.progress.members(),
            "number": self.number,
            "checkpoint": self.checkpoint,
            "files": [file.to_json() for file in self.files],
            "letters": [letter.to_json() for letter in self.letters],
        }

    def to_bytes(self) -> bytes:
        """As it is stored."""
        return json.dumps(self.to_json(), separators=(",", ":")).encode()


def checkpoint_of(number: int) -> int:
    """The newest checkpoint when there is a commit of this number."""
    return number - number % CHECKPOINT_EVERY


def parse_commit(content: bytes) -> Commit | None:
    """Reads one; None: it is none that this program knows."""
    try:
        return parse_fields(Fields.of(json.loads(content), "commit"))
    except (ValueError, Refused):
        return None


def parse_fields(fields: Fields) -> Commit:
    """The members of one.

    Raises:
        Refused: they are none.
    """
    return Commit(
        fields.number("number"),
        progress_of(fields),
        tuple(_file(row) for row in fields.objects("files")),
        tuple(_letter(row) for row in fields.objects("letters")),
    )


def _file(fields: Fields) -> File:
    return File(
        fields.text("path"),
        fields.number("tableId"),
        fields.text_or_none("table"),
        *(fields.number(name) for name in ("rows", "bytes", "firstOffset", "lastOffset")),
    )


def _letter(fields: Fields) -> Letter:
    return Letter(
        fields.text("path"),
        fields.number("offset"),
        fields.number_or_none("region", MAX_U64),
        fields.text("reason"),
    )
