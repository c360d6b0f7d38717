"""Writes a stretch of one topic to the bucket. Whatever it is told, it commits only after the newest commit there is.

It keeps nothing between two stretches: each begins with what the chain says. So it may run twice, at once, late, or on
a machine that slept: what it wrote is in the table when its commit is, and only one commit comes after another one.
"""

from __future__ import annotations

import base64
import json
import math
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sparkjob.bucket import Bucket
from sparkjob.s3 import S3
from sparkjob.wire.connection import Connection
from sparkjob.wire.reader import Range, Reader
from sparkjob.wire.records import Record, digest_of
from wal_subscription.records.checks import (
    PATIENCE_SECONDS,
    UNCOMMITTED,
    require_ids,
    require_ours,
    require_same,
    require_source,
)
from wal_subscription.records.decoder import Decoder, Poison, UnknownTable
from wal_subscription.records.progress import begin
from wal_subscription.stops import MustStop, Reason, Stop
from wal_subscription.table.chain import Chain, chain_folder
from wal_subscription.table.commit import Commit, Letter
from wal_subscription.table.encoding import Encoder, Rows
from wal_subscription.table.files import Files
from wal_subscription.table.request import TableRequest, Topic

MOST_SECONDS = 10.0
"""So long one stretch may take beyond its position: others wait for it."""
MOST_LETTERS = 1_000
"""Of one commit, or one more."""


@dataclass(frozen=True, slots=True)
class Sides:
    """How the source is reached, in the words of librdkafka; the bucket; and what is written."""

    source: Mapping[str, str]
    place: S3
    request: TableRequest


@dataclass(frozen=True, slots=True)
class Job:
    """A stretch: from the end of the chain to `end`.

    Attributes:
        source_start: where the source's log begins.
        known: the number of a commit that there was; None: none is known.
    """

    topic: Topic
    end: int
    source_start: int
    known: int | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """How it went.

    Attributes:
        start, end: the offsets that are committed now, and were not before.
        read_from: what is still needed of the source; None: it is not known.
        known: the number of the last commit.
        rows: those that were committed.
        trouble, stop, refused: as of a mirror.
    """

    topic: str
    start: int = 0
    end: int = 0
    read_from: int | None = None
    known: int | None = None
    rows: int = 0
    trouble: str | None = None
    stop: Stop | None = None
    refused: str | None = None


