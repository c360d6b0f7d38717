"""Hands on a stretch of one topic. Whatever it is told, rows are committed only after the newest progress there is.

Who begins fences who wrote before, and reads how far that one came; rows and progress are one transaction. So it may
run twice, at once, late, or on a machine that slept: what was not committed did not happen, and what was is not
repeated. What a process keeps open between two stretches is its own until somebody else begins.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from sparkjob.wire.connection import Connection
from sparkjob.wire.reader import UNCOMMITTED, Range, Reader
from sparkjob.wire.records import Record
from wal_subscription.records.beginning import Beginning, beginning_at, first_place
from wal_subscription.records.checks import (
    PATIENCE_SECONDS,
    digest_before,
    require_ids,
    require_leader,
    require_ours,
    require_same,
    require_source,
    stop_at,
)
from wal_subscription.records.decoder import Decoder, Poison, UnknownTable
from wal_subscription.records.encoding import Encoder, Placed, Row
from wal_subscription.records.jobs import Job, Sides
from wal_subscription.records.progress import Progress, begin
from wal_subscription.records.request import Topic
from wal_subscription.records.sink import Writer
from wal_subscription.stops import MustStop, Reason, Stop, Trouble

MOST_SECONDS = 10.0
"""So long one stretch may take: others wait for it."""
COMMIT_SECONDS = 1.0
COMMIT_ROWS = 20_000
COMMIT_BYTES = 16 << 20
"""What one transaction has at most, or a little more: an entry is not cut."""


class Copier:
    """One topic, for as long as nobody else writes its rows.

    Attributes:
        begun, progress: what was committed before this job, and last; None: it is not open.
        epoch: of the leader of the source, when it was opened.
    """

    def __init__(self, topic: Topic, sides: Sides, source: Connection, target: Connection) -> None:
        self.begun: Progress | None = None
        self.progress: Progress | None = None
        self.epoch: int | None = None
        self._topic, self._sides, self._request = topic, sides, sides.request
        self._source, self._target = source, target
        self._writer = Writer(sides.target, sides.request.sink, topic)
        self._encoder = Encoder(topic.name, sides.request.sink, sides.request.selection)
        self._decoder: Decoder[Row] | None = None
        self._beginning = Beginning()
        self._next = 0
        self._last: Record | None = None
        self._rows = self._bytes = self._dead_letters = 0

    def run(self, job: Job) -> None:
        """Copies, until the job's end or for a while.

        Raises:
            MustStop, Refused, Trouble, Interrupted, RangeGone, KafkaError, OSError: it is over with this copier.
            NeedsSnapshot: as it says.
        """
        progress = self.begun = self.progress or self._open(job)
        require_source(job.topic, job.source_start, progress)
        if self._beginning.has_files:
            return  # the driver learns where it is, and gives its files
        give_up, commit_at = time.monotonic() + MOST_SECONDS, time.monotonic() + COMMIT_SECONDS
        with Reader(self._sides.source, PATIENCE_SECONDS, UNCOMMITTED) as reader:
            for record, epoch in reader.read(Range(self._topic.name, self._next, job.end)):
                require_leader(self._topic, self.epoch, epoch)
                self._take(record)
                self._next, self._last, now = record.offset + 1, record, time.monotonic()
                if now >= commit_at or self._is_full:
                    self._commit(self._next)
                    commit_at = now + COMMIT_SECONDS
                    if now >= give_up:
                        return
        self._next = max(self._next, job.end)
        self._commit(self._next)

    def run_files(self, job: Job, rows: Iterable[Placed]) -> None:
        """Copies rows of the job's files, which come in their order.

        Raises:
            As `run`.
        """
        progress = self.begun = self._open(job)
        require_source(job.topic, job.source_start, progress)
        if progress.snapshot is None:
            return  # somebody else is beyond it
        commit_at, beginning = time.monotonic() + COMMIT_SECONDS, self._beginning
        for file, row, record in rows:
            if (file, row) < beginning.at:
                continue
            if record is not None:
                self._take_row(file, row, record)
            beginning.at = (file + 1, 0) if record is None else (file, row + 1)
            if time.monotonic() >= commit_at or self._is_full:
                self._commit_files()
                commit_at = time.monotonic() + COMMIT_SECONDS
        self._commit_files()

    def close(self) -> None:
        """Takes back what is not committed."""
        self._writer.close()

    def _open(self, job: Job) -> Progress:
        request, topic = self._request, self._topic
        found = self._writer.open()
        self.epoch = job.epoch
        require_ours(found, request, topic)
        if found is None or found.generation != topic.generation:
            progress, is_told = begin(found, request, topic, first_place(request, job)), False
        else:
            require_same(found, job, self._sides.source)
            progress, is_told = found, found.run == request.run
        self._beginning = beginning_at(progress.snapshot, request, job)
        self.progress, self._next = progress, progress.read_from
        self._decoder = Decoder(
            self._encoder,
            progress.position,
            drops_repeats=request.drops_repeats,
            names_known_to=topic.names_known_to,
            given_up=progress.given_up,
            cuts=self._beginning.cuts,
        )
        if not is_told:  # older runs and generations find it, and end
            self._write(progress, progress.position, progress.read_from)
        return progress

    def _take(self, record: Record) -> None:
        """What a record completes goes to the target."""
        assert self._decoder is not None  # noqa: S101 - it is open
        try:
            rows = self._decoder.rows(record)
        except Poison as poison:
            if self._request.sink.dead_letters is None:
                raise self._stop(Reason.UNREADABLE, poison) from None
            self._writer.send_dead_letter(record, poison)
            self._decoder.pass_over(poison)
            self._dead_letters += 1
            return
        except UnknownTable as unknown:
            raise self._stop(Reason.TABLE_UNKNOWN, unknown) from None
        self._writer.send(rows)
        self._rows += len(rows)
        self._bytes += sum(len(row.key) + len(row.value) for row in rows)

    def _take_row(self, file: int, row: int, record: Row) -> None:
        """A row of a snapshot goes to the target."""
        name = self._topic.name
        if (file, row) != self._beginning.at:
            raise Trouble(f"file {file} of the snapshot of topic {name} gave row {row} after {self._beginning.at}")
        if self._encoder.is_too_large(record):
            self._commit_files()
            message = f"row {row} of file {file} of the snapshot of topic {name} is larger than the topic of rows takes"
            raise MustStop(Stop(name, Reason.UNREADABLE, None, message))
        self._writer.send([record])
        self._rows += 1
        self._bytes += len(record.key) + len(record.value)

    def _commit_files(self) -> None:
        """All rows that were sent, and where the topic is in its snapshot."""
        progress = self.progress
        assert progress is not None  # noqa: S101 - it is open
        if progress.snapshot is not None and progress.snapshot[1:] != self._beginning.at:
            self._write(progress, progress.position, progress.read_from)

    @property
    def _is_full(self) -> bool:
        return self._rows >= COMMIT_ROWS or self._bytes >= COMMIT_BYTES

    def _stop(self, reason: Reason, why: Poison | UnknownTable) -> MustStop:
        """What stands before it is committed first."""
        self._commit(why.offset, why.begins)
        return MustStop(stop_at(self._topic.name, reason, why))

    def _commit(self, position: int, at_most: int | None = None) -> None:
        """All that was sent, and that the topic is at `position`; `at_most` bounds what is read from next."""
        progress, decoder = self.progress, self._decoder
        assert progress is not None  # noqa: S101 - it is open
        assert decoder is not None  # noqa: S101 - as above
        if position <= progress.position:
            return
        decoder.give_up()
        read_from = decoder.read_from(position)
        if at_most is not None:
            read_from = min(read_from, at_most)
        self._write(progress, position, read_from)

    def _write(self, progress: Progress, position: int, read_from: int) -> None:
        request, decoder = self._request, self._decoder
        assert decoder is not None  # noqa: S101 - it is open
        require_ids(self._source, {self._topic.name: self._topic.source_id})
        require_ids(self._target, {output.name: output.topic_id for output in request.sink.outputs})
        made = replace(
            progress,
            run=request.run,
            start=progress.position,
            position=position,
            read_from=read_from,
            entries=progress.entries + decoder.entries,
            rows=progress.rows + self._rows,
            dead_letters=progress.dead_letters + self._dead_letters,
            selection=request.selection.digest,
            last=self._digest_before(position, progress),
            given_up=decoder.given_up,
            snapshot=self._beginning.place_at(position),
        )
        self._writer.commit(made)
        self.progress = made
        self._rows = self._bytes = self._dead_letters = decoder.entries = 0

    def _digest_before(self, position: int, progress: Progress) -> str | None:
        return progress.last if position == progress.position else digest_before(position, self._last)
