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
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sparkjob.bucket import Bucket
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
from wal_subscription.records.progress import begin
from wal_subscription.stops import MustStop, Reason, Trouble
from wal_subscription.table.chain import Chain, chain_folder
from wal_subscription.table.commit import Commit, Letter
from wal_subscription.table.encoding import Encoder, Rows
from wal_subscription.table.files import Files
from wal_subscription.table.jobs import Job, Made, Sides

MOST_SECONDS = 10.0
"""So long one stretch may take beyond its position: others wait for it."""
MOST_LETTERS = 1_000
"""Of one commit, or one more."""


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
        self._beginning = Beginning()
        self._next = 0
        self._last: Record | None = None

    def run(self) -> None:
        """Copies, until the job's end or for a while.

        Raises:
            MustStop, Refused, Trouble, Interrupted, RangeGone, KafkaError, OSError: it is over before.
            NeedsSnapshot: as it says.
        """
        request, progress, topic = self._request, self._begin().progress, self._topic
        if self._beginning.has_files:
            return  # the driver learns where it is, and gives its files
        try:
            self._copy(
                Decoder(
                    Encoder(request.selection),
                    progress.position,
                    drops_repeats=request.drops_repeats,
                    names_known_to=topic.names_known_to,
                    given_up=progress.given_up,
                    cuts=self._beginning.cuts,
                )
            )
        finally:
            self._files.close()

    def name_files(self, made: Sequence[Made]) -> None:
        """Commits what was made of the job's files, unless somebody else has done so.

        Raises:
            As `run`.
        """
        commit, files, beginning = self._begin(), self._job.files, self._beginning
        progress = commit.progress
        if not beginning.has_files or beginning.at != (files[0].number, 0):
            return
        self._require_whole(made)
        beginning.at = files[-1].number + 1, 0
        named = tuple(file for each in made for file in each.files)
        after = replace(
            progress,
            start=progress.position,
            rows=progress.rows + sum(file.rows for file in named),
            snapshot=beginning.place_at(progress.position),
        )
        self.commit = self._append(Commit(commit.number + 1, after, named))

    def _require_whole(self, made: Sequence[Made]) -> None:
        """Of each file of the snapshot there is each row, as far as can be told."""
        found = Counter[int]()
        ends = Counter[int]()
        for each in made:
            for file, (rows, highest) in each.found.items():
                found[file] += rows
                ends[file] = max(ends[file], highest + 1)
        if found != ends:
            file = min(file for file in ends if found[file] != ends[file])
            said = f"file {file} of the snapshot of topic {self._topic.name} gave {found[file]} rows of {ends[file]}"
            raise Trouble(said)

    def _begin(self) -> Commit:
        commit = self.begun = self.commit = self._open()
        require_source(self._topic, self._job.source_start, commit.progress)
        self._beginning = beginning_at(commit.progress.snapshot, self._request, self._job)
        return commit

    def _open(self) -> Commit:
        request, topic, job = self._request, self._topic, self._job
        self._require_topic()
        found = self._chain.newest(job.known)
        if found is None:
            return self._append(Commit(0, begin(None, request, topic, first_place(request, job))))
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
            for record, epoch in reader.read(Range(self._topic.name, self._next, end)):
                require_leader(self._topic, self._job.epoch, epoch)
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
        self._commit(decoder, why.offset, why.begins)
        return MustStop(stop_at(self._topic.name, reason, why))

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
            last=digest_before(position, self._last),
            given_up=decoder.given_up,
            snapshot=self._beginning.place_at(position),
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


def _text(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()
