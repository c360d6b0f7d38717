"""How far a topic is: a record that is written in the transaction of the rows, and the only thing that is believed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sparkjob.errors import Refused
from sparkjob.fields import MAX_U64, Fields
from wal_subscription.asked import OfRun, SourceTopic

VERSION = 1


class GivenUp(NamedTuple):
    """An entry whose Last is not waited for any more: its region, and the offset of its First."""

    region: int
    offset: int


class FilePlace(NamedTuple):
    """The next row of a topic's snapshot: the number of its file, and the row's in it. Beyond all: the log is on."""

    digest: str
    file: int
    row: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one topic, after one transaction.

    Attributes:
        writer: whose it is.
        run: of the subscription; an older one writes no more.
        topic_id: of the source.
        generation: how often a person let the topic begin anew; an older one writes no more.
        start, position: the offsets [start, position) that this transaction is about; `position` is the next one.
        read_from: the first offset that is still needed: there the oldest entry begins whose Last has not come.
        entries, rows, dead_letters: all that there ever were.
        selection: the digest of what is selected.
        last: the digest of the record before `position`; None: there is none.
        given_up: what is below `read_from`, or may be, and of which a part may come after all; by offset.
        snapshot: None: there is none, or nothing of it matters any more.
    """

    writer: str
    run: int
    topic: str
    topic_id: str
    generation: int
    start: int
    position: int
    read_from: int
    entries: int
    rows: int
    dead_letters: int
    selection: str
    last: str | None = None
    given_up: tuple[GivenUp, ...] = ()
    snapshot: FilePlace | None = None

    def to_json(self) -> bytes:
        """The value of the record, whose key is the topic."""
        return json.dumps(self.members(), separators=(",", ":")).encode()

    def members(self) -> dict[str, Any]:
        """What progress of all sinks says, as JSON has it."""
        return {
            "version": VERSION,
            "writer": self.writer,
            "run": self.run,
            "topic": self.topic,
            "sourceTopicId": self.topic_id,
            "generation": self.generation,
            "from": self.start,
            "position": self.position,
            "readFrom": self.read_from,
            "entries": self.entries,
            "rows": self.rows,
            "deadLetters": self.dead_letters,
            "selection": self.selection,
            "last": self.last,
            "givenUp": [given_up._asdict() for given_up in self.given_up],
            "snapshot": None if self.snapshot is None else self.snapshot._asdict(),
        }


def begin(found: Progress | None, request: OfRun, topic: SourceTopic, snapshot: FilePlace | None = None) -> Progress:
    """Of a topic whose generation is a new one, after what was found of the one before it: counts go on."""
    start = topic.start
    made = Progress(
        request.sink.writer,
        request.run,
        topic.name,
        topic.source_id,
        topic.generation,
        start,
        start,
        start,
        entries=0,
        rows=0,
        dead_letters=0,
        selection=request.selection.digest,
        snapshot=snapshot,
    )
    if found is None:
        return made
    return replace(made, entries=found.entries, rows=found.rows, dead_letters=found.dead_letters)


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
    place = fields.object_or_none("snapshot")
    return Progress(
        fields.text("writer"),
        fields.number("run"),
        fields.text("topic"),
        fields.text("sourceTopicId"),
        fields.number("generation"),
        fields.number("from"),
        fields.number("position"),
        fields.number("readFrom"),
        fields.number("entries"),
        fields.number("rows"),
        fields.number("deadLetters"),
        fields.text("selection"),
        fields.text_or_none("last"),
        tuple(GivenUp(row.number("region", MAX_U64), row.number("offset")) for row in fields.objects("givenUp")),
        None if place is None else FilePlace(place.text("digest"), place.number("file"), place.number("row")),
    )
