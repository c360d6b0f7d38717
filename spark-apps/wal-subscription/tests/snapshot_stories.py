"""A topic that begins with a snapshot: each row of it once, and then of its log what it does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from handed_on import Handed
from local_snapshots import LocalSnapshots, rows_up_to, snapshot_of
from mirrors import clock_at
from record_bed import RecordBed
from record_harm import dying_at
from record_logs import CPU, MEM, NET, Expected, Written

from wal_subscription.records import process
from wal_subscription.records.jobs import Job
from wal_subscription.records.snapshot import read_snapshot
from wal_subscription.stops import Reason, Stop
from walrecord.region import region_id

REGION, OTHER, OF_MEM, OF_NET = region_id(CPU, 0), region_id(CPU, 1), region_id(MEM, 0), region_id(NET, 0)
CUTS = {REGION: 16, OTHER: 10, OF_MEM: 14, OF_NET: 9}
"""Region → entry id; what is between them is in the log of some, and in the snapshot of others."""


class SnapshotStories(RecordBed):
    """Each with topics of its own."""

    def a_topic_begins_with_its_snapshot_and_goes_on_with_what_its_log_has_beyond(self) -> None:
        """Region by region, and of what is selected."""
        handed, log = self._begun()
        assert handed.run_all() == []
        self._require(handed, log)
        process.forget_all()
        log.entry(CPU, 2, in_parts=True)
        handed.append(log)
        Path(self._folder / "snapshot" / "snapshot.json").unlink()  # nobody needs it any more
        assert handed.run_all() == []
        self._require(handed, log)
        (place,) = handed.places().values()
        assert place.snapshot is None

    def a_driver_that_dies_at_any_call_of_a_snapshot_leaves_each_row_once(self) -> None:
        """Of the target's client: before it is asked, and after it has done it."""
        handed, log = self._begun()
        died = 0
        for call in ("commit", "committed", "produce", "begin"):
            for nth in (2, 4):
                process.forget_all()
                with dying_at(call, nth) as deaths:
                    micro = handed.start(snapshots=LocalSnapshots(most=1))
                    for _ in range(3):
                        micro.once()
                died += len(deaths)
        assert handed.run_all() == []
        self._require(handed, log)
        print(f"{died} deaths, {len(handed.committed())} rows once")  # noqa: T201 - the counts are the evidence
        assert died > 4

    def a_place_in_a_file_is_gone_on_from(self) -> None:
        """By whoever is given all rows again."""
        handed, log = self._begun()
        late, sides = self._late(handed), self._sides(handed)
        rows = list(LocalSnapshots().rows(late, sides))
        for most in (3, 5, len(rows)):
            copied = process.hand_on(late, sides, iter(rows[:most]))
            assert (copied.trouble, copied.stop) == (None, None)
        assert self._values(handed.committed(), snapshot=True) == self._in_snapshot(log, CUTS)

    def who_is_late_with_a_snapshot_hands_on_nothing_twice(self) -> None:
        """It was told that all is to be handed on, and somebody has done so."""
        handed, log = self._begun()
        handed.run_all(handed.start(snapshots=LocalSnapshots(most=1)), until_files=2)
        late = self._late(handed)
        for snapshots in (LocalSnapshots(), LocalSnapshots(most=1)):
            (copied,) = snapshots.hand_on([late], self._sides(handed))
            assert (copied.trouble, copied.stop) == (None, None)
        assert handed.run_all(handed.start()) == []
        LocalSnapshots().hand_on([late], self._sides(handed))  # when the log is beyond it, too
        log.entry(CPU)
        handed.append(log)
        process.copy(self._job(handed), self._sides(handed))  # in the same process
        self._require(handed, log)

    def a_row_that_is_missing_in_a_file_is_not_passed_over(self) -> None:
        """Whatever a reader of files does."""
        handed, _ = self._begun()
        handed.run_all(handed.start(snapshots=LocalSnapshots(most=1)), until_files=1)
        late = self._late(handed)
        rows = [row for row in LocalSnapshots().rows(late, self._sides(handed)) if row[:2] != (1, 1)]
        copied = process.hand_on(late, self._sides(handed), iter(rows))
        assert copied.trouble is not None
        assert "gave row 2 after (1, 1)" in copied.trouble

    def a_newer_run_goes_on_within_a_snapshot(self) -> None:
        """With what it selects: of a table that is selected late, the files that were passed over are not read."""
        handed, log = self._begun()
        handed.run_all(handed.start(snapshots=LocalSnapshots(most=1)), until_files=1)
        handed.run = 2
        assert handed.run_all(handed.start()) == []
        self._require(handed, log)

    def a_topic_begins_anew_with_another_snapshot(self) -> None:
        """Which is what a person does who lost the log between."""
        handed, log = self._begun()
        handed.run_all()
        before = len(handed.committed())
        handed.generation = 1
        handed.snapshot = snapshot_of(self._folder / "second", handed.sources[0], log, {REGION: 20, OTHER: 20})
        assert handed.run_all(handed.start()) == []
        rows = handed.committed()[before:]
        assert self._values(rows, snapshot=True) == self._in_snapshot(log, {REGION: 20, OTHER: 20})
        assert self._values(rows, snapshot=False) == self._in_log(log, {REGION: 20, OTHER: 20})

    def a_snapshot_that_the_log_does_not_go_on_from_is_told(self) -> None:
        """Before anything is handed on."""
        handed, log = self._begun()
        (name,) = handed.sources
        handed.starts = {name: 12}
        stops = handed.run_all(handed.start(clock_at()))
        assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.SOURCE_GAP, 11)]
        said = f"has the rows of region {OTHER} up to entry 10, and topic {name} begins at offset 12"
        assert said in stops[0].message
        handed.starts = {}
        handed.snapshot = snapshot_of(self._folder / "ahead", name, log, {REGION: len(log.records)})
        stops = handed.run_all(handed.start(clock_at()))
        assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.DIVERGED, len(log.records))]
        assert handed.committed() == []

    def another_snapshot_than_that_which_was_begun_is_told(self) -> None:
        """And a request that has none any more."""
        handed, log = self._begun()
        (name,) = handed.sources
        handed.run_all(handed.start(snapshots=LocalSnapshots(most=1)), until_files=1)
        handed.snapshot = snapshot_of(self._folder / "second", name, log, {REGION: 20})
        for uri in (handed.snapshot, None):
            handed.snapshot = uri
            stops = handed.run_all(handed.start(clock_at()))
            assert [(stop.topic, stop.reason) for stop in stops] == [(name, Reason.SNAPSHOT_UNUSABLE)]
            assert "has begun with" in stops[0].message

    def a_table_whose_name_is_not_known_yet_stops_a_topic_before_its_snapshot(self) -> None:
        """Its files would be passed over. When names were read beyond the cut, it is selected, or is gone."""
        handed, log = self._begun()
        known = dict(handed.known)
        handed.known = {table: name for table, name in known.items() if table != MEM}
        (stop,) = handed.run_all(handed.start(clock_at()))
        assert (stop.reason, stop.offset) == (Reason.TABLE_UNKNOWN, CUTS[OF_MEM])
        assert handed.committed() == []
        handed.known, handed.known_to, handed.run = known, CUTS[OF_MEM] + 1, 2
        assert handed.run_all() == []
        self._require(handed, log)

    def a_row_of_a_snapshot_that_is_too_large_is_told(self) -> None:
        """After all that stands before it."""
        handed, _ = self._begun()
        request = handed.request()
        records = request["records"] | {"rows": request["records"]["rows"] | {"maxMessageBytes": 300}}
        (stop,) = handed.run_all(handed.start(clock_at(), records=records))
        said = f"row 0 of file 0 of the snapshot of topic {handed.sources[0]} is larger than the topic of rows takes"
        assert stop == Stop(handed.sources[0], Reason.UNREADABLE, None, said)

    def _begun(self) -> tuple[Handed, Written]:
        """A log with a snapshot in the middle; of a table that is not selected there are files, too."""
        handed, log = self._made(tables={"include": ["public.*"], "exclude": []})
        for number in range(20):
            log.entry((CPU, MEM, NET, CPU)[number % 4], 2, number=int(number % 4 == 3), in_parts=number % 9 == 8)
        handed.append(log)
        handed.snapshot = snapshot_of(self._folder / "snapshot", handed.sources[0], log, CUTS)
        return handed, log

    def _late(self, handed: Handed) -> Job:
        """Of a driver that knows of no progress."""
        assert handed.snapshot is not None
        uri = f"{handed.snapshot}/snapshot.json"
        base = read_snapshot(LocalSnapshots().read(uri), handed.snapshot, uri).of(handed.sources[0])
        (topic,) = handed.parsed().topics
        source = handed.source.of(topic.name)
        return Job(topic, source.end, 0, source.epoch, base, base.files)

    def _require(self, handed: Handed, log: Written) -> None:
        rows = handed.committed()
        assert self._values(rows, snapshot=True) == self._in_snapshot(log, CUTS)
        assert self._values(rows, snapshot=False) == self._in_log(log, CUTS)
        assert [bool(row.get("snapshot")) for row in rows] == sorted(bool(row.get("snapshot")) for row in rows)[::-1]
        for row in rows:
            if row.get("snapshot"):
                assert (row["offset"], row["op"]) == (CUTS[row["region"]], "put")
        (place,) = handed.places().values()
        assert place.rows == len(rows)
        handed.require_chain()

    def _values(self, rows: Iterable[dict[str, Any]], *, snapshot: bool) -> list[str]:
        """Of each row its region and what it has."""
        return [as_text(row["region"], row["values"]) for row in rows if bool(row.get("snapshot")) is snapshot]

    def _in_snapshot(self, log: Written, cuts: dict[int, int]) -> list[str]:
        return [
            as_text(region, row._asdict())
            for region, entry_id in cuts.items()
            if region != OF_NET
            for row in rows_up_to(log, region, entry_id)
        ]

    def _in_log(self, log: Written, cuts: dict[int, int]) -> list[str]:
        return [
            as_text(region, values_of(row))
            for offset, region, row in log.placed
            if region != OF_NET and offset > cuts.get(region, -1)
        ]


def values_of(row: Expected) -> dict[str, Any]:
    """Its columns."""
    return {"host": row.host, "ts": row.sequence, "load": row.load}


def as_text(region: int, values: dict[str, Any]) -> str:
    """A row, to be compared."""
    return json.dumps([region, values["host"], values["ts"], values["load"]])
