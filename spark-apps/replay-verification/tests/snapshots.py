"""Snapshots of the logs that the tests write: what a database would hold after the first entries of a log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from wal_logs import Log, TableRow

COLUMNS = ["host", "ts", "load"]
KEY = ["host", "ts"]
_SCHEMA = pa.schema([("host", pa.string()), ("ts", pa.int64()), ("load", pa.int64())])


def rows_at(log: Log, region: int, entry_id: int) -> list[TableRow]:
    """The rows of a region after the entries up to this one."""
    rows = [row for entry in log.entries if entry.region == region and entry.last <= entry_id for row in entry.rows]
    return list({(row.host, row.ts): row for row in rows}.values())


class Snapshot:
    """A folder with `snapshot.json`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._regions: list[dict[str, object]] = []
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def uri(self) -> str:
        """The folder."""
        return self._folder.as_uri()

    def add(
        self,
        region: int,
        topic: str,
        cuts: Mapping[int, Sequence[TableRow]],
        *,
        sequences: Mapping[int, int] | None = None,
        append_mode: bool = False,
    ) -> None:
        """A region with the rows of each cut; a newer cut has the files of the older one and another one.

        `sequences` are the highest ones of cuts, by their entry ids.
        """
        files: list[str] = []
        written = []
        for entry_id, rows in cuts.items():
            files.append(f"{topic}/{region}/{entry_id}.parquet")
            path = self._folder / files[-1]
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist([row._asdict() for row in rows], schema=_SCHEMA), path)
            cut = {"entryId": entry_id, "files": list(files), "sequence": (sequences or {}).get(entry_id)}
            written.append(cut)
        about = {"id": region, "topic": topic, "columns": COLUMNS, "key": KEY, "cuts": written}
        self._regions.append(about | {"appendMode": append_mode})

    def write(self) -> None:
        """Makes it whole."""
        (self._folder / "snapshot.json").write_text(json.dumps({"version": 1, "regions": self._regions}))