class Copier:
    """One stretch of one topic.

    Attributes:
        begun, commit: the newest commit before this stretch, and now; None: the chain was not read.
    """

    def __init__(self, job: Job, sides: Sides, source: Connection, bucket: Bucket) -> None:
        self.begun: Commit | None = None
        self.commit: Commit | None = None
        self._job, self._sides, self._request = job, sides, sides.request
        self._topic, self._source, self._bucket = job.topic, source, bucket
        name, sink = job.topic.name, sides.request.sink
        self._chain = Chain(bucket, chain_folder(sink.writer, name, job.topic.source_id, job.topic.generation), name)
        prefix = f"{name}-{job.topic.generation}"
        self._files = Files(bucket, f"{sink.writer}/data", prefix, name)
        self._letters = list[Letter]()
        self._next = 0
        self._last: Record | None = None

    def run(self) -> None:
        """Copies, until the job's end or for a while.

        Raises:
            MustStop, Refused, Trouble, Interrupted, RangeGone, KafkaError, OSError: it is over before.
        """
        request, commit, topic = self._request, self._open(), self._topic
        self.begun, self.commit, progress = commit, commit, commit.progress
        require_source(topic, self._job.source_start, progress)
        try:
            self._copy(
                Decoder(
                    Encoder(request.selection),
                    progress.position,
                    drops_repeats=request.drops_repeats,
                    names_known_to=topic.names_known_to,
                    given_up=progress.given_up,
                )
            )
        finally:
            self._files.close()

    def _open(self) -> Commit:
        request, topic, job = self._request, self._topic, self._job
        self._require_topic()
        found = self._chain.newest(job.known)
        if found is None:
            return self._append(Commit(0, begin(None, request, topic)))
        require_ours(found.progress, request, topic)
        require_same(found.progress, job, self._sides.source)
        return found if found.progress.run == request.run else self._append(self._first_of_run(found))

    def _first_of_run(self, found: Commit) -> Commit:
        """Without rows: older runs find it, and end."""
        run, selection = self._request.run, self._request.selection.digest
        progress = replace(found.progress, run=run, start=found.progress.position, selection=selection)
        return Commit(found.number + 1, progress)

    def _copy(self, decoder: Decoder[Rows]) -> None:
        assert self.commit is not None  # noqa: S101 - it is open
        position, end, give_up = self.commit.progress.position, self._job.end, math.inf
        self._next = self.commit.progress.read_from
        with Reader(self._sides.source, PATIENCE_SECONDS, UNCOMMITTED) as reader:
            for record, _ in reader.read(Range(self._topic.name, self._next, end)):
                self._take(decoder, record)
                self._next, self._last, now = record.offset + 1, record, time.monotonic()
                if self._next > position:  # not before: the next job would have to read all that once more
                    give_up = min(give_up, now + MOST_SECONDS)
                is_over = now >= give_up
                if is_over or self._is_full:
                    self._commit(decoder, self._next)
                if is_over:
                    return
        self._next = max(self._next, end)
        self._commit(decoder, self._next)

    @property
    def _is_full(self) -> bool:
        return self._files.bytes >= self._request.sink.most_bytes or len(self._letters) >= MOST_LETTERS

    def _take(self, decoder: Decoder[Rows], record: Record) -> None:
        """What a record completes goes to the files."""
        try:
            found = decoder.rows(record)
        except Poison as poison:
            if not self._request.sink.keeps_dead_letters:
                raise self._stop(decoder, Reason.UNREADABLE, poison) from None
            self._letters.append(self._put_letter(record, poison))
            decoder.pass_over(poison)
            return
        except UnknownTable as unknown:
            raise self._stop(decoder, Reason.TABLE_UNKNOWN, unknown) from None
        for rows in found:
            self._files.add(rows, self._request.selection.names.get(rows.table_id))

    def _stop(self, decoder: Decoder[Rows], reason: Reason, why: Poison | UnknownTable) -> MustStop:
        """What stands before it is committed first."""
        begins = why.begins if isinstance(why, Poison) else why.offset
        self._commit(decoder, why.offset, begins)
        where = f"topic {self._topic.name} has at offset {why.offset}, of region {why.region},"
        if isinstance(why, Poison):
            message = f"{where} a record that gives no rows: {why.said}"
        else:
            message = f"{where} a record of a table whose name is not known"
        return MustStop(Stop(self._topic.name, reason, why.offset, message))

    def _put_letter(self, record: Record, poison: Poison) -> Letter:
        path = f"{self._chain.folder}/dead/{record.offset:020}-{uuid.uuid4().hex}.json"
        content = {
            "version": 1,
            "topic": self._topic.name,
            "offset": record.offset,
            "region": poison.region,
            "reason": poison.said,
            "timestamp": record.timestamp,
            "key": _text(record.key),
            "value": _text(record.value),
        }
        self._bucket.put(path, json.dumps(content, separators=(",", ":")).encode())
        return Letter(path, record.offset, poison.region, poison.said)

    def _commit(self, decoder: Decoder[Rows], position: int, at_most: int | None = None) -> None:
        """All rows since the last time; the topic is at `position` then. `at_most` bounds what is read from next."""
        commit = self.commit
        assert commit is not None  # noqa: S101 - it is open
        before = commit.progress
        if position <= before.position:
            return
        decoder.give_up()
        read_from = decoder.read_from(position)
        if at_most is not None:
            read_from = min(read_from, at_most)
        rows = self._files.rows
        files = self._files.finish()
        progress = replace(
            before,
            start=before.position,
            position=position,
            read_from=read_from,
            entries=before.entries + decoder.entries,
            rows=before.rows + rows,
            dead_letters=before.dead_letters + len(self._letters),
            last=self._digest_before(position),
            given_up=decoder.given_up,
        )
        self.commit = self._append(Commit(commit.number + 1, progress, files, tuple(self._letters)))
        self._letters.clear()
        decoder.entries = 0

    def _append(self, commit: Commit) -> Commit:
        self._require_topic()
        self._chain.append(commit)
        return commit

    def _require_topic(self) -> None:
        """Before it is read, too: another topic of that name may have another record where this one had its last."""
        require_ids(self._source, {self._topic.name: self._topic.source_id})

    def _digest_before(self, position: int) -> str | None:
        last = self._last
        return None if last is None or last.offset != position - 1 else digest_of([last])


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()
