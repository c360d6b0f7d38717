"""A table of a real database that begins with a snapshot, and what Equivalence finds it to be in the end."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from operator import xor
from pathlib import Path
from typing import Any, NamedTuple

from mirrors import Side
from pyspark.sql import SparkSession
from test_records_of_a_database import TABLE, answered, insert, regions_of
from verifications import verify
from wal_topics import request_of

from replay_verification import rows as compared
from seawall_e2e.loopback.refdb import RefDbProcesses
from seawall_e2e.snapshots import Snapshot

COLUMNS, KEY = ["host", "ts", "load"], ["host", "ts"]


class Told(NamedTuple):
    """A row as a reader has it; of two of one key the later one counts, by the sequence and then by the order."""

    region: int
    sequence: int
    is_delete: bool
    values: Mapping[str, Any]


@dataclass
class Grown:
    """A table that is flushed twice before a snapshot, and written to and moved after it.

    Attributes:
        base: the snapshot's URI.
        topic: of the log, where all of it is.
    """

    db: RefDbProcesses
    folder: Path

    def __post_init__(self) -> None:
        db, base = self.db, Snapshot(self.folder / "base")
        db.sql(TABLE.format("t"))
        for loads in ((1.5, 2.0, -3.25), (7.0, 8.0)):
            insert(db, "t", *loads)
            db.sql("ADMIN flush_table('t')")
        base.add_manifests(db.folder / "storage")
        base.write()
        insert(db, "t", 9.0)
        self.base, self.topic, self.regions = base.uri, f"wal_{db.prefix}_0", regions_of(db, "t")

    def go_on(self) -> None:
        """A region moves, and rows are written."""
        self.db.sql(f"ADMIN migrate_region({self.regions[0]}, 0, 1)")
        insert(self.db, "t", 1.0, 2.0, 3.0, 4.0)

    def require(self, spark: SparkSession, source: Side, rows: Iterable[Told]) -> None:
        """What a reader makes of the rows has the digest that Equivalence finds, region by region."""
        now = Snapshot(self.folder / "now")
        now.add_manifests(self.db.folder / "storage")
        answer = self.db.sql("SELECT * FROM t", cut=True)
        now.add_scan(answer, lambda row: int(row[1] >= "m"))
        now.write()
        end = max(region["applied_entry_id"] for region in answer["regions"]) + 1
        asked = source.topics.topic(self.topic, end, reads_from=dict.fromkeys(self.regions, 0))
        request = request_of(source.topics.servers, "Equivalence", [asked], now.uri)
        verified = verify(spark, self.folder / "verified", request)
        assert verified.report is not None, verified.summary
        expected = {
            region["id"]: region["comparison"]["cuts"][-1]["found"]["digest"] for region in verified.report["regions"]
        }
        columns = json.loads((self.folder / "now/snapshot.json").read_text())["regions"][0]["columns"]
        found = state_of(rows)
        assert {region: digest_of(state, columns) for region, state in found.items()} == expected
        values = [values for state in found.values() for values in state.values()]
        assert {tuple(each[name] for name in ("ts", "host", "load")) for each in values} == answered(self.db, "t")


def state_of(rows: Iterable[Told]) -> dict[int, dict[str, Mapping[str, Any]]]:
    """What a reader makes of them: region → key → values."""
    newest: dict[int, dict[str, Told]] = defaultdict(dict)
    for row in rows:
        keys, key = newest[row.region], json.dumps([row.values[name] for name in KEY])
        if key not in keys or row.sequence >= keys[key].sequence:
            keys[key] = row
    return {
        region: {key: row.values for key, row in found.items() if not row.is_delete} for region, found in newest.items()
    }


def digest_of(rows: Mapping[str, Mapping[str, Any]], columns: Sequence[str]) -> str:
    """As Equivalence makes it."""
    hash_of: Callable[[list[Any]], int] = compared._hash
    hashes = [hash_of([values.get(name) for name in columns]) for values in rows.values()]
    text = ":".join(map(str, (len(hashes), reduce(xor, hashes), sum(hashes))))
    return blake2b(text.encode(), digest_size=8).hexdigest()
