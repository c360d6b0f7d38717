"""A region's folder: `manifest/{version:020}.json` and Parquet files.

A manifest is written aside, fsynced, and then linked to its name, which must not exist yet: two writers that both
believe they lead the region cannot both make version 7. Then the folder is fsynced.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from refdb.errors import AnotherLeads
from refdb.region.manifest import Manifest
from refdb.schema import Row, Schema, arrow_table, rows_of

KEPT_MANIFESTS = 5


class RegionFiles:
    """The files of one region, in storage that all datanodes share."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"
        self._manifests = folder / "manifest"

    def latest(self) -> Manifest | None:
        """The newest manifest, or None for a region that was never made."""
        names = sorted(self._manifests.glob("*.json"))
        return Manifest.from_text(names[-1].read_text()) if names else None

    def commit(self, manifest: Manifest) -> None:
        """Makes a version durable; that it or a later one exists means that somebody else leads the region."""
        for folder in (self._data, self._manifests):
            folder.mkdir(parents=True, exist_ok=True)
            _sync(folder.parent)
        aside = self._manifests / f"{uuid.uuid4().hex}.aside"
        try:
            aside.write_text(manifest.to_text())
            _sync(aside)
            name = self._manifests / f"{manifest.version:020}.json"
            os.link(aside, name)
        except FileExistsError:
            raise AnotherLeads(f"manifest {manifest.version} was written by another leader") from None
        finally:
            aside.unlink(missing_ok=True)
        _sync(self._manifests)
        versions = sorted(self._manifests.glob("*.json"))
        for old in versions[:-KEPT_MANIFESTS]:
            old.unlink(missing_ok=True)
        if versions[-1] != name:  # of a leader that was stopped until its version had been made, and unlinked
            raise AnotherLeads(f"manifests after {manifest.version} were written by another leader")

    def write_rows(self, schema: Schema, rows: Iterable[Row]) -> str:
        """Writes a Parquet file and returns its name; it counts once a manifest has it."""
        name = f"{uuid.uuid4().hex}.parquet"
        pq.write_table(arrow_table(schema.columns, rows), self._data / name)  # a file that it cannot end, it removes
        _sync(self._data / name)
        _sync(self._data)
        return name

    def read_rows(self, name: str) -> list[Row]:
        """The rows of a Parquet file."""
        return rows_of(pq.read_table(self._data / name))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
