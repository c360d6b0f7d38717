"""Subscriptions to tables whose store does otherwise, or whose driver dies at a call of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mirrors import Side
from record_logs import CPU, NET, Written
from tabled import Tabled

from seawall_e2e.loopback.s3 import S3Process
from sparkjob.bucket import Bucket
from sparkjob.errors import Interrupted
from wal_subscription.table import commit, process, snapshot_rows
from wal_subscription.table.chain import Chain, chain_folder
from wal_subscription.table.jobs import Copied, Job, Sides


class Acting:
    """What stories are told with."""

    def __init__(self, source: Side, server: S3Process, folder: Path) -> None:
        self._source, self._server, self._folder = source, server, folder

    def _made(self, **other: Any) -> tuple[Tabled, Written]:
        process.forget()
        tabled = Tabled(self._source, self._server, self._folder, **other)
        tabled.make()
        return tabled, Written()

    def _grown(self, commits: int) -> tuple[Tabled, Written]:
        """With so many commits after the first one, which has no rows."""
        tabled, log = self._made()
        self._grow(tabled, log, commits)
        return tabled, log

    def _grow(self, tabled: Tabled, log: Written, commits: int) -> None:
        (topic,), sides = tabled.parsed().topics, self._sides(tabled)
        for _ in range(commits):
            log.entry(CPU)
            tabled.append(log)
            assert process.copy(Job(topic, len(log.records), 0), sides).trouble is None

    def _read_all(self, tabled: Tabled, log: Written) -> None:
        """By the program's own reader."""
        (topic,) = tabled.parsed().topics
        folder = chain_folder(tabled.writer, topic.name, topic.source_id, topic.generation)
        found = list(Chain(Bucket(tabled.parsed().sink.place()), folder, topic.name).commits())
        assert [each.number for each in found] == list(range(len(found)))
        assert sum(file.rows for each in found for file in each.files) == len(log.of(CPU))

    def _make_again(self, tabled: Tabled) -> None:
        """With records of its own."""
        tabled.source.topics.delete(tabled.sources[0])
        tabled.source.create(tabled.sources[0])
        other = Written()
        other.entry(CPU)
        other.entry(NET)
        tabled.append(other)

    def _rewrite(self, tabled: Tabled, place: int, **members: Any) -> None:
        path = tabled.log()[place]
        path.write_bytes(json.dumps({**json.loads(path.read_bytes()), **members}).encode())

    def _sides(self, tabled: Tabled) -> Sides:
        request = tabled.parsed()
        return Sides(tabled.source.options, request.sink.place(), request)

    def _job(self, tabled: Tabled) -> Job:
        (topic,) = tabled.parsed().topics
        source = tabled.source.of(topic.name)
        return Job(topic, source.end, 0, epoch=source.epoch)

    def _copied(self, tabled: Tabled, job: Job) -> Copied:
        """By a process that begins."""
        process.forget()
        return process.copy(job, self._sides(tabled))

    @contextmanager
    def _buckets(self, **instead: Callable[..., Any]) -> Iterator[None]:
        """Buckets that are opened meanwhile do these otherwise."""
        with pytest.MonkeyPatch.context() as patch:
            for module in (process, snapshot_rows):
                patch.setattr(module, "Bucket", type("Acting", (Bucket,), instead))
            yield
        process.forget()

    @contextmanager
    def _once_before(self, call: str, act: Callable[[], object], after: int = 0) -> Iterator[None]:
        """Something happens before a call of the store, after so many of them."""
        asked, acted = list[str](), list[bool]()

        def before(bucket: Bucket, *given: Any) -> Any:
            asked.append(call)
            if len(asked) > after and not acted:
                acted.append(True)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(process, "Bucket", Bucket)
                    act()
            return getattr(Bucket, call)(bucket, *given)

        with self._buckets(**{call: before}):
            yield
        assert acted, f"there was no {call}"

    @contextmanager
    def _dying_at(self, call: str, nth: int) -> Iterator[list[str]]:
        """The nth call of this kind is the last thing that is done; says whether it came."""
        made, died = list[str](), list[str]()

        def count(what: str) -> None:
            made.append(what)
            if died or (what == call and made.count(call) == nth):
                died.append(what)
                raise Interrupted("died")

        def acting(what: str) -> Callable[..., Any]:
            def act(bucket: Bucket, *given: Any) -> Any:
                count(what)
                answer = getattr(Bucket, what)(bucket, *given)
                if what == "create":
                    count("created")
                return answer

            return act

        with self._buckets(**{what: acting(what) for what in ("names", "get", "put", "create")}):
            yield died


@contextmanager
def checkpoints_every(commits: int) -> Iterator[None]:
    """More often than is usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit, "CHECKPOINT_EVERY", commits)
        patch.setattr("wal_subscription.table.chain.CHECKPOINT_EVERY", commits)
        yield
