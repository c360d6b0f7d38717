"""A topic whose table begins with a snapshot: each row of it once, and then of its log what it does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from local_snapshots import LocalTables, rows_up_to, snapshot_of
from mirrors import clock_at
from record_logs import CPU, MEM, NET, Expected, Written
from table_acting import Acting
from tabled import Tabled

from wal_subscription.records.snapshot import read_snapshot
from wal_subscription.stops import Reason
from wal_subscription.table import process
from wal_subscription.table.jobs import Copied, Job
from walrecord.region import region_id

REGION, OTHER, OF_MEM, OF_NET = region_id(CPU, 0), region_id(CPU, 1), region_id(MEM, 0), region_id(NET, 0)
CUTS = {REGION: 16, OTHER: 10, OF_MEM: 14, OF_NET: 9}
"""Region → entry id; what is between them is in the log of some, and in the snapshot of others."""
DEATHS = (("created", 1), ("put", 1), ("put", 2), ("names", 3), ("create", 1), ("created", 1))
"""A call of the store, and which one of them."""
PUBLIC = {"include": ["public.*"], "exclude": list[str]()}


class TableSnapshotStories(Acting):
    """Each with a topic and a bucket of its own."""

    def a_topic_begins_with_its_snapshot_and_goes_on_with_what_its_log_has_beyond(self) -> None:
        """Region by region, and of what is selected."""
        tabled, log = self._begun()
        assert tabled.run_all() == []
        self._require(tabled, log)
        log.entry(CPU, 2, in_parts=True)
        tabled.append(log)
        Path(self._folder / f"{tabled.name}" / "snapshot.json").unlink()  # nobody needs it any more
        assert tabled.run_all() == []
        self._require(tabled, log)
        assert tabled.commits()[-1]["snapshot"] is None

    def a_driver_that_dies_at_any_call_of_a_snapshot_leaves_each_row_once(self) -> None:
        """Of the store: before it is asked, and after it has done it."""
        tabled, log = self._begun()
        died = 0
        for what, nth in DEATHS:
            with self._dying_at(what, nth) as deaths:
                micro = tabled.start(snapshots=LocalTables(most=2))
                for _ in range(3):
                    micro.once()
            died += len(deaths)
        assert tabled.run_all() == []
        rows = self._require(tabled, log)
        print(f"{died} deaths, {rows} rows once")  # noqa: T201 - the counts are the evidence
        assert died >= len(DEATHS)

    def who_is_late_with_a_snapshot_commits_nothing(self) -> None:
        """It has made its files, and somebody else has committed the same rows."""
        tabled, log = self._begun()
        tabled.run_all(tabled.start(snapshots=LocalTables(most=1)), until_files=1)
        late = self._late(tabled)
        sides, before = self._sides(tabled), len(tabled.log())
        copied = process.name_files(late, sides, LocalTables().made(late, sides))
        assert (copied.trouble, copied.stop, copied.rows, len(tabled.log())) == (None, None, 0, before)
        assert tabled.run_all() == []
        copied = process.name_files(late, sides, LocalTables().made(late, sides))  # when the log is beyond it, too
        assert (copied.trouble, copied.stop, copied.rows) == (None, None, 0)
        self._require(tabled, log)

    def who_is_overtaken_with_a_snapshot_commits_nothing(self) -> None:
        """Another driver commits the same files between its look and its commit."""
        tabled, log = self._begun()
        tabled.run_all(tabled.start(snapshots=LocalTables(most=1)), until_files=0)
        late, sides = self._late(tabled), self._sides(tabled)

        def commit() -> Copied:
            made = LocalTables().made(late, sides)
            process.forget()
            return process.name_files(late, sides, made)

        with self._once_before("create", commit):
            copied = commit()
        assert copied.trouble is not None
        assert "another driver has made commit 1" in copied.trouble
        assert tabled.run_all() == []
        self._require(tabled, log)

    def a_row_that_is_missing_in_a_file_is_not_passed_over(self) -> None:
        """Whatever a reader of files does."""
        tabled, _ = self._begun()
        tabled.run_all(tabled.start(snapshots=LocalTables(most=1)), until_files=0)
        late, sides = self._late(tabled), self._sides(tabled)
        first, *others = LocalTables().made(late, sides)
        ((file, (rows, highest)),) = first.found.items()
        for found in ((rows - 1, highest), (rows + 1, highest)):
            copied = process.name_files(late, sides, [replace(first, found={file: found}), *others])
            assert copied.trouble is not None
            assert f"file {file} of the snapshot" in copied.trouble
        assert len(tabled.log()) == 1

    def a_task_that_did_not_come_to_its_end_keeps_all_from_being_committed(self) -> None:
        """The store takes no more files."""
        tabled, log = self._begun()
        tabled.run_all(tabled.start(snapshots=LocalTables(most=1)), until_files=0)
        late, sides = self._late(tabled), self._sides(tabled)
        with self._dying_at("put", 3) as deaths:
            made = LocalTables().made(late, sides)
        assert deaths
        copied = process.name_files(late, sides, made)
        assert (copied.trouble, copied.rows, len(tabled.log())) == ("died", 0, 1)
        assert tabled.run_all() == []
        self._require(tabled, log)

    def a_newer_run_goes_on_within_a_snapshot(self) -> None:
        """And an older one finds it, and ends."""
        tabled, log = self._begun()
        old = tabled.start(snapshots=LocalTables(most=1))
        tabled.run_all(old, until_files=1)
        tabled.run = 2
        tabled.run_all(tabled.start(snapshots=LocalTables(most=1)), until_files=2)
        assert [stop.reason for stop in tabled.run_all(old)] == [Reason.FENCED]
        assert tabled.run_all() == []
        self._require(tabled, log)

    def a_topic_begins_anew_with_another_snapshot(self) -> None:
        """Which is what a person does who lost the log between: the chain is another one."""
        tabled, log = self._begun()
        tabled.run_all()
        tabled.generation, cuts = 1, {REGION: 20, OTHER: 20}
        tabled.snapshot = snapshot_of(self._folder / f"{tabled.name}-2", tabled.sources[0], log, cuts)
        assert tabled.run_all() == []
        self._require(tabled, log, cuts)

    def a_snapshot_that_the_log_does_not_go_on_from_is_told(self) -> None:
        """Before anything is committed."""
        tabled, log = self._begun()
        (name,) = tabled.sources
        tabled.starts = {name: 12}
        stops = tabled.run_all(tabled.start(clock_at()))
        assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.SOURCE_GAP, 11)]
        tabled.starts = {}
        tabled.snapshot = snapshot_of(self._folder / f"{tabled.name}-2", name, log, {REGION: len(log.records)})
        stops = tabled.run_all(tabled.start(clock_at()))
        assert [(stop.reason, stop.offset) for stop in stops] == [(Reason.DIVERGED, len(log.records))]
        assert tabled.log() == []

    def another_snapshot_than_that_which_was_begun_is_told(self) -> None:
        """And a request that has none any more."""
        tabled, log = self._begun()
        (name,) = tabled.sources
        tabled.run_all(tabled.start(snapshots=LocalTables(most=1)), until_files=1)
        tabled.snapshot = snapshot_of(self._folder / f"{tabled.name}-2", name, log, {REGION: 20})
        for uri in (tabled.snapshot, None):
            tabled.snapshot = uri
            stops = tabled.run_all(tabled.start(clock_at()))
            assert [(stop.topic, stop.reason) for stop in stops] == [(name, Reason.SNAPSHOT_UNUSABLE)]
            assert "has begun with" in stops[0].message

    def a_table_whose_name_is_not_known_yet_stops_a_topic_before_its_snapshot(self) -> None:
        """Its files would be passed over. When names were read beyond the cut, it is selected, or is gone."""
        tabled, log = self._begun()
        known = dict(tabled.known)
        tabled.known = {table: name for table, name in known.items() if table != MEM}
        (stop,) = tabled.run_all(tabled.start(clock_at()))
        assert (stop.reason, stop.offset) == (Reason.TABLE_UNKNOWN, CUTS[OF_MEM])
        assert tabled.log() == []
        tabled.known, tabled.known_to, tabled.run = known, CUTS[OF_MEM] + 1, 2
        assert tabled.run_all() == []
        self._require(tabled, log)

    def a_value_that_is_none_of_its_type_is_told(self) -> None:
        """A snapshot that says another type than its files have."""
        tabled, log = self._begun()
        for _ in range(30):
            log.entry(CPU, 2)  # seven times as much in each row: beyond 255
        tabled.append(log)
        tabled.snapshot = snapshot_of(self._folder / f"{tabled.name}-2", tabled.sources[0], log, {REGION: 45})
        self._say_types(tabled, load="UINT8")
        (stop,) = tabled.run_all(tabled.start(clock_at()))
        assert (stop.reason, stop.offset) == (Reason.UNREADABLE, None)
        assert "has a value in column load that is none of its type" in stop.message
        assert [commit["files"] for commit in tabled.commits()] == [[]]

    def files_are_no_larger_than_they_may_be_and_have_the_types_of_the_log(self) -> None:
        """Of those that the snapshot says."""
        tabled, log = self._begun(most_bytes=1_024)
        self._say_types(tabled, host="STRING", ts="TIMESTAMP_MILLISECOND", load="INT64")
        assert tabled.run_all() == []
        self._require(tabled, log)
        files = [file for commit in tabled.commits() for file in commit["files"] if file["tableId"] == CPU]
        read = [pq.read_table(tabled.root / file["path"]) for file in files]
        of_snapshot = [table.column("_file").null_count == 0 for table in read]
        assert 0 < sum(of_snapshot) < len(read)
        assert all(table.schema.equals(read[0].schema, check_metadata=True) for table in read)
        assert str(read[0].schema.field("ts").type) == "timestamp[ms, tz=UTC]"

    def _begun(self, **other: Any) -> tuple[Tabled, Written]:
        """A log with a snapshot in the middle; of a table that is not selected there are files, too."""
        tabled, log = self._made(tables=PUBLIC, **other)
        for number in range(20):
            log.entry((CPU, MEM, NET, CPU)[number % 4], 2, number=int(number % 4 == 3), in_parts=number % 9 == 8)
        tabled.append(log)
        tabled.snapshot = snapshot_of(self._folder / f"{tabled.name}", tabled.sources[0], log, CUTS)
        return tabled, log

    def _late(self, tabled: Tabled) -> Job:
        """Of a driver that knows of no commit."""
        assert tabled.snapshot is not None
        uri = f"{tabled.snapshot}/snapshot.json"
        base = read_snapshot(LocalTables().read(uri), tabled.snapshot, uri).of(tabled.sources[0])
        return replace(self._job(tabled), base=base, files=base.files)

    def _say_types(self, tabled: Tabled, **types: str) -> None:
        """Of the columns of all regions."""
        path = Path(str(tabled.snapshot).removeprefix("file://")) / "snapshot.json"
        content = json.loads(path.read_text())
        content["regions"] = [{**region, "types": types} for region in content["regions"]]
        path.write_text(json.dumps(content))

    def _require(self, tabled: Tabled, log: Written, cuts: dict[int, int] | None = None) -> int:
        return require_snapshot_and_log(tabled, log, CUTS if cuts is None else cuts)


def require_snapshot_and_log(tabled: Tabled, log: Written, cuts: dict[int, int]) -> int:
    """Each row of the snapshot once, and of the log what is beyond; how many there are. NET is not selected."""
    commits = tabled.commits()
    rows = [row for commit in commits for row in tabled.rows_of(commit)]
    of_files = [row for row in rows if row["_file"] is not None]
    assert sorted(values_in(of_files)) == sorted(
        as_text(region, values_of(row))
        for region, entry_id in cuts.items()
        if region != OF_NET
        for row in log_up_to(log, region, entry_id)
    )
    of_log = sorted((row for row in rows if row["_file"] is None), key=lambda row: (row["_offset"], row["_row"]))
    assert values_in(of_log) == [
        as_text(region, values_of(row))
        for offset, region, row in log.placed
        if region != OF_NET and offset > cuts.get(region, -1)
    ]
    for row in of_files:
        assert (row["_offset"], row["_op"]) == (cuts[row["_region"]], "put")
        assert row["_sequence"] == len(log_up_to(log, row["_region"], cuts[row["_region"]]))
    assert len({(row["_file"], row["_row"]) for row in of_files}) == len(of_files), "rows have names of their own"
    begun = [commit["snapshot"] is not None for commit in commits]
    assert begun == sorted(begun, reverse=True)
    tabled.require_chain()
    return len(rows)


def log_up_to(log: Written, region: int, entry_id: int) -> list[Expected]:
    """What a snapshot has of it."""
    found = [row for offset, of, row in log.placed if of == region and offset <= entry_id]
    assert len(found) == len(rows_up_to(log, region, entry_id))
    return found


def values_of(row: Expected) -> dict[str, Any]:
    """Its columns."""
    return {"host": row.host, "ts": row.sequence, "load": row.load}


def values_in(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Of each row its region and what it has."""
    return [as_text(row["_region"], row) for row in rows]


def as_text(region: int, values: dict[str, Any]) -> str:
    """A row, to be compared."""
    ts = values["ts"]
    return json.dumps(
        [region, values["host"], ts if isinstance(ts, int) else round(ts.timestamp() * 1_000), values["load"]]
    )
