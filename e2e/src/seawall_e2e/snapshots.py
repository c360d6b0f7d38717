"""Snapshots of the reference database in the layout that a replay verification compares with.

`sparkjob.snapshot` describes the layout. A region's manifests that are still there are cuts
(a flush keeps the older files), and a consistent scan is one more.

As a program, `snapshots.py <storage> <folder>`, it makes one of manifests, and needs nothing but pyarrow.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

VERSION = 1
_ARROW = {
    "String": pa.string(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "UInt64": pa.uint64(),
    "Float64": pa.float64(),
    "Boolean": pa.bool_(),
    "TimestampMillisecond": pa.int64(),
}
_OF_LOG = {"TimestampMillisecond": "TIMESTAMP_MILLISECOND"}
"""What the log calls types that files do not tell."""


class Snapshot:
    """A folder with Parquet files; it is a snapshot once `write()` has been called."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._regions: dict[int, dict[str, Any]] = {}
        self._types: dict[int, dict[str, str]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def uri(self) -> str:
        """The folder."""
        return self._folder.absolute().as_uri()

    def add_manifests(self, storage: Path) -> None:
        """Every region in the database's storage, with the cuts that its manifests tell. Flushes may go on."""
        for folder in sorted(path.parent for path in storage.glob("*/*/manifest")):
            self._add_region(int(folder.name), folder)

    def add_scan(self, answer: Mapping[str, Any], place: Callable[[Sequence[Any]], int] = lambda _: 0) -> None:
        """A cut of each region out of the answer to `SELECT * FROM <table>` with `consistent_cut=1`.

        `place` tells the number of the partition that a row belongs to.
        """
        rows = answer["output"][0]["records"]["rows"]
        for number, scanned in enumerate(answer["regions"]):
            region, entry_id = scanned["region_id"], scanned["applied_entry_id"]
            about, types = self._regions[region], self._types[region]
            if entry_id <= about["cuts"][-1]["entryId"]:
                continue  # nothing was written since the last flush
            own = [dict(zip(types, row, strict=True)) for row in rows if place(row) == number]
            name = f"{region}/scan-{entry_id}.parquet"
            schema = pa.schema([(column, _ARROW[kind]) for column, kind in types.items()])
            pq.write_table(pa.Table.from_pylist(own, schema=schema), self._folder / name)
            about["cuts"].append({"entryId": entry_id, "files": [name]})

    def write(self) -> None:
        """Makes it whole."""
        content = {"version": VERSION, "regions": list(self._regions.values())}
        (self._folder / "snapshot.json").write_text(json.dumps(content, indent=2))

    def _add_region(self, region: int, folder: Path) -> None:
        manifests = [json.loads(path.read_text()) for path in sorted((folder / "manifest").glob("*.json"))]
        schema = manifests[-1]["schema"]
        self._types[region] = {column["name"]: column["type"] for column in schema["columns"]}
        (self._folder / str(region)).mkdir()
        for file in manifests[-1]["files"]:
            shutil.copy(folder / "data" / file, self._folder / str(region) / file)
        # Openings make versions, too: of those with the same rows one counts.
        cuts = {manifest["flushed_entry_id"]: manifest for manifest in manifests}
        self._regions[region] = {
            "id": region,
            "topic": manifests[-1]["topic"],
            "columns": list(self._types[region]),
            "types": {name: _OF_LOG[kind] for name, kind in self._types[region].items() if kind in _OF_LOG},
            "key": [*schema["primary_key"], schema["time_index"]],
            "cuts": [
                {
                    "entryId": entry_id,
                    "files": [f"{region}/{file}" for file in manifest["files"]],
                    "sequence": manifest["next_sequence"] - 1,
                }
                for entry_id, manifest in sorted(cuts.items())
            ],
        }


if __name__ == "__main__":
    made = Snapshot(Path(sys.argv[2]))
    made.add_manifests(Path(sys.argv[1]))
    made.write()
