"""How far a topic is: a record that is written in the transaction of the rows, and the only thing that is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sparkjob.errors import Refused
from sparkjob.fields import Fields

VERSION = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one topic, after one transaction.

    Attributes:
        writer: whose it is.
        run: of the subscription; an older one writes no more.
        topic_id: of the source.
        start, position: the offsets [start, position) that this transaction is about; `position` is the next one.
        read_from: the first offset that is still needed: there the oldest entry begins whose Last has not come.
        entries, rows, dead_letters: all that there ever were.
        selection: the digest of what is selected.
        last: the digest of the record before `position`; None: there is none.
    """

    writer: str
    run: int
    topic: str
    topic_id: str
    start: int
    position: int
    read_from: int
    entries: int
    rows: int
    dead_letters: int
    selection: str
    last: str | None = None

    def to_json(self) -> bytes:
        """The value of the record, whose key is the topic."""
        return json.dumps(self.members(), separators=(",", ":")).encode()

    def members(self) -> dict[str, Any]:
        """What it says, as JSON has it."""
        return {
            "version": VERSION,
            "writer": self.writer,
            "run": self.run,
            "topic": self.topic,
            "sourceTopicId": self.topic_id,
            "from": self.start,
            "position": self.position,
            "readFrom": self.read_from,
            "entries": self.entries,
            "rows": self.rows,
            "deadLetters": self.dead_letters,
            "selection": self.selection,
            "last": self.last,
        }


def parse_progress(content: bytes | None) -> Progress | None:
    """Reads one; None: it is none."""
    try:
        return parse_fields(Fields.of(json.loads(content or b""), "progress"))
    except (ValueError, Refused):
        return None


def parse_fields(fields: Fields) -> Progress:
    """The members of one.

    Raises:
        Refused: they are none.
    """
    fields.check_version(VERSION)
    return Progress(
        fields.text("writer"),
        fields.number("run"),
        fields.text("topic"),
        fields.text("sourceTopicId"),
        fields.number("from"),
        fields.number("position"),
        fields.number("readFrom"),
        fields.number("entries"),
        fields.number("rows"),
        fields.number("deadLetters"),
        fields.text("selection"),
        fields.text_or_none("last"),
    )
